// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace bora {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Finished {
  int code = 0;
  std::string output;  // of all workers, standard error too
};

Finished shell(const std::string& command) {
  Finished result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> part{};
  while (const auto n = std::fread(part.data(), 1, part.size(), pipe)) result.output.append(part.data(), n);
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

// Each worker's exit code is printed, since mpirun reports one of them at most. Open MPI ends with memory in
// use, which the address sanitizer would report.
Finished mpirun(int n, const std::string& how, const std::string& options = "") {
  return shell(
      fmt::format("ASAN_OPTIONS=detect_leaks=0 timeout 60 mpirun -n {} --oversubscribe --allow-run-as-root "
                  "--bind-to none {} sh -c "
                  "'\"$0\" {}; echo \"exit $?\"' {}",
                  n, options, how, BORA_WORKER));
}

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

class Workers : public testing::Test {
 protected:
  void SetUp() override {
#ifndef BORA_MPI_BUILT
    GTEST_SKIP() << "the MPI plug-in is not built (apt-get install libopenmpi-dev openmpi-bin)";
#endif
    if (shell("command -v mpirun").code != 0)
      GTEST_SKIP() << "mpirun is absent (apt-get install openmpi-bin)";
  }
};

TEST_F(Workers, TheSameBitsFromAnyNumber) {
  const auto alone = shell(std::string(BORA_WORKER) + " bits");
  ASSERT_EQ(alone.code, 0) << alone.output;
  ASSERT_THAT(alone.output, StartsWith("self: "));
  const auto hashes = alone.output.substr(alone.output.find(':'));
  for (const int n : {1, 2, 3, 4, 8}) {
    const auto run = mpirun(n, "bits");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr((n == 1 ? "self" : "mpi") + hashes)) << n << " workers";
    EXPECT_EQ(count(run.output, "exit 0"), n) << run.output;
  }
}

TEST_F(Workers, SurvivorsOfAKilledOneNameItAndCanBeResumed) {
  const auto run = mpirun(3, "kill", "--enable-recovery");
  for (const int r : {0, 2}) {
    EXPECT_THAT(run.output, HasSubstr(fmt::format("worker {} (host ", r)));
    EXPECT_THAT(run.output, HasSubstr(fmt::format("\nworker {} (host ", 2 - r)));
  }
  EXPECT_EQ(count(run.output, "in step 2: gradients: no answer from worker 1 (host "), 2) << run.output;
  EXPECT_EQ(count(run.output, " has died\n"), 2) << run.output;
  EXPECT_EQ(count(run.output, "waits too: all_gather, in step 2: gradients\n"), 2) << run.output;
  EXPECT_EQ(count(run.output, "exit 75"), 2) << run.output;
}

// mpirun ends the stopped worker as soon as the first survivor has left, and may be quicker than the second.
TEST_F(Workers, SurvivorsOfAStoppedOneToo) {
  const auto run = mpirun(3, "stop");
  EXPECT_GE(count(run.output, "in step 2: gradients: no answer from worker 1 (host "), 1) << run.output;
  EXPECT_GE(count(run.output, "exit 75"), 1) << run.output;
}

TEST_F(Workers, AnErrorOfOneStopsAllWithoutWaiting) {
  const auto run = mpirun(3, "fail", "--enable-recovery");
  EXPECT_THAT(run.output, HasSubstr("error: shard 7 is damaged\n"));
  EXPECT_EQ(count(run.output, "exit 3"), 1) << run.output;
  EXPECT_EQ(count(run.output, "exit 75"), 2) << run.output;
  EXPECT_EQ(count(run.output, "has failed: it ended with an error\n"), 2) << run.output;
}

}  // namespace
}  // namespace bora

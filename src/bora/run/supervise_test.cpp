// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/supervise.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/output.h"

namespace bora::run {
namespace {

using testing::HasSubstr;

TEST(Supervision, TellsHowAProgramEnded) {
  const Supervision supervision;
  const auto nobody = [](int, int) { FAIL() << "a signal"; };
  const auto shell = *find_program("sh");
  EXPECT_EQ(supervision.run({shell, "-c", "exit 3"}, {}, nobody), 3);
  EXPECT_EQ(supervision.run({shell, "-c", "test \"$X\" = y && ! read line"}, {{"X", "y"}}, nobody), 0);
  EXPECT_EQ(supervision.run({shell, "-c", "kill -9 $$"}, {}, nobody), 128 + SIGKILL);
  EXPECT_EQ(supervision.run({"/nowhere/program"}, {}, nobody), 127);
  EXPECT_EQ(find_program("no-such-program"), std::nullopt);
}

TEST(Supervision, HangUpsStayIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    const Supervision supervision;
    ::raise(SIGHUP);
    EXPECT_EQ(supervision.pause(0), std::nullopt);
  }
  EXPECT_EQ(::signal(SIGHUP, before), SIG_IGN);
}

// mpirun ends its workers when nobody reads what it prints.
TEST(SupervisionDeathTest, AProgramPrintsForAsLongAsItLives) {
  const auto log = testing::TempDir() + "bora_supervision_log.txt";
  remove_all(log);
  const auto body = [&] {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    outlive_readers();
    continue_output_in(log);
    const Supervision supervision;
    std::_Exit(
        supervision.run({*find_program("sh"), "-c", "for i in 1 2 3; do echo $i || exit 9; done; exit 5"}, {},
                        [](int, int) {}));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(5), "it goes on in");
  EXPECT_EQ(read_text(log), "1\n2\n3\n");
  remove_all(log);
}

TEST(Supervision, TakesTheErrorOutput) {
  const Supervision supervision;
  std::string heard;
  const auto code = supervision.run(
      {*find_program("sh"), "-c", "printf 'one\\ntwo' >&2; exit 4"}, {}, [](int, int) {},
      [&](std::string_view bytes) { heard += bytes; });
  EXPECT_EQ(code, 4);
  EXPECT_EQ(heard, "one\ntwo");
}

TEST(Supervision, SignalsAreTakenAndPassedOn) {
  const Supervision supervision;
  std::vector<int> heard;
  const auto pass_on = [&](int signal, int program) {
    heard.push_back(signal);
    ::kill(program, SIGKILL);
  };
  ::raise(SIGTERM);
  EXPECT_EQ(supervision.run({*find_program("sleep"), "60"}, {}, pass_on), 128 + SIGKILL);
  EXPECT_EQ(heard, std::vector<int>{SIGTERM});
  EXPECT_EQ(supervision.pause(0), std::nullopt);
  ::raise(SIGUSR1);
  EXPECT_EQ(supervision.pause(60), SIGUSR1);
}

}  // namespace
}  // namespace bora::run

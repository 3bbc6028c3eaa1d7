// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "launch_command.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/output.h"
#include "loopback.h"
#include "supervise.h"

namespace bora::app {
namespace {

using testing::HasSubstr;

constexpr Cores kEight{.online = 8, .allowed = 8};

std::string options(const std::vector<std::string>& arguments, std::int64_t workers, const Cores& cores,
                    bool stays_here = false) {
  auto all = arguments;
  all.insert(all.begin(), {"-n", "1"});
  all.insert(all.end(), {"--", "train", "x.yaml"});
  return fmt::format(
      "{}", fmt::join(mpirun_options(parse_launch_arguments(all), workers, cores, false, stays_here), " "));
}

TEST(LaunchCommand, WorkersShareTheCoresAndKeepToThem) {
  EXPECT_EQ(options({}, 3, kEight),
            "-n 3 --oversubscribe --use-hwthread-cpus --map-by slot:PE=2 --bind-to hwthread -x BORA_LAUNCH "
            "-x BORA_THREADS");
  EXPECT_THAT(options({"--threads", "4"}, 2, kEight), HasSubstr("--map-by slot:PE=4"));
  EXPECT_THAT(options({"--no-pin"}, 2, kEight), HasSubstr("--bind-to none"));
}

TEST(LaunchCommand, NobodyIsTiedWhereThereIsNoRoomOrNoKnowing) {
  EXPECT_THAT(options({}, 9, kEight), HasSubstr("--bind-to none"));
  EXPECT_THAT(options({"--threads", "5"}, 2, kEight), HasSubstr("--bind-to none"));
  EXPECT_THAT(options({}, 2, {.online = 8, .allowed = 4}), HasSubstr("--bind-to none"));
  EXPECT_EQ(options({"--hosts", "a:2,b:2", "--verbose"}, 4, kEight),
            "-n 4 --oversubscribe --host a:2,b:2 --bind-to none -x BORA_LAUNCH");
  EXPECT_THAT(options({"--hosts", "a:2,b:2", "--threads", "3"}, 4, kEight), HasSubstr("slot:PE=3"));
}

TEST(LaunchCommand, OnOneMachineItsLoopbackIsEnough) {
  EXPECT_THAT(options({}, 2, kEight, true),
              HasSubstr("--oversubscribe --mca oob_tcp_if_include 127.0.0.0/8 --mca "
                        "btl_tcp_if_include 127.0.0.0/8 "));
  EXPECT_FALSE(stays_here("a:2,b:2"));
  ASSERT_EQ(::setenv("SLURM_JOB_ID", "7", 1), 0);
  EXPECT_FALSE(stays_here(""));
  ASSERT_EQ(::setenv("SLURM_JOB_NUM_NODES", "1", 1), 0);
  EXPECT_TRUE(stays_here(""));
  ASSERT_EQ(::setenv("OMPI_MCA_btl_tcp_if_exclude", "eth1", 1), 0);
  EXPECT_FALSE(stays_here("")) << "whoever chooses networks has reasons";
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "OMPI_MCA_btl_tcp_if_exclude"})
    ::unsetenv(name);
  EXPECT_TRUE(stays_here(""));
}

TEST(LaunchCommand, ThreadsAsTheTrainingWantsThem) {
  auto a = parse_launch_arguments({"-n", "2", "--", "train", "x.yaml", "--trainer.threads=3"});
  EXPECT_EQ(threads_of_each(a, 2, kEight), 3);
  EXPECT_EQ(a.command, (std::vector<std::string>{"train", "x.yaml", "--trainer.threads=3"}));
  a.command.pop_back();
  EXPECT_EQ(threads_of_each(a, 2, kEight), 4);
  EXPECT_EQ(threads_of_each(a, 20, kEight), 1);
}

TEST(LaunchCommand, OnlyWhatMayEndOtherwiseIsTriedAgain) {
  EXPECT_EQ(end_of_attempt(0, false), LaunchEnd::finished);
  EXPECT_EQ(end_of_attempt(0, true), LaunchEnd::finished);
  EXPECT_EQ(end_of_attempt(76, false), LaunchEnd::stopped);
  for (const int lost : {75, 128 + SIGKILL, 1}) {
    EXPECT_EQ(end_of_attempt(lost, false), LaunchEnd::again) << lost;
    EXPECT_EQ(end_of_attempt(lost, true), LaunchEnd::stopped) << lost;
  }
  for (const int wrong : {2, 3, 4, 127}) EXPECT_EQ(end_of_attempt(wrong, false), LaunchEnd::failed) << wrong;
}

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
}  // namespace bora::app

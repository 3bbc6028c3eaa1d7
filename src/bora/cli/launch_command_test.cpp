// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/launch_command.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/output.h"
#include "bora/run/loopback.h"
#include "bora/run/supervise.h"

namespace bora::cli {
namespace {

using testing::HasSubstr;

constexpr run::Cores kEight{.online = 8, .allowed = 8};

std::string options(const std::vector<std::string>& arguments, std::int64_t workers, const run::Cores& cores,
                    bool stays_here = false) {
  auto all = arguments;
  all.insert(all.begin(), {"-n", "1"});
  all.insert(all.end(), {"--", "train", "x.yaml"});
  return fmt::format(
      "{}",
      fmt::join(run::mpirun_options(parse_launch_arguments(all), workers, cores, false, stays_here), " "));
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
  EXPECT_FALSE(run::stays_here("a:2,b:2"));
  ASSERT_EQ(::setenv("SLURM_JOB_ID", "7", 1), 0);
  EXPECT_FALSE(run::stays_here(""));
  ASSERT_EQ(::setenv("SLURM_JOB_NUM_NODES", "1", 1), 0);
  EXPECT_TRUE(run::stays_here(""));
  ASSERT_EQ(::setenv("OMPI_MCA_btl_tcp_if_exclude", "eth1", 1), 0);
  EXPECT_FALSE(run::stays_here("")) << "whoever chooses networks has reasons";
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "OMPI_MCA_btl_tcp_if_exclude"})
    ::unsetenv(name);
  EXPECT_TRUE(run::stays_here(""));
}

TEST(LaunchCommand, ThreadsAsTheTrainingWantsThem) {
  auto a = parse_launch_arguments({"-n", "2", "--", "train", "x.yaml", "--trainer.threads=3"});
  EXPECT_EQ(run::threads_of_each(a, 2, kEight), 3);
  EXPECT_EQ(a.command, (std::vector<std::string>{"train", "x.yaml", "--trainer.threads=3"}));
  a.command.pop_back();
  EXPECT_EQ(run::threads_of_each(a, 2, kEight), 4);
  EXPECT_EQ(run::threads_of_each(a, 20, kEight), 1);
}

TEST(LaunchCommand, OnlyWhatMayEndOtherwiseIsTriedAgain) {
  EXPECT_EQ(run::end_of_attempt(0, false), run::LaunchEnd::finished);
  EXPECT_EQ(run::end_of_attempt(0, true), run::LaunchEnd::finished);
  EXPECT_EQ(run::end_of_attempt(76, false), run::LaunchEnd::stopped);
  for (const int lost : {75, 128 + SIGKILL, 1}) {
    EXPECT_EQ(run::end_of_attempt(lost, false), run::LaunchEnd::again) << lost;
    EXPECT_EQ(run::end_of_attempt(lost, true), run::LaunchEnd::stopped) << lost;
  }
  for (const int wrong : {2, 3, 4, 127})
    EXPECT_EQ(run::end_of_attempt(wrong, false), run::LaunchEnd::failed) << wrong;
}

}  // namespace
}  // namespace bora::cli

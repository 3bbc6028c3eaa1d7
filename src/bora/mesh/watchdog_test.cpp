// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace bora::mesh {
namespace {

TEST(Watchdog, LetsInTimePass) { const Watchdog watchdog("the start", 60); }

TEST(WatchdogDeathTest, EndsTheProcessResumably) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const Watchdog watchdog("worker 1 (host b): the start of MPI", 0.01);
        for (;;) ::pause();
      },
      ::testing::ExitedWithCode(75),
      "bora: worker 1 \\(host b\\): the start of MPI: not over after 0.01 s: a worker is missing\n"
      "hint: look at the other workers' logs and machines; started again, the run goes on from its newest "
      "checkpoint\n");
}

}  // namespace
}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace bora {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (int threads : {0, 1, 2, 3, 8}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(1000, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; }, threads);
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, [](std::int64_t) { FAIL(); });
  parallel_for(-1, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, NestsInsideItself) {
  std::atomic<int> calls{0};
  parallel_for(4, [&](std::int64_t) { parallel_for(5, [&](std::int64_t) { ++calls; }, 2); }, 2);
  EXPECT_EQ(calls, 20);
}

TEST(ParallelFor, LowestFailureWinsForAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::string message;
      try {
        parallel_for(
            100,
            [](std::int64_t i) {
              if (i == 10 || i == 11 || i == 60) throw std::runtime_error(std::to_string(i));
            },
            threads);
      } catch (const std::runtime_error& e) {
        message = e.what();
      }
      EXPECT_EQ(message, "10") << threads;
    }
  }
}

TEST(ParallelFor, StopsAfterAFailure) {
  std::atomic<int> calls{0};
  EXPECT_THROW(parallel_for(
                   1000000,
                   [&](std::int64_t) {
                     ++calls;
                     throw std::runtime_error("no");
                   },
                   2),
               std::runtime_error);
  EXPECT_LE(calls, 2);
}

TEST(HardwareThreads, AtLeastOne) { EXPECT_GE(hardware_threads(), 1); }

TEST(BoundedThreads, AreAtMostFourForEachCore) {
  EXPECT_EQ(bounded_threads(1), 1);
  EXPECT_EQ(bounded_threads(-5), 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(bounded_threads(4), 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  const int most = bounded_threads(100000);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(most % 4, 0);
  EXPECT_LT(most, 100000);
  EXPECT_NE(said.find("100000 threads are more than 4 for each of the " + std::to_string(most / 4)),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace bora

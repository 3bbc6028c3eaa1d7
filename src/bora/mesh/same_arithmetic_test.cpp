// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/same_arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::StartsWith;

std::vector<std::string> compare(const std::vector<std::string>& arithmetic) {
  const auto workers = static_cast<int>(arithmetic.size());
  return testing::run_workers({.count = workers, .hosts = {"a", "b", "c"}}, [&](Communicator& c) {
    require_same_arithmetic(c, arithmetic[static_cast<std::size_t>(c.rank())]);
  });
}

TEST(SameArithmetic, SilentWhereAllComputeAlike) {
  EXPECT_THAT(compare({"AVX2"}), Each(Eq("")));
  EXPECT_THAT(compare({"AVX2", "AVX2", "AVX2"}), Each(Eq("")));
}

TEST(SameArithmetic, EveryWorkerSaysWhoComputesHow) {
  EXPECT_THAT(compare({"AVX3, AMX", "AVX3, AMX", "AVX2"}),
              Each(StartsWith("the workers do not compute alike: worker 0 (host a) with AVX3, AMX, worker 2 "
                              "(host c) with AVX2; the bits of the run would depend on who computes what\n"
                              "hint: machines of one kind, or BORA_CPU_TARGET=AVX2 for all")));
}

}  // namespace
}  // namespace bora::mesh

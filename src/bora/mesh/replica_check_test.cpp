// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/replica_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Compares three arrays on each of some workers, of whom those in `flipped` have a bit of the second flipped.
std::vector<std::string> compare(int workers, const std::vector<int>& flipped) {
  return testing::run_workers({.count = workers, .hosts = {"a", "b", "c", "d"}}, [&](Communicator& c) {
    std::vector<std::vector<std::byte>> arrays(3, std::vector<std::byte>(1000, std::byte{7}));
    if (std::find(flipped.begin(), flipped.end(), c.rank()) != flipped.end()) arrays[1][123] ^= std::byte{16};
    const Replica replicas[] = {{"embed", arrays[0]}, {"layers.1.w", arrays[1]}, {"head", arrays[2]}};
    require_equal_replicas(c, replicas, "step 200");
  });
}

TEST(ReplicaCheck, SilentWhereAllAgree) {
  for (const int n : {1, 2, 4}) EXPECT_THAT(compare(n, {}), Each(Eq("")));
}

TEST(ReplicaCheck, NamesTheOneThatDiffers) {
  EXPECT_THAT(
      compare(4, {2}),
      Each(StartsWith("step 200: worker 2 (host c) holds other values of layers.1.w than worker 0 (host "
                      "a), worker 1 (host b), worker 3 (host d) (first in byte 123 of 1000)\n"
                      "hint: test or leave out that machine;")));
  EXPECT_THAT(compare(3, {0}), Each(StartsWith("step 200: worker 0 (host a) holds other values")));
}

TEST(ReplicaCheck, NamesBothSidesWithoutAMajority) {
  EXPECT_THAT(
      compare(2, {0}),
      Each(StartsWith("step 200: worker 1 (host b) holds other values of layers.1.w than worker 0 (host "
                      "a) (first in byte 123 of 1000): one of the two sides has a flipped bit\n")));
  EXPECT_THAT(compare(4, {1, 2}), Each(HasSubstr("worker 1 (host b), worker 2 (host c) hold other values")));
}

}  // namespace
}  // namespace bora::mesh

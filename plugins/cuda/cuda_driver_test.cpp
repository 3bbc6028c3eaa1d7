// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What is asked of an NVIDIA driver, with one that is none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bora/core/cuda_facts.h"

namespace bora::core {
namespace {

using State = CudaFacts::State;

CudaFacts facts_where(std::initializer_list<std::pair<const char*, const char*>> told) {
  for (const auto& [name, value] : told) ::setenv(name, value, 1);
  const auto facts = cuda_facts(BORA_STAND_IN_DRIVER, BORA_STAND_IN_DRIVER);
  for (const auto& [name, value] : told) ::unsetenv(name);
  return facts;
}

TEST(CudaDriver, TellsItsGpus) {
  const auto facts = facts_where({});
  EXPECT_EQ(facts.state(), State::ready);
  EXPECT_EQ(describe_driver(facts), "driver 580.65.06 (CUDA 13.0)");
  ASSERT_EQ(facts.gpus.size(), 2U);
  EXPECT_EQ(describe(facts.gpus[0]), "Stand-in 0 · capability 9.0 · 85.9 GB, 75.2 GB free");
  EXPECT_EQ(describe(facts.gpus[1]), "Stand-in 1 · capability 9.1 · 42.9 GB");
}

TEST(CudaDriver, TellsWhyThereIsNone) {
  EXPECT_EQ(facts_where({{"STAND_IN_INIT_RESULT", "100"}}).state(), State::no_gpu);
  EXPECT_EQ(facts_where({{"STAND_IN_GPUS", "0"}}).state(), State::no_gpu);
  EXPECT_EQ(facts_where({{"STAND_IN_MAJOR", "7"}}).state(), State::old_gpu);
  const auto old = facts_where({{"STAND_IN_CUDA", "12040"}});
  EXPECT_EQ(old.state(), State::old_driver);
  EXPECT_EQ(text(old.cuda), "12.4");
  EXPECT_EQ(facts_where({{"STAND_IN_INIT_RESULT", "803"}}).failure, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
  EXPECT_EQ(facts_where({{"STAND_IN_COUNT_RESULT", "999"}}).failure, "error 999");
  EXPECT_EQ(facts_where({{"STAND_IN_COUNT_RESULT", "999"}}).state(), State::driver_fails);
}

TEST(CudaDriver, TellsTheGpusThatAreNewEnough) {
  constexpr Device kSecond{Device::Type::cuda, 1};
  const auto mixed = facts_where({{"STAND_IN_MAJOR_OF_FIRST", "7"}});
  EXPECT_EQ(mixed.state(), State::ready);
  EXPECT_EQ(suitable_gpus(mixed, 2), std::vector<Device>{kSecond});
  EXPECT_EQ(suitable_gpus(facts_where({}), 2).size(), 2U);
  EXPECT_TRUE(suitable_gpus(facts_where({{"STAND_IN_MAJOR", "7"}}), 2).empty());
}

// A toolkit brings a library of that name to link with.
TEST(CudaDriver, IsNoneIfItIsALibraryToLinkWith) {
  for (const char* name : {"STAND_IN_VERSION_RESULT", "STAND_IN_INIT_RESULT"})
    EXPECT_EQ(facts_where({{name, "34"}}).state(), State::no_driver) << name;
}

TEST(CudaDriver, DoesWithoutTheLibraryThatTellsWhatIsFree) {
  const auto facts = facts_where({{"STAND_IN_NVML_RESULT", "9"}});
  EXPECT_EQ(facts.state(), State::ready);
  EXPECT_EQ(describe_driver(facts), "driver (CUDA 13.0)");
  EXPECT_FALSE(facts.gpus[0].free);
}

// Of a part of a GPU the library tells what is free on the whole.
TEST(CudaDriver, HasNoMoreFreeThanThereIs) {
  const auto facts = facts_where({{"STAND_IN_FREE_GIB", "300"}});
  EXPECT_EQ(facts.gpus[0].free, facts.gpus[0].memory);
}

}  // namespace
}  // namespace bora::core

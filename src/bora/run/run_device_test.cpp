// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A program without a GPU; plugins/fake_device has the other side.
#include "bora/run/run_device.h"

#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora::run {
namespace {

std::string error_of(std::string_view word) {
  try {
    const RunDevice device("trainer.device", word, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(RunDevice, IsTheCpuWhereThereIsNoOther) {
  for (const char* word : {"auto", "cpu"}) {
    EXPECT_EQ(choose_device(word, {}), core::Device());
    const RunDevice device("trainer.device", word, {});
    EXPECT_EQ(device_text() + device_memory_text(), "");
  }
  EXPECT_EQ(choose_device("cuda:3", {}), (core::Device{core::Device::Type::cuda, 3}));
  EXPECT_EQ(choose_device("cuda", {}), (core::Device{core::Device::Type::cuda, 0}));
}

TEST(RunDevice, SaysThatThereIsNone) {
  // What is found follows from the machine; core/cuda_facts_test.cpp has all of it.
  const auto facts = core::cuda_facts();
  for (const std::int8_t i : {0, 1}) {
    const core::Device device{core::Device::Type::cuda, i};
    EXPECT_EQ(error_of(core::name(device)), "trainer.device: device: " + core::why_no_gpu(facts, device, 0));
  }
  EXPECT_EQ(error_of("cuda"), error_of("cuda:0"));
  EXPECT_EQ(error_of("test"),
            "trainer.device: device: test is asked for, but this program has none of its kind\n"
            "hint: the tests load the plug-in fake_device");
}

TEST(RunDevice, SaysWhyAutoTookTheCpu) {
  core::CudaFacts facts;
  EXPECT_EQ(choice_text("cpu", {}, facts), "");
  EXPECT_EQ(choice_text("auto", {}, facts), "CPU: no NVIDIA driver");
  facts = {.has_driver = true, .cuda = {13, 0}};
  EXPECT_EQ(choice_text("auto", {}, facts), "CPU: driver (CUDA 13.0) sees no GPU");
  facts.gpus.push_back({"H100", {9, 0}, 85'000'000'000, {}});
  facts.engine = "the libtorch in /lib has no part for CUDA";
  const auto refusal = core::refuse_gpu(facts, {core::Device::Type::cuda, 0}, 0);
  EXPECT_EQ(refusal.found, "of H100: the libtorch in /lib has no part for CUDA");
  EXPECT_EQ(choice_text("auto", {}, facts), "CPU: " + refusal.found + "; " + refusal.hint);
  EXPECT_EQ(choice_text("auto", {core::Device::Type::cuda, 1}, facts), "cuda:1 (cuda:1), as it is there");
  EXPECT_FALSE(device_room({}));
}

core::CudaFacts machine_with(std::vector<core::GpuFacts> gpus) {
  return {.has_driver = true, .driver = "580.65.06", .cuda = {13, 0}, .failure = {}, .gpus = std::move(gpus)};
}
const core::GpuFacts kOldGpu{"V100", {7, 0}, 16'900'000'000, {}}, kNewGpu{"H100", {9, 0}, 85'000'000'000, {}};

TEST(RunDevice, TakesGpusThatAreNewEnough) {
  const auto gpu = [](std::int8_t i) { return core::Device{core::Device::Type::cuda, i}; };
  const auto mixed = machine_with({kOldGpu, kNewGpu}), three = machine_with({kNewGpu, kOldGpu, kNewGpu});
  for (const char* word : {"auto", "cuda"}) {
    for (const int rank : {0, 1, 2}) {
      EXPECT_EQ(choose_gpu(word, rank, machine_with({kNewGpu}), 1), gpu(0)) << rank;
      EXPECT_EQ(choose_gpu(word, rank, mixed, 2), gpu(1)) << rank;
      EXPECT_EQ(choose_gpu(word, rank, three, 3), gpu(rank % 2 == 0 ? 0 : 2)) << rank;
    }
  }
  EXPECT_EQ(choice_text("auto", gpu(1), mixed), "cuda:1 (cuda:1), as it is there");
}

TEST(RunDevice, TakesNoneWhereAllAreTooOld) {
  const core::Device first{core::Device::Type::cuda, 0};
  for (const auto& facts : {machine_with({kOldGpu}), machine_with({kOldGpu, kOldGpu})}) {
    EXPECT_EQ(choose_gpu("auto", 1, facts, 0), core::Device());
    EXPECT_EQ(choose_gpu("cuda", 1, facts, 0), first);
    EXPECT_EQ(core::why_no_gpu(facts, first, 0),
              "cuda:0 is asked for, but V100 has compute capability 7.0, and this program needs 8.0 or more\n"
              "hint: take a newer GPU, or say cpu");
    EXPECT_EQ(choice_text("auto", {}, facts),
              "CPU: V100 · capability 7.0 · 16.9 GB; capability 8.0 is needed");
  }
  auto old_driver = machine_with({kNewGpu});
  old_driver.cuda = {12, 2};
  EXPECT_EQ(choose_gpu("auto", 0, old_driver, 0), core::Device());
  EXPECT_EQ(choice_text("auto", {}, old_driver),
            "CPU: driver 580.65.06 (CUDA 12.2) is too old: CUDA 13.0 is needed");
}

// The one that would be computed on says why not, not an old one before it.
TEST(RunDevice, SaysOfTheNewerGpuWhyItIsNotTaken) {
  auto facts = machine_with({kOldGpu, kNewGpu});
  facts.engine = "the libtorch in /lib has no part for CUDA";
  EXPECT_EQ(choose_gpu("auto", 0, facts, 0), core::Device());
  EXPECT_EQ(choose_gpu("cuda", 0, facts, 0), (core::Device{core::Device::Type::cuda, 1}));
  EXPECT_EQ(
      choice_text("auto", {}, facts),
      "CPU: of H100: the libtorch in /lib has no part for CUDA; install Bora's wheel beside PyPI's torch 2.11.0, "
      "which has it, and look at what bora doctor says");
}

TEST(RunDevice, NamesTheCpuAsTheWayOut) {
  const core::Device second{core::Device::Type::cuda, 1};
  EXPECT_EQ(cpu_instead("auto", second), "trainer.device: cpu (auto took cuda:1, as it is there)");
  EXPECT_EQ(cpu_instead("cuda:1", second), "trainer.device: cpu");
}

TEST(RunDevice, SaysWhyThereIsNoFp8) {
  core::CudaFacts facts;
  facts.gpus = {{.name = "NVIDIA A100", .capability = {8, 0}}, {.name = "NVIDIA L4", .capability = {8, 9}}};
  EXPECT_EQ(
      why_no_fp8({}, facts),
      "needs a GPU of compute capability 8.9, and this run computes on the CPU; trainer.device: cuda, or leave "
      "fp8 out");
  EXPECT_EQ(why_no_fp8({core::Device::Type::cuda, 0}, facts),
            "needs compute capability 8.9, and NVIDIA A100 (cuda:0) has 8.0; leave fp8 out to train in bf16");
  EXPECT_EQ(why_no_fp8({core::Device::Type::cuda, 1}, facts), "");
  EXPECT_EQ(why_no_fp8({core::Device::Type::test, 0}, facts), "");
}

}  // namespace
}  // namespace bora::run

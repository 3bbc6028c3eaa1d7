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

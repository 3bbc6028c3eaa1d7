// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Words made of facts; plugins/cuda/cuda_driver_test.cpp asks a driver for them.
#include "bora/core/cuda_facts.h"

#include <gtest/gtest.h>

namespace bora::core {
namespace {

using State = CudaFacts::State;

constexpr Device gpu(std::int8_t index) { return {Device::Type::cuda, index}; }

GpuFacts hopper() { return {"NVIDIA H100 80GB HBM3", {9, 0}, 85'030'666'240, 84'000'000'000}; }
GpuFacts volta() { return {"Tesla V100-SXM2-16GB", {7, 0}, 16'900'000'000, {}}; }

CudaFacts with(std::vector<GpuFacts> gpus) {
  return {.has_driver = true, .driver = "580.65.06", .cuda = {13, 0}, .failure = {}, .gpus = std::move(gpus)};
}

struct FactsCase {
  CudaFacts facts;
  State state;
  std::string word, summary, why;
};

TEST(CudaFacts, SayWhyThereIsNoGpu) {
  auto old = with({hopper()}), failing = with({}), nameless = with({});
  old.cuda = {12, 2};
  old.driver = "535.54.03";
  failing.failure = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  nameless.driver = "";
  const FactsCase all[] = {
      {{},
       State::no_driver,
       "no_driver",
       "no NVIDIA driver",
       "this machine has no NVIDIA driver (libcuda.so.1 was not found)\n"
       "hint: install a driver for CUDA 13.0 or newer, or say cpu"},
      {old, State::old_driver, "old_driver", "driver 535.54.03 (CUDA 12.2) is too old: CUDA 13.0 is needed",
       "the NVIDIA driver 535.54.03 (CUDA 12.2) is too old: this program needs CUDA 13.0\n"
       "hint: install a driver for CUDA 13.0 or newer, or say cpu"},
      {failing, State::driver_fails, "driver_fails",
       "driver 580.65.06 (CUDA 13.0) does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
       "the NVIDIA driver 580.65.06 (CUDA 13.0) does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\n"
       "hint: see whether nvidia-smi works, and start the machine again after an update of the driver, or say cpu"},
      {nameless, State::no_gpu, "no_gpu", "driver (CUDA 13.0) sees no GPU",
       "the NVIDIA driver (CUDA 13.0) sees no GPU\n"
       "hint: look at what nvidia-smi shows, and whether CUDA_VISIBLE_DEVICES hides them, or say cpu"},
      {with({volta()}), State::old_gpu, "old_gpu",
       "Tesla V100-SXM2-16GB · capability 7.0 · 16.9 GB; capability 8.0 is needed",
       "Tesla V100-SXM2-16GB has compute capability 7.0, and this program needs 8.0 or more\n"
       "hint: take a newer GPU, or say cpu"},
      {with({hopper()}), State::ready, "ready",
       "NVIDIA H100 80GB HBM3 · capability 9.0 · 85.0 GB, 84.0 GB free",
       "NVIDIA H100 80GB HBM3 has not been opened\nhint: say cpu, or auto"},
  };
  for (const auto& [facts, state, word, words, why] : all) {
    EXPECT_EQ(facts.state(), state) << word;
    EXPECT_EQ(name(state), word);
    EXPECT_EQ(summary(facts), words);
    EXPECT_EQ(why_no_gpu(facts, gpu(0), 0), "cuda:0 is asked for, but " + why);
  }
}

TEST(CudaFacts, SayWhatKeepsTheProgramFromComputing) {
  auto facts = with({hopper()});
  facts.engine = "the libtorch in /lib has no part for CUDA";
  EXPECT_EQ(
      why_no_gpu(facts, gpu(0), 0),
      "cuda:0 is asked for, but of NVIDIA H100 80GB HBM3: the libtorch in /lib has no part for CUDA\n"
      "hint: install Bora's wheel beside PyPI's torch 2.11.0, which has it, and look at what bora doctor "
      "says, or say cpu");
}

TEST(CudaFacts, NameTheGpusThatThereAre) {
  const auto facts = with({volta(), hopper()});
  EXPECT_EQ(facts.state(), State::ready);
  EXPECT_EQ(summary(facts), "2 GPUs, the first Tesla V100-SXM2-16GB · capability 7.0 · 16.9 GB");
  EXPECT_EQ(
      why_no_gpu(facts, gpu(2), 0),
      "cuda:2 is asked for, but this machine has 2 GPUs: cuda:0 Tesla V100-SXM2-16GB, cuda:1 NVIDIA H100 "
      "80GB HBM3\nhint: take one of these, or cuda for the first that is new enough, or say cpu");
  EXPECT_EQ(why_no_gpu(with({hopper()}), gpu(1), 1),
            "cuda:1 is asked for, but this machine has 1 GPU: cuda:0 NVIDIA H100 80GB HBM3\n"
            "hint: take one of these, or cuda for the first that is new enough, or say cpu");
  EXPECT_EQ(
      why_no_gpu(with({hopper(), hopper()}), gpu(1), 1),
      "cuda:1 is asked for, but this program computes on 1 of cuda:0 NVIDIA H100 80GB HBM3, cuda:1 NVIDIA "
      "H100 80GB HBM3\nhint: take one before it, or cuda for the first that is new enough, or say cpu");
}

TEST(CudaFacts, TellTheGpusThatAreNewEnough) {
  using Gpus = std::vector<Device>;
  const auto mixed = with({volta(), hopper(), volta(), hopper()}), old = with({volta(), volta()});
  EXPECT_EQ(suitable_gpus(mixed, 4), (Gpus{gpu(1), gpu(3)}));
  EXPECT_EQ(suitable_gpus(mixed, 3), Gpus{gpu(1)}) << "the program opens three";
  EXPECT_EQ(suitable_gpus(mixed, 0), Gpus());
  EXPECT_EQ(suitable_gpus(with({hopper()}), 2), Gpus{gpu(0)});
  EXPECT_EQ(suitable_gpus(old, 2), Gpus());
  EXPECT_EQ(first_suitable_gpu(mixed), gpu(1));
  EXPECT_EQ(first_suitable_gpu(old), gpu(0));
  EXPECT_EQ(first_suitable_gpu({}), gpu(0));
  EXPECT_EQ(
      why_no_gpu(mixed, gpu(0), 4),
      "cuda:0 is asked for, but Tesla V100-SXM2-16GB has compute capability 7.0, and this program needs 8.0 or "
      "more\nhint: take a newer GPU: cuda:1 NVIDIA H100 80GB HBM3, or say cpu");
}

TEST(CudaFacts, AreThoseOfNoDriverWithoutItsLibrary) {
  for (const char* file : {"libcuda_absent.so.1", "libm.so.6"}) {
    const auto facts = cuda_facts(file, "libnvidia_absent.so.1");
    EXPECT_NE(facts.state(), State::ready) << file;
    EXPECT_TRUE(facts.gpus.empty());
  }
  EXPECT_EQ(cuda_facts("libcuda_absent.so.1").state(), State::no_driver);
  EXPECT_EQ(describe_driver({}), "no driver");
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Plans that cuDNN itself makes for GPUs that are described, on a machine without one: that it takes our graphs, with their
// deterministic backward pass, and what room they want. A stand-in for the driver says yes to the kernels that it
// compiles; what they compute is seen on a GPU alone (attention_device_test with TEST_DEVICE=cuda).
#include <dlfcn.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/cudnn_plugin.h"
#include "graphs.h"

namespace bora::cudnn {
namespace {

using core::AttentionPlan;
using ::testing::HasSubstr;

struct Gpu {
  const char* name;
  int capability, multiprocessors;
  std::int64_t cache, shared;
};
constexpr Gpu kA100{"NVIDIA A100", 80, 108, 41943040, 166912},
    kH100{"NVIDIA H100", 90, 132, 52428800, 232448}, kB200{"NVIDIA B200", 100, 148, 132644864, 232448};

// As cuDNN writes one.
std::string described(const Gpu& gpu) {
  return fmt::format(
      R"({{"deviceName": "{}", "cudaDeviceId": 0, "deviceVer": {}, "multiProcessorCount": {}, "driverVer": 13000,)"
      R"("maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,)"
      R"("smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": {}, "warpSize": 32,)"
      R"("maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": {}, "reservedSharedMemoryPerBlock": 1024,)"
      R"("maxRegistersPerSM": 65536, "pciDeviceId": 0, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,)"
      R"("maxThreadsPerSM": 2048, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85899345920,)"
      R"("hasRuntime": 1}})",
      gpu.name, 10 * gpu.capability, gpu.multiprocessors, gpu.cache, gpu.shared);
}

// Rows without gaps, gradients beside each other as core has them.
AttentionPlan plan_of(std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t kv_heads,
                      std::int64_t group, std::int64_t dim, std::int64_t positions = 0) {
  const auto h = kv_heads * group;
  AttentionPlan p{.batch = batch,
                  .queries = queries,
                  .keys = keys,
                  .positions = positions,
                  .kv_heads = kv_heads,
                  .group = group,
                  .head_dim = dim,
                  .scale = 0.125F,
                  .q = {queries * h * dim, h * dim, dim},
                  .k = {keys * kv_heads * dim, kv_heads * dim, dim}};
  p.v = p.k;
  p.out = p.dq = p.q;
  p.dk = p.dv = p.k;
  if (queries == keys && positions == 0) {
    const auto row = (h + 2 * kv_heads) * dim;
    p.dq = p.dk = p.dv = {queries * row, row, dim};
  }
  if (positions > 0)
    for (auto* x : {&p.q, &p.k, &p.v, &p.out, &p.dq, &p.dk, &p.dv}) x->batch = 0;
  return p;
}

struct Rooms {
  std::int64_t forward = 0, backward = 0;
  std::string refused;
};
Rooms rooms(const Target& target, const AttentionPlan& plan) try {
  const auto parts = parts_of(plan).value();
  return {Graph(target, sdpa_of(plan, forward_parts(plan, parts)), false).room(),
          Graph(target, sdpa_of(plan, parts), true).room(),
          {}};
} catch (const Error& e) {
  return {.refused = e.what()};
}

class CudnnPlans : public testing::Test {
 protected:
  // By their full names, so that whoever asks for them by the short ones finds these.
  void SetUp() override {
    const std::string toolkit = BORA_TOOLKIT_LIBRARIES;
    for (const auto& file : {std::string(BORA_STAND_IN_DRIVER), toolkit + "/libcudart.so.13",
                             toolkit + "/libnvrtc.so.13", toolkit + "/libcudnn.so.9"})
      if (::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) GTEST_SKIP() << ::dlerror();
    ASSERT_EQ(why_no_library(), "");
  }
};

TEST_F(CudnnPlans, OfAnH100) {
  const Target target(described(kH100), kH100.capability);
  struct Case {
    const char* name;
    AttentionPlan plan;
  };
  std::vector<Case> cases{{"GPT-2", plan_of(8, 1024, 1024, 12, 1, 64)},
                          {"heads that share keys", plan_of(1, 8192, 8192, 8, 4, 128)},
                          {"odd lengths", plan_of(4, 1000, 1000, 8, 2, 128)},
                          {"large heads", plan_of(4, 1024, 1024, 4, 2, 256)},
                          {"small heads", plan_of(2, 16, 16, 3, 1, 8)},
                          {"heads of 72", plan_of(2, 128, 128, 3, 1, 72)},
                          {"last queries", plan_of(2, 128, 512, 3, 2, 64)},
                          {"one query", plan_of(2, 1, 512, 3, 2, 64)},
                          {"documents", plan_of(16, 1024, 1024, 12, 1, 64, 4096)},
                          {"documents, heads that share keys", plan_of(64, 512, 512, 8, 4, 128, 8192)}};
  const auto expect_taken = [&](const AttentionPlan& plan) {
    const auto got = rooms(target, plan);
    EXPECT_EQ(got.refused, "");
    EXPECT_LT(got.forward, 1 << 20) << "the forward pass keeps no scores";
    EXPECT_LT(got.backward, kMostRoom / 4 * 5) << "what a part may take, and sums over heads of a group";
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    expect_taken(c.plan);
  }
  for (const auto& c : {cases[1], cases.back()}) {
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(fmt::format("{} in a window, {}", c.name, causal ? "causal" : "all keys"));
      AttentionPlan plan = c.plan;
      plan.causal = causal;
      expect_taken(plan);
      plan.window = 100;
      expect_taken(plan);
    }
  }
}

// Blocks of keys in the past, whose gradients are of arrays of their own: seen whole, in a window, and where a window ends
// within one, the last 100 keys by the first 100 queries.
TEST_F(CudnnPlans, OfBlocksOfARing) {
  const Target a100(described(kA100), kA100.capability), h100(described(kH100), kH100.capability),
      b200(described(kB200), kB200.capability);
  for (const auto* target : {&a100, &h100, &b200}) {
    auto plan = plan_of(2, 1024, 1024, 8, 4, 128);
    plan.causal = false;
    plan.dq = plan.q;
    plan.dk = plan.dv = plan.k;
    EXPECT_EQ(rooms(*target, plan).refused, "");
    plan.window = 300;
    EXPECT_EQ(rooms(*target, plan).refused, "");
    plan.queries = plan.keys = 100;
    plan.window = 1;
    plan.out.batch = plan.dq.batch = 100 * plan.q.position;
    plan.dk.batch = plan.dv.batch = 100 * plan.k.position;
    EXPECT_EQ(rooms(*target, plan).refused, "");
  }
}

// The gradients of scores are what the room is for: parts are cut by that.
TEST_F(CudnnPlans, OfAnH100KeepGradientsOfScores) {
  const Target target(described(kH100), kH100.capability);
  const auto plan = plan_of(8, 1024, 1024, 12, 1, 64);
  const double scores = 2.0 * 8 * 12 * 1024 * 1024;
  EXPECT_NEAR(static_cast<double>(rooms(target, plan).backward), scores, 0.01 * scores);
}

TEST_F(CudnnPlans, OfOtherGpus) {
  const Target a100(described(kA100), kA100.capability), b200(described(kB200), kB200.capability);
  const auto dense = plan_of(8, 1024, 1024, 12, 1, 64), large = plan_of(8, 1024, 1024, 4, 1, 256),
             documents = plan_of(16, 1024, 1024, 12, 1, 64, 4096);
  for (const auto* target : {&a100, &b200}) {
    EXPECT_EQ(rooms(*target, dense).refused, "");
    EXPECT_THAT(rooms(*target, large).refused, HasSubstr("less than or equal to 128"));
  }
  EXPECT_EQ(rooms(a100, documents).refused,
            "Deterministic algorithm is not supported for bprop thd on SM8X and SM12X GPUs");
  EXPECT_EQ(rooms(b200, documents).refused, "");
  EXPECT_LT(rooms(b200, dense).backward, 1 << 20) << "it keeps no gradients of scores";
}

// A line of what cuDNN says, not all that it has tried.
TEST_F(CudnnPlans, AreRefusedInHalfASentence) {
  const Target target(described(kH100), kH100.capability);
  const auto refused = rooms(target, plan_of(2, 128, 128, 3, 1, 68)).refused;
  EXPECT_THAT(refused, HasSubstr("multiple of"));
  EXPECT_EQ(refused.find('\n'), refused.npos);
}

// The plug-in as a program finds it, where no driver starts.
TEST_F(CudnnPlans, OfThePluginWithoutADevice) {
  void* const plugin = ::dlopen(BORA_CUDNN_BUILT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << ::dlerror();
  auto* const version = reinterpret_cast<int (*)()>(::dlsym(plugin, "bora_cudnn_plugin_version"));
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version(), core::kCudnnPluginVersion);
  core::AttentionLibrary library;
  reinterpret_cast<void (*)(core::AttentionLibrary*)>(::dlsym(plugin, "bora_cudnn_library"))(&library);
  EXPECT_EQ(library.why_not, "");
  EXPECT_EQ(library.name, "cuDNN " + version_text(library_version()));
  EXPECT_THAT(library.ready(plan_of(1, 64, 64, 1, 1, 64), 0).why_not,
              testing::StartsWith("cuDNN: device 0: CUDA error"));
}

}  // namespace
}  // namespace bora::cudnn

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/throughput.h"

#include <gtest/gtest.h>

#include <map>

namespace bora::track {
namespace {

constexpr FlopsModel kGpt2{.layers = 12,
                           .hidden = 768,
                           .intermediate = 3072,
                           .heads = 12,
                           .kv_heads = 12,
                           .vocabulary = 50257,
                           .sequence = 1024,
                           .gated_mlp = false};

TEST(Flops, FullCountIsLevanters) {
  // By hand, per layer: mlp 2·2·768·3072, qkv 2·768·2304, out 2·768², attention 2·1024·768·2 + 3·1024·12.
  const double layer = 9437184.0 + 3538944 + 1179648 + 3145728 + 36864;
  EXPECT_EQ(forward_flops_per_token(kGpt2), 12 * layer + 2.0 * 768 * 50257);
  EXPECT_EQ(training_flops_per_token(kGpt2), 3 * forward_flops_per_token(kGpt2));
}

TEST(Flops, CausalHalvesAttentionOnly) {
  const double full = forward_flops_per_token(kGpt2),
               causal = forward_flops_per_token(kGpt2, AttentionFlops::Causal);
  EXPECT_EQ(full - causal, 12 * (3145728.0 + 36864) / 2);
}

TEST(Flops, GroupedHeadsAndExperts) {
  FlopsModel model = kGpt2;
  model.kv_heads = 4;
  EXPECT_EQ(forward_flops_per_token(kGpt2) - forward_flops_per_token(model), 12.0 * 2 * 768 * 64 * 16);
  model = kGpt2;
  model.head_dim = 128;
  EXPECT_GT(forward_flops_per_token(model), forward_flops_per_token(kGpt2));
  model = kGpt2;
  model.experts = 8;
  model.experts_per_token = 2;
  EXPECT_EQ(forward_flops_per_token(model) - forward_flops_per_token(kGpt2), 12.0 * (9437184 + 2 * 768 * 8));
}

TEST(Flops, PalmGivesTheUsualNumbersOfGpt2Small) {
  EXPECT_NEAR(palm_flops_per_token(124e6, kGpt2) / 1e9, 0.857, 1e-3);
  EXPECT_NEAR(palm_flops_per_token(124e6, kGpt2, AttentionFlops::Causal) / 1e9, 0.801, 1e-3);
}

TEST(Flops, PalmCountsTheParametersThatATokenPasses) {
  // 12 layers of 12·768² and a tied embedding of 50257·768: GPT-2 without positions, biases and norms.
  EXPECT_EQ(active_parameters(kGpt2, /*tied_head=*/true), 12.0 * 12 * 768 * 768 + 50257.0 * 768);
  EXPECT_EQ(active_parameters(kGpt2, false) - active_parameters(kGpt2, true), 50257.0 * 768);
  FlopsModel model = kGpt2;
  model.kv_heads = 4;
  EXPECT_EQ(active_parameters(kGpt2, true) - active_parameters(model, true), 12.0 * 768 * 64 * 16);
  model = kGpt2;
  model.experts = 8;
  model.experts_per_token = 2;
  EXPECT_EQ(active_parameters(model, true) - active_parameters(kGpt2, true), 12.0 * 768 * (2 * 3072 + 8));
}

std::map<std::string, double> as_map(const std::vector<Metric>& metrics) {
  std::map<std::string, double> out;
  for (const auto& m : metrics) out[m.name] = m.value;
  return out;
}

TEST(Meter, ReportsTheLastStepAndSmoothsTheDisplay) {
  ThroughputMeter meter({.flops_per_token = 1e6,
                         .flops_per_token_causal = 5e5,
                         .flops_per_token_palm = 9e5,
                         .peak_flops = 1e10});
  EXPECT_TRUE(meter.metrics().empty());
  EXPECT_FALSE(meter.eta(10));
  meter.resume(1000);
  meter.step(4096, 16, 8);  // warm-up
  EXPECT_EQ(meter.tokens_per_second(), 512);
  meter.step(4096, 16, 1);
  meter.step(4096, 16, 3);
  EXPECT_EQ(meter.tokens_per_second(), 2048);
  EXPECT_EQ(meter.eta(10).value(), 20);
  const auto m = as_map(meter.metrics());
  EXPECT_EQ(m.at("throughput/duration"), 3);
  EXPECT_DOUBLE_EQ(m.at("throughput/tokens_per_second"), 4096.0 / 3);
  EXPECT_DOUBLE_EQ(m.at("throughput/examples_per_second"), 16.0 / 3);
  EXPECT_EQ(m.at("throughput/total_tokens"), 1000 + 3 * 4096);
  EXPECT_DOUBLE_EQ(m.at("throughput/gflops_per_second"), 4.096 / 3);
  EXPECT_DOUBLE_EQ(m.at("throughput/mfu"), 40.96 / 3);
  EXPECT_DOUBLE_EQ(m.at("throughput/mfu_causal"), 20.48 / 3);
  EXPECT_DOUBLE_EQ(m.at("throughput/mfu_palm"), 36.864 / 3);
  EXPECT_DOUBLE_EQ(meter.mfu().value(), 20.48);
}

TEST(Meter, LeavesOutWhatIsUnknown) {
  ThroughputMeter meter({});
  meter.step(10, 1, 0);
  EXPECT_EQ(meter.metrics().size(), 4);
  EXPECT_EQ(meter.tokens_per_second(), 0);
  EXPECT_FALSE(meter.mfu());
}

}  // namespace
}  // namespace bora::track

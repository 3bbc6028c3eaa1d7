// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The memory that a run is planned with against the most that its steps take, with what graphs work in.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "bora/core/device_extras.h"
#include "bora/core/device_kernels.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/models/mixtral.h"
#include "bora/run/memory_estimate.h"
#include "fake_device.h"
#include "graph_training.h"

namespace bora {
namespace {

using fake_device::Attention;

constexpr std::int64_t kPlanWords = 512, kPlanLength = 32, kPlanSequences = 8;
constexpr double kPlanBar = 0.1;  // of what is planned

struct PlanCase {
  std::string model;
  core::DType compute = core::DType::f32;
  bool fp8 = false;
  std::string policy = "none";
  std::int64_t lanes = 1;
  bool graphs = true, plain = false, drops = false;

  std::string text() const {
    return fmt::format("{} in {}, {}, {} lanes, {} graphs{}{}", model, fp8 ? "fp8" : core::name(compute),
                       policy, lanes, graphs ? "by" : "without", plain ? ", plain attention" : "",
                       drops ? ", dropped" : "");
  }
};

// As the nano recipes, in small: what is held has the same parts.
template <class Config>
Config plan_config(const PlanCase& of) {
  Config c;
  c.seq_len = kPlanLength, c.hidden_dim = 64, c.num_layers = 4, c.num_heads = 4;
  if constexpr (requires { c.num_kv_heads; }) c.num_kv_heads = 2, c.intermediate_dim = 192;
  if constexpr (requires { c.n_routed_experts; })
    c.n_routed_experts = 4, c.intermediate_dim = 128, c.head_dim = 16;
  if constexpr (requires { c.attn_pdrop; }) c.attn_pdrop = of.drops ? 0.1 : 0;
  c.gradient_checkpointing = nn::RematPolicy::parse(of.policy);
  return c;
}

data::Batch plan_batch(std::int64_t step) {
  data::Batch batch{.step = step, .sequences = kPlanSequences, .seq_len = kPlanLength};
  for (std::int64_t i = 0; i < batch.sequences * kPlanLength; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>((7 * i + i / 3 + 5 * step) % kPlanWords));
    batch.loss_weights.push_back(i % kPlanLength == kPlanLength - 1 ? 0.F : 1.F);
  }
  data::set_next_token_targets(batch);
  return batch;
}

using Made = std::pair<DeviceTraining::Model, run::SizeEstimate>;
template <class Config, class Model, class Words>
Made made_and_planned(const PlanCase& c) {
  const auto config = plan_config<Config>(c);
  auto plan = run::estimate_sizes(models::ModelConfigOf<Config>(c.model, config),
                                  {.vocab = kPlanWords,
                                   .batch = kPlanSequences,
                                   .lanes = c.lanes,
                                   .compute = c.compute,
                                   .on_device = true,
                                   .graphs = c.graphs,
                                   .keeps_scores = core::keeps_scores(kOnTest.type, c.compute)});
  return {nn::erase_type(Model::init(config, Dim<Words>{kPlanWords}, Key::from_seed(1))), std::move(plan)};
}
Made made_and_planned(const PlanCase& c) {
  if (c.model == "gpt2") return made_and_planned<gpt2::Config, gpt2::Gpt2, gpt2::Vocab>(c);
  if (c.model == "llama") return made_and_planned<llama::Config, llama::Llama, llama::Vocab>(c);
  return made_and_planned<mixtral::Config, mixtral::Mixtral, mixtral::Vocab>(c);
}

void expect_as_planned(const PlanCase& c) {
  const bool narrow = c.compute == core::DType::bf16;
  const fake_device::AttentionBy by(c.plain  ? Attention::plain
                                    : narrow ? Attention::library
                                             : Attention::kernels);
  const auto before = core::device_memory(kOnTest).live;
  run::SizeEstimate plan;
  const DeviceTraining training(
      [&] {
        auto made = made_and_planned(c);
        plan = made.second;
        return std::move(made.first);
      },
      [](std::int64_t step) { return plan_batch(step); },
      {.total_steps = 2,
       .lanes = c.lanes,
       .dropout = c.drops,
       .fp8 = c.fp8,
       .graphs = c.graphs,
       .loss = {.compute = c.compute}});
  core::count_memory_anew(kOnTest);
  for (int step = 0; step < 2; ++step) training.trainer->step();
  const auto most = static_cast<double>(core::device_memory(kOnTest).peak - before);
  EXPECT_NEAR(most / plan.arrays(), 1, kPlanBar)
      << c.text() << ": " << most << " of " << plan.arrays() << ": parameters " << plan.parameter_bytes
      << ", gradients " << plan.gradient_bytes << ", optimizer " << plan.optimizer_bytes << ", activations "
      << plan.activation_bytes;
}

constexpr auto kF32 = core::DType::f32, kBf16 = core::DType::bf16;

void expect_all_as_planned(const std::string& model) {
  for (const char* policy : {"none", "recompute", "offload"}) {
    expect_as_planned({model, kF32, false, policy, 1, false});
    expect_as_planned({model, kF32, false, policy, 4, true});
    for (const bool graphs : {false, true}) expect_as_planned({model, kBf16, false, policy, 1, graphs});
    expect_as_planned({model, kBf16, true, policy, 4, true});
  }
}

TEST(MemoryPlan, OfGpt2) { expect_all_as_planned("gpt2"); }
TEST(MemoryPlan, OfLlama) { expect_all_as_planned("llama"); }
TEST(MemoryPlan, OfMixtral) { expect_all_as_planned("mixtral"); }
// Numbers of all pairs of positions: of a GPU in fp32, and where probabilities are dropped.
TEST(MemoryPlan, OfPlainAttention) {
  for (const char* policy : {"none", "recompute"}) {
    for (const char* model : {"gpt2", "llama"})
      expect_as_planned({.model = model, .policy = policy, .plain = true});
    expect_as_planned({.model = "gpt2", .compute = kBf16, .policy = policy, .drops = true});
  }
}
TEST(MemoryPlan, OfOtherPolicies) {
  for (const char* policy : {"2", "nested"})
    for (const char* model : {"gpt2", "llama"})
      expect_as_planned({.model = model, .compute = kBf16, .policy = policy});
}

}  // namespace
}  // namespace bora

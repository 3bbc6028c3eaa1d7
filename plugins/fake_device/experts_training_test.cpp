// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Training of models with experts on a device in bf16, where one product computes all experts: against a product for each,
// and by graphs of the device.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/core/cast_once.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/grad.h"
#include "bora/core/rows_apart.h"
#include "bora/models/gpt_oss.h"
#include "bora/models/mixtral.h"
#include "bora/models/olmoe.h"
#include "bora/models/qwen2_moe.h"
#include "bora/models/qwen3_moe.h"
#include "fake_device.h"
#include "graph_training.h"

namespace bora {
namespace {

constexpr std::int64_t kExpertSteps = 7;

template <class Config>
Config small_experts(bool remat) {
  Config c;
  c.seq_len = kGraphLength, c.hidden_dim = 32, c.intermediate_dim = 48, c.num_layers = 2;
  c.num_heads = 4, c.num_kv_heads = 2, c.n_routed_experts = 4, c.num_experts_per_tok = 2;
  c.initializer_range = 0.2, c.lbl_coef = 0.01, c.rzl_coef = 0.001;
  if constexpr (requires { c.moe_intermediate_size; }) c.moe_intermediate_size = 24;
  if constexpr (requires { c.shared_expert_intermediate_size; }) c.shared_expert_intermediate_size = 40;
  if (remat) c.gradient_checkpointing = nn::RematPolicy::parse("full");
  return c;
}

DeviceTraining::Model made_with_experts(const std::string& family, bool remat) {
  const Key key = Key::from_seed(1);
  if (family == "mixtral") {
    return nn::erase_type(
        mixtral::Mixtral::init(small_experts<mixtral::Config>(remat), Dim<mixtral::Vocab>{kGraphWords}, key));
  }
  if (family == "qwen2_moe") {
    return nn::erase_type(qwen2_moe::Qwen2Moe::init(small_experts<qwen2_moe::Config>(remat),
                                                    Dim<qwen2_moe::Vocab>{kGraphWords}, key));
  }
  if (family == "qwen3_moe") {
    return nn::erase_type(qwen3_moe::Qwen3Moe::init(small_experts<qwen3_moe::Config>(remat),
                                                    Dim<qwen3_moe::Vocab>{kGraphWords}, key));
  }
  if (family == "olmoe") {
    return nn::erase_type(
        olmoe::Olmoe::init(small_experts<olmoe::Config>(remat), Dim<olmoe::Vocab>{kGraphWords}, key));
  }
  auto config = small_experts<gpt_oss::Config>(remat);
  config.head_dim = 8, config.sliding_window = 5;
  return nn::erase_type(gpt_oss::GptOss::init(config, Dim<gpt_oss::Vocab>{kGraphWords}, key));
}
const char* const kFamilies[] = {"mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss"};

data::Batch experts_batch(std::int64_t step) {
  return graph_batch({.model = {}, .segments = false, .sequences = 4}, step);
}

std::int64_t expert_operations(const std::string& name) {
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}

// Behind a text of another length in each row.
data::Batch padded_experts_batch(std::int64_t step) {
  auto batch = experts_batch(step);
  for (std::int64_t i = 0; i < std::ssize(batch.tokens); ++i) {
    const bool is_there = i % kGraphLength < 4 + (step + i / kGraphLength) % 5;
    batch.segments.push_back(is_there ? 0 : -1);
    if (!is_there) batch.loss_weights[static_cast<std::size_t>(i)] = 0;
  }
  return batch;
}

struct ExpertTraining : DeviceTraining {
  ExpertTraining(const std::string& family, bool graphs, bool remat,
                 decltype(experts_batch) batch = experts_batch)
      : DeviceTraining([&] { return made_with_experts(family, remat); }, batch,
                       {.total_steps = kExpertSteps,
                        .lanes = 2,
                        .dropout = false,
                        .graphs = graphs,
                        .loss = {.compute = core::DType::bf16, .z_loss = 1e-4}}) {}
};

// A lane is one launch, and the host waits for the numbers of a step alone.
void expect_same_bits_by_graphs(const std::string& family, bool remat,
                                decltype(experts_batch) batch = experts_batch) {
  SCOPED_TRACE(family);
  const ExpertTraining graphs(family, true, remat, batch), one_by_one(family, false, remat, batch);
  for (std::int64_t step = 0; step < kExpertSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    fake_device::reset();
    const auto got = graphs.trainer->step();
    EXPECT_LE(fake_device::counts().synchronizations, 1);
    if (step >= 2) {
      EXPECT_EQ(expert_operations("graph"), 2) << "a launch a lane";
    }
    fake_device::reset();
    const auto want = one_by_one.trainer->step();
    EXPECT_LE(fake_device::counts().synchronizations, 1);
    // of two lanes and two layers: three maps, the gradients of their inputs and weights
    EXPECT_EQ(expert_operations("aten::_grouped_mm"), 2 * 2 * 3 * (remat ? 4 : 3));
    EXPECT_EQ(expert_operations("slots.plan"), 2 * 2 * (remat ? 2 : 1));
    EXPECT_EQ(got.loss, want.loss);
    ASSERT_EQ(graphs.values(), one_by_one.values());
  }
}

TEST(ExpertsOnADevice, ByGraphs) {
  for (const char* family : kFamilies) expect_same_bits_by_graphs(family, false);
}
TEST(ExpertsOnADevice, ByGraphsWithRemat) {
  for (const char* family : kFamilies) expect_same_bits_by_graphs(family, true);
}

TEST(ExpertsOnADevice, ByGraphsWithPadding) {
  for (const char* family : kFamilies) expect_same_bits_by_graphs(family, false, padded_experts_batch);
}

struct OfAPass {
  double loss = 0;
  std::vector<std::vector<float>> gradients;
};
OfAPass pass_with_experts(const std::string& family, core::Device device, bool loop) {
  const core::DeviceScope scope(device);
  const auto model = made_with_experts(family, false);
  const auto parameters = model->parameters();
  std::vector<core::Array*> arrays;
  for (const auto& p : parameters) arrays.push_back(p.array);
  const auto batch = experts_batch(0);
  static constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{batch.sequences, batch.seq_len};
  const core::Shape shape{names, sizes};
  const nn::TokenBatch tokens{core::from_data(shape, std::span<const std::int32_t>(batch.tokens)),
                              core::from_data(shape, std::span<const std::int32_t>(batch.targets)),
                              core::from_data(shape, std::span<const float>(batch.loss_weights)),
                              {}};
  std::optional<core::RowsApart> apart;  // in which experts are computed one by one
  if (loop) apart.emplace(1);
  const core::CastOnceScope once(parameters);
  const auto result = core::value_and_grad(
      arrays, [&] { return model->objective(tokens, std::nullopt, {.compute = core::DType::bf16}).loss; });
  OfAPass out{.loss = result.value.to_vector<float>()[0]};
  for (const auto& g : result.gradients) out.gradients.push_back(g.to_vector<float>());
  return out;
}

// The largest difference of a gradient, of its norm.
double apart_by(const OfAPass& got, const OfAPass& want) {
  double most = std::abs(got.loss - want.loss) / want.loss;
  for (std::size_t i = 0; i < want.gradients.size(); ++i) {
    double difference = 0, norm = 0;
    for (std::size_t j = 0; j < want.gradients[i].size(); ++j) {
      difference += std::pow(got.gradients[i][j] - want.gradients[i][j], 2);
      norm += std::pow(want.gradients[i][j], 2);
    }
    if (!(difference <= most * most * norm)) most = std::sqrt(difference / norm);
  }
  return most;
}

TEST(ExpertsOnADevice, GradientsAreThoseOfAProductForEach) {
  for (const char* family : kFamilies) {
    SCOPED_TRACE(family);
    fake_device::reset();
    const auto got = pass_with_experts(family, kOnTest, false);
    EXPECT_EQ(expert_operations("aten::_grouped_mm"), 2 * 3 * 3);
    fake_device::reset();
    const auto loop = pass_with_experts(family, kOnTest, true);
    EXPECT_EQ(expert_operations("aten::_grouped_mm"), 0);
    EXPECT_LT(apart_by(got, loop), 0.005);
    EXPECT_LT(apart_by(got, pass_with_experts(family, core::Device(), true)), 0.04);
  }
}

}  // namespace
}  // namespace bora

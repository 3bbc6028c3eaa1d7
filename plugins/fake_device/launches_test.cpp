// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// How many operations a layer takes on a device, forward and backward.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/core/cast_once.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/fp8.h"
#include "bora/core/grad.h"
#include "bora/core/parameter_store.h"
#include "bora/core/shard.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/models/mixtral.h"
#include "bora/nn/language_model.h"
#include "fake_device.h"

namespace bora {
namespace {

constexpr core::Device kThere{core::Device::Type::test, 0};
constexpr std::int64_t kWords = 50, kRows2 = 2, kLength = 16;

using ByName = std::map<std::string, std::int64_t>;
using MakeModel = std::function<std::unique_ptr<nn::LanguageModel>(std::int64_t layers)>;

nn::TokenBatch some_tokens() {
  static constexpr std::array<std::string_view, 2> names{"batch", "position"};
  static constexpr std::array<std::int64_t, 2> sizes{kRows2, kLength};
  const core::Shape shape{names, sizes};
  std::vector<std::int32_t> ids, targets, segments;
  for (std::int64_t i = 0; i < kRows2 * kLength; ++i) {
    ids.push_back(static_cast<std::int32_t>(7 * i % kWords));
    targets.push_back(static_cast<std::int32_t>(7 * (i + 1) % kWords));
    segments.push_back(i % kLength < 5 ? 0 : 1);
  }
  const auto made = [&](const std::vector<std::int32_t>& x) {
    return core::from_data(shape, std::span<const std::int32_t>(x));
  };
  return {made(ids), made(targets), core::full(shape, 1.0 / (kRows2 * kLength)),
          core::from_segments(shape, segments)};
}

// A trainer's lane: forward and backward pass. Of the first lane of a step, or of a later one, which finds the
// copies in bf16.
enum class Lane { first, later };
ByName operations_of(const MakeModel& make, std::int64_t layers, core::DType compute, Lane which, bool fp8) {
  const core::DeviceScope scope(kThere);
  const core::Fp8Scope in_fp8(fp8);
  const auto model = make(layers);
  const auto parameters = model->parameters();
  std::vector<core::Array*> arrays;
  for (const auto& p : parameters) arrays.push_back(p.array);
  const auto batch = some_tokens();
  const core::CastOnceScope once(parameters);
  const auto lane = [&] {
    (void)core::value_and_grad(arrays, [&] {
      return model->objective(batch, std::nullopt, {.compute = compute, .z_loss = 1e-4}).loss;
    });
  };
  if (which == Lane::later) lane();
  fake_device::reset();
  lane();
  return fake_device::operations_by_name();
}

// On a GPU: sums over rows take two kernels (plugins/cuda/kernels/norm_test.cpp counts them), and FlashAttention
// backward clears its sums, multiplies gradients and results, computes, and rounds the gradient of queries.
std::int64_t kernels_of(const std::string& name) {
  if (name == "aten::_flash_attention_backward") return 4;
  return name.ends_with("norm.backward") ? 2 : 1;
}

struct Count {
  std::int64_t operations = 0, kernels = 0;
  std::string table;
  ByName by_name;
};
// What the third layer adds.
Count of_a_layer(const MakeModel& make, core::DType compute, Lane lane, bool fp8 = false) {
  const auto three = operations_of(make, 3, compute, lane, fp8);
  auto two = operations_of(make, 2, compute, lane, fp8);
  Count count;
  for (const auto& [name, n] : three) {
    const auto added = n - two[name];
    count.operations += added;
    count.by_name[name] = added;
    count.kernels += added * kernels_of(name);
    if (added != 0) count.table += fmt::format("{:4} {}\n", added, name);
  }
  return count;
}

// The bar is 30 in bf16; what is reached is what must not grow.
void expect_at_most(std::int64_t most_f32, std::int64_t most_bf16, const MakeModel& make) {
  for (const auto lane : {Lane::first, Lane::later}) {
    const auto wide = of_a_layer(make, core::DType::f32, lane),
               bf16 = of_a_layer(make, core::DType::bf16, lane);
    EXPECT_LE(wide.operations, most_f32) << wide.table;
    EXPECT_LE(bf16.operations, most_bf16) << bf16.table;
    EXPECT_LT(bf16.kernels, 30) << bf16.table;
    EXPECT_GT(bf16.operations, 10) << "they are counted";
  }
}

std::unique_ptr<nn::LanguageModel> layers_of_gpt2(std::int64_t layers) {
  return nn::erase_type(
      gpt2::Gpt2::init({.seq_len = kLength, .hidden_dim = 24, .num_layers = layers, .num_heads = 3},
                       Dim<gpt2::Vocab>{kWords}, Key::from_seed(1)));
}
std::unique_ptr<nn::LanguageModel> layers_of_llama(std::int64_t layers) {
  llama::Config config{
      .seq_len = kLength, .hidden_dim = 48, .intermediate_dim = 40, .num_layers = layers, .num_heads = 6};
  config.num_kv_heads = 3;
  return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kWords}, Key::from_seed(1)));
}

std::unique_ptr<nn::LanguageModel> even_layers_of_gpt2(std::int64_t layers) {
  return nn::erase_type(
      gpt2::Gpt2::init({.seq_len = kLength, .hidden_dim = 32, .num_layers = layers, .num_heads = 4},
                       Dim<gpt2::Vocab>{kWords}, Key::from_seed(1)));
}
std::unique_ptr<nn::LanguageModel> even_layers_of_llama(std::int64_t layers) {
  llama::Config config{
      .seq_len = kLength, .hidden_dim = 32, .intermediate_dim = 64, .num_layers = layers, .num_heads = 4};
  config.num_kv_heads = 2;
  return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kWords}, Key::from_seed(1)));
}

TEST(Launches, OfALayerInFp8) {
  const auto gpt2 = of_a_layer(even_layers_of_gpt2, core::DType::bf16, Lane::later, true),
             llama = of_a_layer(even_layers_of_llama, core::DType::bf16, Lane::later, true);
  EXPECT_LE(gpt2.operations, 39) << gpt2.table;
  EXPECT_LE(llama.operations, 36) << llama.table;
  for (auto count : {gpt2, llama}) {
    EXPECT_EQ(count.by_name["aten::_scaled_mm"], 12) << count.table;
    EXPECT_EQ(count.by_name["narrow8.quantize"], 12) << count.table;
    EXPECT_EQ(count.by_name["narrow8.max_abs"], 2) << "what comes from attention, both ways\n" << count.table;
    EXPECT_EQ(count.by_name["narrow8.of_another_largest"], 0);
  }
}

TEST(Launches, OfALayerOfGpt2) { expect_at_most(24, 22, layers_of_gpt2); }
TEST(Launches, OfALayerOfLlama) { expect_at_most(34, 22, layers_of_llama); }

TEST(Launches, OfALayerOfExperts) {
  const auto make = [](std::int64_t layers) {
    mixtral::Config config;
    config.seq_len = kLength, config.hidden_dim = 32, config.intermediate_dim = 48,
    config.num_layers = layers;
    config.num_heads = 4, config.num_kv_heads = 2, config.n_routed_experts = 4,
    config.num_experts_per_tok = 2;
    return nn::erase_type(mixtral::Mixtral::init(config, Dim<mixtral::Vocab>{kWords}, Key::from_seed(1)));
  };
  auto count = of_a_layer(make, core::DType::bf16, Lane::later);
  EXPECT_EQ(count.by_name["slots.plan"], 1) << count.table;
  EXPECT_LE(count.operations, 129) << count.table;
}

// Parameters that come and go, as sharded ones do: their copies are made block by block, by one kernel, and lie as those
// of all do, so that the same products are computed with the same bits.
TEST(Launches, OfALayerWhoseParametersComeAndGo) {
  struct Store final : core::ParameterStore {
    void created(core::Array&, core::Names) override {}
    void hold(std::span<const core::Array>) override {}
    void need(std::span<const core::Array>) override {}
  } store;
  const core::DeviceScope there(kThere);
  for (const auto& make : {layers_of_gpt2, layers_of_llama}) {
    const auto run = [&](bool stored) {
      const auto model = make(2);
      auto parameters = model->parameters();
      std::vector<core::Array*> arrays;
      for (const auto& p : parameters) arrays.push_back(p.array);
      std::optional<core::ParameterStoreScope> scope;
      std::optional<core::CastOnceScope> once;
      stored ? void(scope.emplace(store)) : void(once.emplace(parameters));
      fake_device::reset();
      const auto result = core::value_and_grad(arrays, [&] {
        return model->objective(some_tokens(), std::nullopt, {.compute = core::DType::bf16}).loss;
      });
      std::vector<std::vector<float>> out;
      for (const auto& g : result.gradients) out.push_back(core::local_vector<float>(g));
      return out;
    };
    const auto whole = run(false);
    auto counted = fake_device::operations_by_name();
    EXPECT_EQ(run(true), whole);
    auto stored = fake_device::operations_by_name();
    EXPECT_EQ(stored["aten::mm"], counted["aten::mm"]);
    EXPECT_EQ(stored["narrow"], 2) << "one of each layer";
  }
}

// As on a GPU: attention by libtorch's ops of FlashAttention.
TEST(Launches, OfALayerWithFlashAttention) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  for (const auto lane : {Lane::first, Lane::later}) {
    const auto gpt2 = of_a_layer(layers_of_gpt2, core::DType::bf16, lane),
               llama = of_a_layer(layers_of_llama, core::DType::bf16, lane);
    for (const auto* count : {&gpt2, &llama})
      EXPECT_THAT(count->table, testing::HasSubstr("1 aten::_flash_attention_backward\n"));
    EXPECT_LE(gpt2.operations, 23) << gpt2.table;
    EXPECT_LE(gpt2.kernels, 28) << gpt2.table;
    EXPECT_LE(llama.operations, 25) << llama.table;
    EXPECT_LE(llama.kernels, 30) << llama.table;
  }
}

TEST(Launches, OfALayerWithPlainAttention) {
  const fake_device::AttentionBy by_plain_ops(fake_device::Attention::plain);
  const auto gpt2 = of_a_layer(layers_of_gpt2, core::DType::bf16, Lane::later),
             llama = of_a_layer(layers_of_llama, core::DType::bf16, Lane::later);
  EXPECT_LE(gpt2.operations, 62) << gpt2.table;
  EXPECT_LE(llama.operations, 60) << llama.table;
}

}  // namespace
}  // namespace bora

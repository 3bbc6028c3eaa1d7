// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Training on a device whose memory the host must not touch: gradients against the CPU's kernels, at every
// step.
#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/grad.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/mapping.h"
#include "bora/core/shard.h"
#include "bora/core/step_ops.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/nn/language_model.h"
#include "fake_device.h"

namespace bora {
namespace {

constexpr core::Device kCpu{}, kTest{core::Device::Type::test, 0};
constexpr std::int64_t kVocab = 50, kBatch = 2, kPositions = 16, kSteps = 20;

nn::TokenBatch batch_of(std::int64_t step) {
  static constexpr std::array<std::string_view, 2> names{"batch", "position"};
  static constexpr std::array<std::int64_t, 2> sizes{kBatch, kPositions};
  const core::Shape shape{names, sizes};
  std::vector<std::int32_t> ids, targets, segments;
  for (std::int64_t i = 0; i < kBatch * kPositions; ++i) {
    ids.push_back(static_cast<std::int32_t>((7 * i + step) % kVocab));
    targets.push_back(static_cast<std::int32_t>((7 * (i + 1) + step) % kVocab));
    segments.push_back(i % kPositions < 5 ? 0 : 1);
  }
  const auto made = [&](const std::vector<std::int32_t>& x) {
    return core::from_data(shape, std::span<const std::int32_t>(x));
  };
  return {made(ids), made(targets), core::full(shape, 1.0 / (kBatch * kPositions)), made(segments)};
}

std::vector<core::Array*> arrays(nn::LanguageModel& model) {
  std::vector<core::Array*> out;
  for (auto& p : model.parameters()) out.push_back(p.array);
  return out;
}

core::ValueAndGrad differentiated(nn::LanguageModel& model, std::int64_t step) {
  const auto parameters = arrays(model);
  return core::value_and_grad(
      parameters, [&] { return model.objective(batch_of(step), std::nullopt, {.z_loss = 1e-4}).loss; });
}

// The largest difference of any gradient, as a part of the largest element of all.
double worst(const std::vector<core::Array>& got, const std::vector<core::Array>& want) {
  double most = 0, wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto a = core::local_vector<double>(got[i]), b = core::local_vector<double>(want[i]);
    for (std::size_t k = 0; k < b.size(); ++k) {
      most = std::max(most, std::abs(b[k]));
      wrong = std::max(wrong, std::abs(a[k] - b[k]));
    }
  }
  return wrong / most;
}

struct Moments {
  core::Array mean, square;
};

// A step of AdamW, all on the device where the parameters are.
void step_on(const std::vector<core::Array*>& parameters, std::vector<Moments>& moments,
             const std::vector<core::Array>& gradients, std::int64_t step) {
  const auto t = static_cast<double>(step + 1);
  const kernels::AdamW rule{.learning_rate = 3e-3F,
                            .beta1 = 0.9F,
                            .beta2 = 0.95F,
                            .epsilon = 1e-8F,
                            .weight_decay = 0.1F,
                            .correction1 = static_cast<float>(1 - std::pow(0.9, t)),
                            .correction2 = static_cast<float>(1 - std::pow(0.95, t)),
                            .gradient_scale = 1};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    core::adamw(rule, *parameters[i], gradients[i], moments[i].mean, moments[i].square);
}

// Trains there; before each step the host computes the same gradients with its kernels, of a copy.
void expect_like_the_cpu(const std::function<std::unique_ptr<nn::LanguageModel>()>& make) {
  const auto here = make();
  const core::DeviceScope scope(kTest);
  const auto there = make();
  const auto parameters = arrays(*there), copies = arrays(*here);
  std::vector<Moments> moments;
  for (const auto& p : there->parameters()) {
    const auto sizes = p.array->sizes();
    moments.push_back({core::zeros({p.axes, sizes}), core::zeros({p.axes, sizes})});
  }
  double first = 0, last = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < copies.size(); ++i) *copies[i] = core::to(*parameters[i], kCpu).clone();
    fake_device::reset();
    const auto got = differentiated(*there, step);
    step_on(parameters, moments, got.gradients, step);
    last = got.value.item();
    EXPECT_LE(fake_device::counts().synchronizations, 1) << "step " << step;
    if (step == 0) first = last;
    const core::DeviceScope on_host(kCpu);
    const auto want = differentiated(*here, step);
    EXPECT_NEAR(last, want.value.item(), 5e-6 * std::abs(last)) << "step " << step;
    EXPECT_LE(worst(got.gradients, want.gradients), 5e-6) << "step " << step;
  }
  EXPECT_LT(last, first - 0.5) << "it learns";
}

TEST(TrainingOnTheFakeDevice, OfGpt2) {
  expect_like_the_cpu([] {
    return nn::erase_type(
        gpt2::Gpt2::init({.seq_len = kPositions, .hidden_dim = 24, .num_layers = 2, .num_heads = 3},
                         Dim<gpt2::Vocab>{kVocab}, Key::from_seed(1)));
  });
}

TEST(TrainingOnTheFakeDevice, OfLlama) {
  expect_like_the_cpu([] {
    llama::Config config{
        .seq_len = kPositions, .hidden_dim = 24, .intermediate_dim = 40, .num_layers = 2, .num_heads = 6};
    config.num_kv_heads = 3;
    return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kVocab}, Key::from_seed(1)));
  });
}

// Sums over ranks go through host memory: the gradients of one rank's shards are those of the CPU's kernels.
TEST(TrainingOnTheFakeDevice, OfRanksThatShareALane) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [](mesh::Communicator& all) {
    const std::vector<core::AxisRule> rules{{"mlp", "model"}, {"heads", "model"}};
    const mesh::Mesh mesh(mesh::testing::borrowed(all), {.model = 2}, {rules, rules});
    const core::MappingScope mapped(mesh.mapping());
    const auto on = [](core::Device device) {
      const core::DeviceScope scope(device);
      const auto model = nn::erase_type(
          gpt2::Gpt2::init({.seq_len = kPositions, .hidden_dim = 24, .num_layers = 2, .num_heads = 4},
                           Dim<gpt2::Vocab>{kVocab}, Key::from_seed(1)));
      return differentiated(*model, 0);
    };
    const auto want = on(kCpu), got = on(kTest);
    EXPECT_EQ(core::device_of(got.gradients[0]), kTest);
    EXPECT_NEAR(got.value.item(), want.value.item(), 5e-6 * want.value.item());
    EXPECT_LE(worst(got.gradients, want.gradients), 5e-6);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

}  // namespace
}  // namespace bora

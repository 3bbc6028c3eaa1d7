// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The trainer with its optimizer, lanes and clipping on a device whose memory the host must not touch: each
// step against the same one on the CPU, and how often the host waits.
#include "bora/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/host_view.h"
#include "bora/core/step_ops.h"
#include "bora/core/update.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/nn/language_model.h"
#include "bora/optim/adam.h"
#include "fake_device.h"

namespace bora {
namespace {

constexpr core::Device kHost{}, kFake{core::Device::Type::test, 0};
constexpr std::int64_t kTrainVocab = 50, kRows = 4, kTrainPositions = 16, kTrainSteps = 20;

data::Batch train_batch(std::int64_t step) {
  data::Batch batch{.step = step, .sequences = kRows, .seq_len = kTrainPositions};
  for (std::int64_t i = 0; i < kRows * kTrainPositions; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>((7 * i + step) % kTrainVocab));
    batch.segments.push_back(i % kTrainPositions < 5 ? 0 : 1);
    batch.loss_weights.push_back(i % kTrainPositions == kTrainPositions - 1 ? 0.F : 1.F);
  }
  data::set_next_token_targets(batch);
  return batch;
}

// A model with its trainer, all on one device.
struct Training {
  Training(const std::function<std::unique_ptr<nn::LanguageModel>()>& make, core::Device on,
           core::DType compute = core::DType::f32)
      : device(on), scope(on), model(make()), optimizer(config(), model->parameters()) {
    trainer = std::make_unique<train::Trainer>(
        train::Trainer::Parts{.model = *model,
                              .optimizer = optimizer,
                              .schedule = optim::Schedule(config(), kTrainSteps),
                              .skip_step = optim::SkipStep(optim::SkipStepConfig{}),
                              .batch_of = train_batch,
                              .should_stop = {},
                              .hooks = {}},
        train::TrainerOptions{
            .total_steps = kTrainSteps, .lanes = 2, .loss = {.compute = compute, .z_loss = 1e-4}});
  }

  // Gradients that are zero but for rounding, as those of a bias of keys, are far below this epsilon: Adam
  // would make whole steps of them.
  static optim::AdamConfig config() {
    optim::AdamConfig config;
    config.learning_rate = 1e-2;
    config.warmup = 0;
    config.epsilon = 1e-3;
    config.weight_decay = 0.1;
    config.max_grad_norm = 0.5;
    return config;
  }

  train::StepResult step() const {
    const core::DeviceScope here(device);
    return trainer->step();
  }
  // Parameters, then the optimizer's moments.
  std::vector<core::Array> arrays() const {
    std::vector<core::Array> out;
    for (const auto& p : model->parameters()) out.push_back(*p.array);
    for (const auto& s : optimizer.state()) out.push_back(s.array);
    return out;
  }

  core::Device device;
  core::DeviceScope scope;
  std::unique_ptr<nn::LanguageModel> model;
  optim::Adam optimizer;
  std::unique_ptr<train::Trainer> trainer;
};

void copy_values(const Training& from, const Training& to) {
  const auto a = from.arrays(), b = to.arrays();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto values = a[i].to_vector<float>();
    std::copy(values.begin(), values.end(), b[i].data<float>());
  }
}

// The largest difference, as a part of the largest element of arrays [first, last).
double worst(const Training& got, const Training& want, std::size_t first, std::size_t last) {
  const auto a = got.arrays(), b = want.arrays();
  double most = 0, wrong = 0;
  for (std::size_t i = first; i < last; ++i) {
    const auto x = a[i].to_vector<double>(), y = b[i].to_vector<double>();
    for (std::size_t k = 0; k < y.size(); ++k) {
      most = std::max(most, std::abs(y[k]));
      wrong = std::max(wrong, std::abs(x[k] - y[k]));
    }
  }
  return wrong / most;
}

// Before each step the host gets the device's values, so that differences do not add up.
void expect_steps_as_on_the_cpu(const std::function<std::unique_ptr<nn::LanguageModel>()>& make) {
  const Training here(make, kHost), there(make, kFake);
  const std::size_t n = here.model->parameters().size();
  double first = 0, last = 0;
  bool clipped = false;
  for (std::int64_t step = 0; step < kTrainSteps; ++step) {
    copy_values(there, here);
    fake_device::reset();
    const auto got = there.step();
    EXPECT_LE(fake_device::counts().synchronizations, 1) << "step " << step;
    EXPECT_EQ(fake_device::counts().uploads, 10)
        << "of two lanes, each a batch of four and where documents begin";
    EXPECT_GT(fake_device::counts().operations, 0);
    const auto want = here.step();
    EXPECT_NEAR(got.loss, want.loss, 5e-6 * want.loss) << "step " << step;
    EXPECT_NEAR(got.gradient_norm, want.gradient_norm, 5e-6 * want.gradient_norm) << "step " << step;
    EXPECT_NEAR(got.clip_factor, want.clip_factor, 5e-6) << "step " << step;
    EXPECT_EQ(got.weight, want.weight);
    EXPECT_EQ(got.skipped, want.skipped);
    EXPECT_LE(worst(there, here, 0, n), 5e-6) << "parameters, step " << step;
    EXPECT_LE(worst(there, here, n, 2 * n), 5e-6) << "means of gradients, step " << step;
    EXPECT_LE(worst(there, here, 2 * n, 3 * n), 1e-5) << "means of squares, step " << step;
    clipped = clipped || got.clip_factor < 1;
    if (step == 0) first = got.loss;
    last = got.loss;
  }
  EXPECT_TRUE(clipped);
  EXPECT_LT(last, first - 0.2) << "it learns";
}

std::unique_ptr<nn::LanguageModel> gpt2_model() {
  return nn::erase_type(
      gpt2::Gpt2::init({.seq_len = kTrainPositions, .hidden_dim = 24, .num_layers = 2, .num_heads = 3},
                       Dim<gpt2::Vocab>{kTrainVocab}, Key::from_seed(1)));
}

TEST(TrainerOnTheFakeDevice, OfGpt2) { expect_steps_as_on_the_cpu(gpt2_model); }

std::unique_ptr<nn::LanguageModel> llama_model() {
  llama::Config config{
      .seq_len = kTrainPositions, .hidden_dim = 48, .intermediate_dim = 40, .num_layers = 2, .num_heads = 6};
  config.num_kv_heads = 3;
  return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kTrainVocab}, Key::from_seed(1)));
}

TEST(TrainerOnTheFakeDevice, OfLlama) { expect_steps_as_on_the_cpu(llama_model); }

// Passes in bf16: parameters and moments stay fp32 and hold what bf16 cannot, the loss is the CPU's within the
// rounding of bf16, the bits are the same on repetition, and the host waits no more often.
void expect_steps_in_bf16(const std::function<std::unique_ptr<nn::LanguageModel>()>& make) {
  const Training here(make, kHost, core::DType::bf16), there(make, kFake, core::DType::bf16),
      again(make, kFake, core::DType::bf16), wide(make, kFake);
  double first = 0, last = 0, lost = 0;
  for (std::int64_t step = 0; step < kTrainSteps; ++step) {
    copy_values(there, here);
    fake_device::reset();
    const auto got = there.step();
    EXPECT_LE(fake_device::counts().synchronizations, 1) << "step " << step;
    auto by_name = fake_device::operations_by_name();
    for (const char* once : {"max_abs", "square_numbers", "adamw"})
      EXPECT_EQ(by_name[once], 1) << once << ": of all parameters at once, step " << step;
    EXPECT_EQ(by_name["narrow"], step == 0 ? 1 : 0) << "then AdamW writes the copies, step " << step;
    const auto want = here.step();
    EXPECT_NEAR(got.loss, want.loss, 4e-3 * want.loss) << "step " << step;
    EXPECT_NEAR(got.gradient_norm, want.gradient_norm, 2e-2 * want.gradient_norm) << "step " << step;
    EXPECT_EQ(again.step().loss, got.loss) << "step " << step;
    lost = std::max(lost, std::abs(wide.step().loss - got.loss));
    if (step == 0) first = got.loss;
    last = got.loss;
  }
  EXPECT_LT(last, first - 0.2) << "it learns";
  EXPECT_GT(lost, 0) << "the passes are in bf16";
  const auto arrays = there.arrays(), same = again.arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(arrays[i].dtype(), core::DType::f32) << i;
    EXPECT_EQ(arrays[i].to_vector<float>(), same[i].to_vector<float>()) << i;
  }
  const auto axes = there.model->parameters()[0].axes;
  const auto rounded = core::cast({arrays[0], axes}, core::DType::bf16);
  EXPECT_NE(rounded.to_vector<float>(), arrays[0].to_vector<float>());
}

TEST(TrainerOnTheFakeDevice, OfGpt2InBf16) { expect_steps_in_bf16(gpt2_model); }
TEST(TrainerOnTheFakeDevice, OfLlamaInBf16) { expect_steps_in_bf16(llama_model); }

// Copies that AdamW has written are those that would be made of its parameters; who else changes these, has them made anew.
TEST(TrainerOnTheFakeDevice, CopiesInBf16AreThoseOfTheParameters) {
  const Training kept(gpt2_model, kFake, core::DType::bf16), anew(gpt2_model, kFake, core::DType::bf16);
  const core::DeviceScope here(kFake);
  const auto narrowed = [](const Training& training) {
    fake_device::reset();
    training.step();
    return fake_device::operations_by_name()["narrow"];
  };
  for (std::int64_t step = 0; step < 4; ++step) {
    for (const auto& p : anew.model->parameters()) *p.array = p.array->clone();
    EXPECT_EQ(narrowed(anew), 1);
    EXPECT_EQ(narrowed(kept), step == 0 ? 1 : 0);
    const auto a = kept.arrays(), b = anew.arrays();
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>()) << i << ", step " << step;
  }
  auto& weight = *kept.model->parameters()[0].array;
  const core::Array before = weight.clone();
  const auto changes = [&](const char* how) {
    EXPECT_EQ(narrowed(kept), 1) << how;
    EXPECT_EQ(narrowed(kept), 0) << how;
  };
  core::add_scaled(weight, 0.5F, before);
  changes("by an operation of libtorch");
  core::copy_into(weight, before);
  changes("apart from what is recorded");
  core::HostView(weight, core::HostView::Use::update).floats()[3] = 0.25F;
  changes("by the host");
  const auto sizes = before.sizes();
  const auto axes = kept.model->parameters()[0].axes;
  const core::Shape shape{axes, sizes};
  core::Array gradient = before.clone(), mean = core::zeros(shape), square = core::zeros(shape);
  core::adamw({.learning_rate = 1e-3F,
               .beta1 = 0.9F,
               .beta2 = 0.9F,
               .epsilon = 1,
               .weight_decay = 0,
               .correction1 = 1,
               .correction2 = 1,
               .gradient_scale = 1},
              weight, gradient, mean, square);
  changes("by a kernel that writes no copy");
}

// As on a GPU; its documents are known without a wait.
TEST(TrainerOnTheFakeDevice, InBf16WithFlashAttention) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  for (const auto& make : {gpt2_model, llama_model}) {
    expect_steps_in_bf16(make);
    const Training there(make, kFake, core::DType::bf16);
    fake_device::reset();
    there.step();
    auto by_name = fake_device::operations_by_name();
    EXPECT_EQ(by_name["aten::_flash_attention_forward"], 4) << "two lanes of two layers";
    EXPECT_EQ(by_name["aten::_flash_attention_backward"], 4);
    EXPECT_EQ(by_name["aten::softmax"] + by_name["aten::_softmax"], 0);
  }
}

// A bad step is found among the same numbers, and leaves everything as it was.
TEST(TrainerOnTheFakeDevice, RefusesAStepThatIsNotFinite) {
  const Training there(gpt2_model, kFake);
  there.step();
  const core::DeviceScope here(kFake);
  auto& parameter = *there.model->parameters()[0].array;
  const core::Array good = parameter;
  auto values = good.to_vector<float>();
  values[7] = std::numeric_limits<float>::infinity();
  const auto axes = there.model->parameters()[0].axes;
  parameter = core::from_data({axes, good.sizes()}, std::span<const float>(values));
  const auto before = there.optimizer.state()[0].array.to_vector<float>();
  try {
    there.trainer->step();
    FAIL() << "a step from an infinite weight";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NonFinite);
    EXPECT_NE(std::string(e.what()).find("the first bad tensor is the parameter "), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(there.optimizer.state()[0].array.to_vector<float>(), before);
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A small training on the device of the tests, whose steps are compared with those of another.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bora/core/device.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/nn/language_model.h"
#include "bora/optim/adam.h"
#include "bora/train/trainer.h"

namespace bora {

inline constexpr core::Device kOnTest{core::Device::Type::test, 0};
inline constexpr std::int64_t kGraphWords = 50, kGraphLength = 16, kGraphSteps = 8;

struct GraphCase {
  std::string model;
  core::DType compute = core::DType::f32;
  std::int64_t lanes = 2;
  bool segments = true, remat = false, dropout = true, fp8 = false;
  std::int64_t small_step = -1;  // whose batch has fewer sequences
  std::string policy = "full";   // with remat
  std::int64_t layers = 2, sequences = 8;
};

inline data::Batch graph_batch(const GraphCase& c, std::int64_t step) {
  data::Batch batch{.step = step,
                    .sequences = step == c.small_step ? c.sequences / 2 : c.sequences,
                    .seq_len = kGraphLength};
  for (std::int64_t i = 0; i < batch.sequences * kGraphLength; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>((7 * i + i / 3 + 5 * step) % kGraphWords));
    if (c.segments) batch.segments.push_back(i % kGraphLength < 3 + (step + i / kGraphLength) % 9 ? 0 : 1);
    batch.loss_weights.push_back(i % kGraphLength == kGraphLength - 1 ? 0.F : 1.F);
  }
  data::set_next_token_targets(batch);
  return batch;
}

inline std::unique_ptr<nn::LanguageModel> graph_model(const GraphCase& c) {
  if (c.model == "gpt2") {
    gpt2::Config config{.seq_len = kGraphLength, .hidden_dim = 24, .num_layers = c.layers, .num_heads = 3};
    if (c.remat) config.gradient_checkpointing = nn::RematPolicy::parse(c.policy);
    if (c.dropout) config.embed_pdrop = config.attn_pdrop = config.resid_pdrop = 0.1;
    return nn::erase_type(gpt2::Gpt2::init(config, Dim<gpt2::Vocab>{kGraphWords}, Key::from_seed(1)));
  }
  llama::Config config{.seq_len = kGraphLength,
                       .hidden_dim = 48,
                       .intermediate_dim = 40,
                       .num_layers = c.layers,
                       .num_heads = 6};
  config.num_kv_heads = 3;
  if (c.remat) config.gradient_checkpointing = nn::RematPolicy::parse(c.policy);
  return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kGraphWords}, Key::from_seed(1)));
}

// A model that is made and trained on the device.
struct DeviceTraining {
  using Model = std::unique_ptr<nn::LanguageModel>;
  DeviceTraining(const std::function<Model()>& make, std::function<data::Batch(std::int64_t step)> batch_of,
                 const train::TrainerOptions& options)
      : scope(kOnTest), model(make()), optimizer(config(), model->parameters()) {
    trainer = std::make_unique<train::Trainer>(
        train::Trainer::Parts{.model = *model,
                              .optimizer = optimizer,
                              .schedule = optim::Schedule(config(), options.total_steps),
                              .skip_step = {},
                              .batch_of = std::move(batch_of),
                              .should_stop = {},
                              .hooks = {}},
        options);
  }
  static optim::AdamConfig config() {
    optim::AdamConfig config;
    config.learning_rate = 1e-2;
    config.warmup = 0;
    config.weight_decay = 0.1;
    config.max_grad_norm = 0.5;
    return config;
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> out;
    for (const auto& p : model->parameters()) out.push_back(p.array->to_vector<float>());
    for (const auto& s : optimizer.state()) out.push_back(s.array.to_vector<float>());
    return out;
  }

  core::DeviceScope scope;
  Model model;
  optim::Adam optimizer;
  std::unique_ptr<train::Trainer> trainer;
};

struct GraphTraining : DeviceTraining {
  GraphTraining(const GraphCase& c, bool graphs)
      : DeviceTraining([&] { return graph_model(c); },
                       [c](std::int64_t step) { return graph_batch(c, step); },
                       {.total_steps = kGraphSteps,
                        .lanes = c.lanes,
                        .dropout = c.dropout && c.model == "gpt2",
                        .fp8 = c.fp8,
                        .graphs = graphs,
                        .loss = {.compute = c.compute, .z_loss = 1e-4}}) {}
};

}  // namespace bora

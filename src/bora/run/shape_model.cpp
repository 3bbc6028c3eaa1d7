// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/shape_model.h"

#include "bora/core/parameter_store.h"
#include "bora/models/add_model.h"
#include "bora/optim/add_optimizer.h"
#include "bora/optim/weight_decay.h"

namespace bora::run {
namespace {

// Takes every value away as soon as it could be there.
class NoValues final : public core::ParameterStore {
 public:
  bool shapes_only() const override { return true; }
  void created(core::Array& parameter, core::Names) override { core::drop_values(parameter); }
  void hold(std::span<const core::Array>) override {}
  void need(std::span<const core::Array>) override {}
};

// 2 billion layers, by a slip of the hand, are an error of a size, to be told before memory ends.
bool can_be_made(const LmConfig& config, std::int64_t vocab) {
  constexpr std::int64_t kMostLayers = 10'000;
  return config.model.config->shape(vocab).layers <= kMostLayers;
}

}  // namespace

void with_shape_model(const LmConfig& config, std::int64_t vocab,
                      const std::function<void(nn::LanguageModel&)>& use) {
  NoValues nowhere;
  const core::ParameterStoreScope scope(nowhere);
  const auto model = models::make_model(*config.model.config, vocab, Key::from_seed(0));
  choose_trained(*model, config);
  use(*model);
}

Json described(const models::ModelConfig& config, std::int64_t vocab) {
  NoValues nowhere;
  const core::ParameterStoreScope scope(nowhere);
  return models::make_model(config, vocab, Key::from_seed(0))->hf_config();
}

std::unique_ptr<optim::Optimizer> shape_optimizer(const LmConfig& config, nn::LanguageModel& model) {
  return optim::make_optimizer(config.optimizer, core::trainable_parameters(model.parameters()));
}

std::set<std::string, std::less<>> axes_of_parameters(const LmConfig& config, std::int64_t vocab) {
  std::set<std::string, std::less<>> out;
  if (!can_be_made(config, vocab)) return out;
  with_shape_model(config, vocab, [&](auto& model) {
    for (const auto& p : model.parameters()) out.insert(p.axes.begin(), p.axes.end());
  });
  return out;
}

std::string describe_decay(const LmConfig& config, std::int64_t vocab) {
  std::string out;
  if (config.optimizer->weight_decay_modules.index() == 0 || !can_be_made(config, vocab)) return out;
  with_shape_model(config, vocab, [&](auto& model) {
    out = optim::describe_decay(*config.optimizer.config, core::trainable_parameters(model.parameters()));
  });
  return out;
}

double bytes_of(const optim::NamedArray& state) {
  return static_cast<double>(state.array.numel()) * static_cast<double>(core::bytes(state.array.dtype()));
}

std::optional<double> bytes_of_state(const LmConfig& config, std::int64_t vocab) {
  if (!can_be_made(config, vocab)) return std::nullopt;
  double out = 0;
  with_shape_model(config, vocab, [&](auto& model) {
    for (const auto& state : shape_optimizer(config, model)->state()) out += bytes_of(state);
  });
  return out;
}

ParameterCounts count_parameters(const LmConfig& config, std::int64_t vocab) {
  ParameterCounts out;
  out.all = out.trained = config.model.config->parameter_count(vocab);
  if ((!config.lora && config.trainer.freeze.empty()) || !can_be_made(config, vocab)) return out;
  with_shape_model(config, vocab, [&](auto& model) { out = count_parameters(model.parameters()); });
  return out;
}

}  // namespace bora::run

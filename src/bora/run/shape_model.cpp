// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/shape_model.h"

#include "bora/core/parameter_store.h"
#include "bora/models/add_model.h"

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

}  // namespace

void with_shape_model(const LmConfig& config, std::int64_t vocab,
                      const std::function<void(nn::LanguageModel&)>& use) {
  NoValues nowhere;
  const core::ParameterStoreScope scope(nowhere);
  const auto model = models::make_model(*config.model.config, vocab, Key::from_seed(0));
  choose_trained(*model, config);
  use(*model);
}

ParameterCounts count_parameters(const LmConfig& config, std::int64_t vocab) {
  ParameterCounts out;
  out.all = out.trained = config.model.config->parameter_count(vocab);
  if (!config.lora && config.trainer.freeze.empty()) return out;
  with_shape_model(config, vocab, [&](auto& model) { out = count_parameters(model.parameters()); });
  return out;
}

}  // namespace bora::run

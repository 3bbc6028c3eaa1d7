// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/sgd.h"

#include "bora/core/step_ops.h"
#include "bora/core/update.h"
#include "bora/optim/step_parts.h"
#include "bora/optim/weight_decay.h"

namespace bora::optim {
Sgd::Sgd(const Config& config, std::span<const core::Parameter> parameters) : config_(config) {
  const auto decays = weight_decay_mask(config, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& p = parameters[i];
    slots_.push_back({p.id, p.path, p.axes, zeros_like(p, config.state_dtype), decays[i]});
  }
}

StepReport Sgd::step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                     const StepInfo& info) {
  std::vector<StateOf> made_for;
  for (const Slot& slot : slots_) made_for.push_back({slot.path, slot.momentum.numel()});
  require_parameters("sgd", made_for, parameters, gradients);
  const StepReport report = clipped(gradients, info, config_.max_grad_norm);
  const auto rate = static_cast<float>(info.learning_rate), momentum = static_cast<float>(config_.momentum),
             scale = static_cast<float>(info.gradient_scale * report.clip_factor);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    core::Array& p = *parameters[i].array;
    const core::Array& gradient = gradients[i];  // empty: zeros
    const float decay = slot.decays ? static_cast<float>(config_.weight_decay) : 0;
    const bool narrow = config_.state_dtype != core::DType::f32;
    core::Array m = narrow ? zeros_like(parameters[i]) : slot.momentum;
    if (narrow) core::copy_into(m, slot.momentum);
    core::add_scaled(m, gradient.empty() ? 0 : scale, gradient.empty() ? m : gradient, momentum);
    core::add_scaled(p, config_.nesterov ? -rate * momentum : -rate, m, 1 - rate * decay);
    if (config_.nesterov && !gradient.empty()) core::add_scaled(p, -rate * scale, gradient);
    if (narrow) core::by_chance(slot.momentum, m, rounding(parameters[i], i, info));
  }
  return report;
}

std::vector<NamedArray> Sgd::state() const {
  std::vector<NamedArray> out;
  for (const Slot& slot : slots_)
    out.push_back({"momentum/" + slot.path, slot.names, slot.momentum, StateLayout::like(slot.id)});
  return out;
}

Json Sgd::save_state() const { return {{"type", "sgd"}}; }

void Sgd::load_state(const Json&, std::int64_t) {}

}  // namespace bora::optim

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/sgd.h"

#include "bora/core/create.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/optim/step_parts.h"
#include "bora/optim/weight_decay.h"

namespace bora::optim {
namespace {

struct Factors {
  float learning_rate, momentum, weight_decay, gradient_scale;
  bool nesterov;
};

// Without a gradient (null) it counts as zeros.
void update(std::int64_t n, const Factors& f, float* p, const float* gradient, float* momentum) {
  kernels::for_chunks(n, kernels::reduce_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float g = gradient == nullptr ? 0 : gradient[i] * f.gradient_scale;
      momentum[i] = f.momentum * momentum[i] + g;
      const float u = f.nesterov ? g + f.momentum * momentum[i] : momentum[i];
      p[i] -= f.learning_rate * (u + f.weight_decay * p[i]);
    }
  });
}

}  // namespace

Sgd::Sgd(const Config& config, std::span<const core::Parameter> parameters) : config_(config) {
  const auto decays = weight_decay_mask(config, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& p = parameters[i];
    slots_.push_back({p.path, p.axes, core::zeros({p.axes, p.array->sizes()}), decays[i]});
  }
}

StepReport Sgd::step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                     const StepInfo& info) {
  std::vector<StateOf> made_for;
  for (const Slot& slot : slots_) made_for.push_back({slot.path, slot.momentum.numel()});
  require_parameters("sgd", made_for, parameters, gradients);
  const StepReport report = clipped(gradients, info, config_.max_grad_norm);
  Factors f{.learning_rate = static_cast<float>(info.learning_rate),
            .momentum = static_cast<float>(config_.momentum),
            .weight_decay = 0,
            .gradient_scale = static_cast<float>(info.gradient_scale * report.clip_factor),
            .nesterov = config_.nesterov};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    f.weight_decay = slots_[i].decays ? static_cast<float>(config_.weight_decay) : 0;
    const float* gradient = gradients[i].empty() ? nullptr : gradients[i].data<float>();
    update(slots_[i].momentum.numel(), f, parameters[i].array->data<float>(), gradient,
           slots_[i].momentum.data<float>());
  }
  return report;
}

std::vector<NamedArray> Sgd::state() const {
  std::vector<NamedArray> out;
  for (const Slot& slot : slots_) out.push_back({"momentum/" + slot.path, slot.names, slot.momentum});
  return out;
}

Json Sgd::save_state() const { return {{"type", "sgd"}}; }

void Sgd::load_state(const Json&, std::int64_t) {}

}  // namespace bora::optim

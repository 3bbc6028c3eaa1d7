// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/adam.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/step_ops.h"
#include "bora/optim/clip.h"
#include "bora/optim/step_parts.h"
#include "bora/optim/weight_decay.h"

namespace bora::optim {
namespace {

// A gradient that was never written counts as zeros, so that moments decay as they should.
core::Array or_zeros(const core::Array& gradient, const core::Parameter& p) {
  return gradient.empty() ? zeros_like(p) : gradient;
}

}  // namespace

struct Adam::Factors {
  kernels::AdamW kernel;
  double learning_rate;
  float weight_decay;  // of parameters that decay
};

Adam::Adam(const Config& config, std::span<const core::Parameter> parameters)
    : config_(config),
      update_norms_(config.clip_update_norm.value_or(UpdateClipConfig{}).rolling_interval_length) {
  const auto decays = weight_decay_mask(config, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const core::Parameter& p = parameters[i];
    slots_.push_back({p.id, p.path, p.axes, zeros_like(p, config.state_dtype),
                      zeros_like(p, config.state_dtype), decays[i]});
  }
}

Adam::Factors Adam::factors(const StepInfo& info, double clip) const {
  const auto t = static_cast<double>(updates_ + 1);
  const double peak = config_.learning_rate;
  const double adamc = config_.adamc_weight_decay && peak > 0 ? info.learning_rate / peak : 1;
  kernels::AdamW kernel{};
  kernel.learning_rate = static_cast<float>(info.learning_rate);
  kernel.beta1 = static_cast<float>(config_.beta1);
  kernel.beta2 = static_cast<float>(config_.beta2);
  kernel.epsilon = static_cast<float>(config_.epsilon);
  kernel.correction1 = static_cast<float>(1 - std::pow(config_.beta1, t));
  kernel.correction2 = static_cast<float>(1 - std::pow(config_.beta2, t));
  kernel.gradient_scale = static_cast<float>(info.gradient_scale * clip);
  kernel.nesterov = config_.nesterov;
  kernel.correction1_next = static_cast<float>(1 - std::pow(config_.beta1, t + 1));
  return {kernel, info.learning_rate, static_cast<float>(config_.weight_decay * adamc)};
}

StepReport Adam::step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                      const StepInfo& info) {
  std::vector<StateOf> made_for;
  for (const Slot& slot : slots_) made_for.push_back({slot.path, slot.mean.numel()});
  require_parameters("adam", made_for, parameters, gradients);
  StepReport report = clipped(gradients, info, config_.max_grad_norm);
  const Factors f = factors(info, report.clip_factor);
  roundings_.clear();
  for (std::size_t i = 0; config_.state_dtype != core::DType::f32 && i < parameters.size(); ++i)
    roundings_.push_back(rounding(parameters[i], i, info));
  if (config_.update_rms_clipping || config_.clip_update_norm) {
    report.update_norm = step_clipped(parameters, gradients, f, info.squares);
  } else {
    step_fused(parameters, gradients, f);
  }
  ++updates_;
  return report;
}

void Adam::step_fused(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                      const Factors& f) {
  std::vector<core::Array> filled;
  for (std::size_t i = 0; i < slots_.size(); ++i) filled.push_back(or_zeros(gradients[i], parameters[i]));
  std::vector<core::AdamWArrays> arrays;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    arrays.push_back({*parameters[i].array, filled[i], slots_[i].mean, slots_[i].square,
                      slots_[i].decays ? f.weight_decay : 0, rounding_of(i)});
  }
  core::adamw(f.kernel, arrays);
}

const kernels::Rounding* Adam::rounding_of(std::size_t i) const {
  return roundings_.empty() ? nullptr : &roundings_[i];
}

// The update must be known before it is applied. The fused kernel gives it too: with a rate of -1, no decay
// and a parameter of zero it leaves u in the parameter's place.
core::Array Adam::update_of(std::size_t i, const core::Parameter& parameter, const core::Array& gradient,
                            const Factors& f) {
  core::Array update = zeros_like(parameter);
  kernels::AdamW kernel = f.kernel;
  kernel.learning_rate = -1;
  const core::AdamWArrays one{update, gradient, slots_[i].mean, slots_[i].square, 0, rounding_of(i)};
  core::adamw(kernel, std::span(&one, 1));
  if (slots_[i].decays) core::add_scaled(update, f.weight_decay, *parameter.array);
  return update;
}

double Adam::step_clipped(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                          const Factors& f, const SquaresOf& squares_of) {
  std::vector<core::Array> updates;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    updates.push_back(update_of(i, parameters[i], or_zeros(gradients[i], parameters[i]), f));
  }
  const auto squares = squares_of(updates);
  const double norm = global_norm(squares);
  const double shared = config_.clip_update_norm ? update_factor(norm) : 1;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    double factor = shared;
    if (config_.update_rms_clipping) {
      const auto elements = std::max<std::int64_t>(squares[i].elements, 1);
      const double rms = std::sqrt(squares[i].sum / static_cast<double>(elements));
      factor = clip_factor(rms, config_.update_rms_clipping);
    }
    core::add_scaled(*parameters[i].array, static_cast<float>(-f.learning_rate * factor), updates[i]);
  }
  return norm;
}

// The bound comes from past updates as they were before clipping.
double Adam::update_factor(double norm) {
  const std::int64_t window = config_.clip_update_norm->rolling_interval_length;
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(2, window / 2));
  double factor = 1;
  if (update_norms_.count() >= needed) {
    factor = clip_factor(norm, update_norms_.bound(config_.clip_update_norm->sigma_factor));
  }
  update_norms_.record(norm);
  return factor;
}

std::vector<NamedArray> Adam::state() const {
  std::vector<NamedArray> out;
  for (const Slot& slot : slots_)
    out.push_back({"mu/" + slot.path, slot.names, slot.mean, StateLayout::like(slot.id)});
  for (const Slot& slot : slots_)
    out.push_back({"nu/" + slot.path, slot.names, slot.square, StateLayout::like(slot.id)});
  return out;
}

Json Adam::save_state() const {
  Json state{{"type", "adam"}, {"updates", updates_}};
  if (config_.clip_update_norm) state["update_norms"] = update_norms_.save();
  return state;
}

void Adam::load_state(const Json& state, std::int64_t steps) {
  updates_ = json_get<std::int64_t>(state, "updates", "optimizer");
  if (updates_ < 0 || updates_ > steps)
    fail(ErrorKind::Corruption, "optimizer.updates is {} after {} steps", updates_, steps);
  if (state.contains("update_norms"))
    update_norms_.load(state["update_norms"], "optimizer.update_norms", steps);
}

}  // namespace bora::optim

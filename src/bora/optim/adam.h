// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <vector>

#include "bora/core/whole_index.h"
#include "bora/optim/adam_config.h"
#include "bora/optim/optimizer.h"
#include "bora/optim/rolling_window.h"

namespace bora::optim {

/// AdamW (Loshchilov and Hutter 2019), with Levanter's options: global clipping of gradients (max_grad_norm),
/// NAdamW (nesterov), AdamC (decay times learning rate / peak), clipping of updates per tensor
/// (update_rms_clipping) or by the norms of the last updates (clip_update_norm).
///
///   m = b1·m + (1-b1)·g    v = b2·v + (1-b2)·g²    u = m̂/(√v̂ + eps) + wd·p    p = p - lr·clip(u)
class Adam : public Optimizer {
 public:
  using Config = AdamConfig;

  Adam(const Config& config, std::span<const core::Parameter> parameters);

  StepReport step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                  const StepInfo& info) override;
  std::vector<NamedArray> state() const override;
  Json save_state() const override;
  void load_state(const Json& state, std::int64_t steps) override;

 private:
  struct Slot {  // of one parameter
    std::size_t id;
    std::string path;
    std::vector<std::string_view> names;
    core::Array mean, square;  // "mu/", "nu/"
    bool decays;
  };
  struct Factors;

  Factors factors(const StepInfo& info, double clip) const;
  void step_fused(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                  const Factors& factors);
  double step_clipped(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                      const Factors& factors, const SquaresOf& squares_of);

  const kernels::Rounding* rounding_of(std::size_t i) const;  // null: moments are fp32
  core::Array update_of(std::size_t i, const core::Parameter& parameter, const core::Array& gradient,
                        const Factors& factors);
  double update_factor(double norm);

  Config config_;
  std::vector<Slot> slots_;
  std::vector<kernels::Rounding> roundings_;  // of this step; empty: moments are fp32
  std::int64_t updates_ = 0;                  // made so far; skipped steps do not count
  RollingWindow update_norms_;
};

}  // namespace bora::optim

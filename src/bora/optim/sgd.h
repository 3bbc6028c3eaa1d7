// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/optim/common_keys.h"
#include "bora/optim/config.h"
#include "bora/optim/optimizer.h"

namespace bora::optim {

/// `type: sgd`. Names and meaning of the keys are PyTorch's.
struct SgdConfig : OptimizerConfig {
  double momentum = 0.9;
  bool nesterov = false;
  std::optional<double> max_grad_norm = 1.0;

  void bind(Binder& b) {
    b.field("momentum", momentum, kBelowOne, "how much of the last direction is kept");
    b.field("nesterov", nesterov, "look ahead: the direction after this one (Sutskever et al. 2013)");
    bind_max_grad_norm(b, max_grad_norm);
    bind_state_dtype(b, state_dtype);
  }
};

/// Stochastic gradient descent with momentum, as PyTorch has it, and with decoupled weight decay (SGDW,
/// Loshchilov and Hutter 2019).
///
///   m = momentum·m + g    u = m, or g + momentum·m (nesterov)    p = p - lr·(u + wd·p)
class Sgd : public Optimizer {
 public:
  using Config = SgdConfig;

  Sgd(const Config& config, std::span<const core::Parameter> parameters);

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
    core::Array momentum;
    bool decays;
  };

  Config config_;
  std::vector<Slot> slots_;
};

}  // namespace bora::optim

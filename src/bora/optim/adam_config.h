// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>

#include "bora/optim/config.h"

namespace bora::optim {

/// The update is scaled back to the norm that past updates had (adam.h).
struct UpdateClipConfig {
  std::int64_t rolling_interval_length = 128;
  double sigma_factor = 3;
  void bind(Binder& b);
};

/// `type: adam`, as in Levanter.
struct AdamConfig : OptimizerConfig {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  std::optional<double> max_grad_norm = 1.0;  ///< null or 0: no clipping
  bool nesterov = false;
  bool adamc_weight_decay = false;
  std::optional<double> update_rms_clipping;
  std::optional<UpdateClipConfig> clip_update_norm;

  void bind(Binder& b);
};

}  // namespace bora::optim

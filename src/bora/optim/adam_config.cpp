// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/adam_config.h"

#include "bora/optim/common_keys.h"

namespace bora::optim {

void UpdateClipConfig::bind(Binder& b) { bind_policy_fields(b, *this); }

void AdamConfig::bind(Binder& b) {
  b.field("beta1", beta1, kBelowOne, "decay of the mean of gradients");
  b.field("beta2", beta2, kBelowOne, "decay of the mean of squared gradients");
  b.field("epsilon", epsilon, kEpsilonRange, "added to the root of the squares");
  bind_max_grad_norm(b, max_grad_norm);
  bind_state_dtype(b, state_dtype);
  b.field("nesterov", nesterov, "NAdamW");
  b.field("adamc_weight_decay", adamc_weight_decay, "weight decay times learning rate / peak (AdamC)");
  b.field("update_rms_clipping", update_rms_clipping, kPositive,
          "the update of a tensor is scaled down to this RMS");
  bind_policy(b, "clip_update_norm", clip_update_norm,
              "updates are scaled down to the norms of the last ones: false, true, a window, or a map");
  if (b.reading() && update_rms_clipping && clip_update_norm)
    b.problem("update_rms_clipping", "excludes clip_update_norm; give one of them");
}

}  // namespace bora::optim

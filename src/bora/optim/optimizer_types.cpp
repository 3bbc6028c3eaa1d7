// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/optimizer_types.h"

namespace bora::optim {

Registry<OptimizerType>& optimizer_types() {
  static Registry<OptimizerType> types("optimizer");
  return types;
}

void OptimizerChoice::bind(Binder& b) {
  if (!bind_type(b, type, config, optimizer_types(), "the optimizer")) return;
  config->bind_common(b);
  config.bind(b);
  config->bind_skip_bad_steps(b);
}

}  // namespace bora::optim

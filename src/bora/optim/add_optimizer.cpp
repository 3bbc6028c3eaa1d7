// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/add_optimizer.h"

#include "bora/base/error.h"

namespace bora::optim {

std::unique_ptr<Optimizer> make_optimizer(const OptimizerChoice& choice,
                                          std::span<const core::Parameter> parameters) {
  const auto* type = optimizer_types().find(choice.type);
  if (type == nullptr || !type->make)
    fail(ErrorKind::Config, "optimizer.type: {}", optimizer_types().unknown(choice.type));
  return type->make(choice.config, parameters);
}

}  // namespace bora::optim

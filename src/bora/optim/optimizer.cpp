// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/optimizer.h"

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/optim/adam.h"

namespace bora::optim {
namespace {

using Make = std::unique_ptr<Optimizer> (*)(const OptimizerConfig&, std::span<const core::Parameter>);

struct Entry {
  std::string_view type;
  Make make;
};

template <class T>
std::unique_ptr<Optimizer> make(const OptimizerConfig& config, std::span<const core::Parameter> parameters) {
  return std::make_unique<T>(config, parameters);
}

// One line for each optimizer, sorted.
constexpr Entry kOptimizers[] = {
    {"adam", make<Adam>},
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          std::span<const core::Parameter> parameters) {
  for (const Entry& entry : kOptimizers) {
    if (entry.type == config.type) return entry.make(config, parameters);
  }
  fail(ErrorKind::Config, "optimizer.type: {} is not built yet; available: {}", config.type,
       join(optimizer_types()));
}

}  // namespace bora::optim

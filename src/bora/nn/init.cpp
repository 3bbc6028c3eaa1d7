// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/init.h"

#include <utility>

namespace bora::nn::detail {

core::Array placed(core::Array parameter, core::Names axes) {
  core::place_parameter(parameter, axes);
  if (auto* store = core::parameter_store()) store->created(parameter, axes);
  return parameter;
}

core::Array normal(Key key, double std, const core::Shape& shape) {
  const auto* store = core::parameter_store();
  const bool shapes_only = store != nullptr && store->shapes_only();
  return placed(shapes_only ? core::uninitialized(shape) : core::random_normal(key, shape, 0, std),
                shape.names);
}

}  // namespace bora::nn::detail

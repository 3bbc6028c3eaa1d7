// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/unbind.h"

#include <ATen/core/Tensor.h>

#include "bora/core/autograd/unbind.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {

std::vector<Array> unbind(const Operand& x, std::string_view axis) try {
  Space space("unbind", {x}, {&axis, 1});
  int dim = require("unbind", x, axis);
  std::vector<std::string_view> rest;
  for (auto name : x.names)
    if (name != axis) rest.push_back(name);
  std::vector<Array> out;
  for (auto& t : autograd::unbind(space.local(x), dim)) out.push_back(space.label(t, rest));
  return out;
} catch (...) {
  rethrow("unbind", {x});
}

}  // namespace bora::core

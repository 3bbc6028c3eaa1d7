// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/parameter.h"

#include "bora/core/torch/node.h"

namespace bora::core {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::weight:
      return "weight";
    case Role::bias:
      return "bias";
    case Role::norm:
      return "norm";
    case Role::embedding:
      return "embedding";
    case Role::head:
      return "head";
    case Role::router:
      return "router";
    case Role::adapter:
      return "adapter";
  }
  return "";
}

std::vector<Parameter> trainable_parameters(std::vector<Parameter> parameters) {
  std::erase_if(parameters, [](const Parameter& p) { return !p.trainable; });
  return parameters;
}

bool trainable(const Array& parameter) { return !parameter.node()->frozen; }
void set_trainable(Array& parameter, bool on) { parameter.node()->frozen = !on; }

}  // namespace bora::core

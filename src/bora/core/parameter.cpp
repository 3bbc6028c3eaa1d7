// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/parameter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bora/base/error.h"
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

void require_distinct(std::span<const Parameter> parameters, std::string_view model) {
  std::vector<std::pair<const void*, std::size_t>> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) places.emplace_back(parameters[i].array->node(), i);
  std::sort(places.begin(), places.end());
  std::optional<std::pair<std::size_t, std::size_t>> shared;  // the first in the order of the walk
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first != places[i - 1].first) continue;
    const std::pair pair(places[i - 1].second, places[i].second);
    if (!shared || pair < *shared) shared = pair;
  }
  if (!shared) return;
  fail(
      ErrorKind::InvalidArgument,
      "{}: {} and {} are one array, which would be updated and saved twice\nhint: to tie them, keep one "
      "field "
      "and use it in both places, as a head() that returns the embedding; else give the second values of its "
      "own",
      model, parameters[shared->first].path, parameters[shared->second].path);
}

bool trainable(const Array& parameter) { return !parameter.node()->frozen; }
void set_trainable(Array& parameter, bool on) { parameter.node()->frozen = !on; }

}  // namespace bora::core

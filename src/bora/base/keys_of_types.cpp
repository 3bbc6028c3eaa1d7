// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/keys_of_types.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/text.h"

namespace bora {
namespace {

bool is_among(std::string_view type, std::string_view types) {
  const auto names = split(types, ',');
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return trim(name) == type; });
}

}  // namespace

void refuse_keys_of_other_types(Binder& b, std::string_view type, std::span<const KeyOfTypes> keys) {
  const bool is_record =
      std::all_of(keys.begin(), keys.end(), [&](const KeyOfTypes& one) { return b.present(one.key); });
  for (const auto& [key, types, is_default] : keys) {
    if (is_default || !b.present(key) || is_among(type, types)) continue;
    if (is_record && !b.overridden(key)) continue;
    b.problem(key, fmt::format("has no effect with {0} = {1}, only with {2}; change {0}, or leave it out",
                               b.path("type"), type, types));
  }
}

}  // namespace bora

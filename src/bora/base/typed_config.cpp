// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/typed_config.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {
namespace {

bool left_to_others = false;

}  // namespace

void leave_unknown_types_to_others(bool on) { left_to_others = on; }

void refuse_near_type(Binder& b, const std::string& message) {
  if (left_to_others) fail(ErrorKind::Unsupported, "{}", message);
  b.problem("type", message);
}

void refuse_type(Binder& b, const std::string& message) {
  if (left_to_others) fail(ErrorKind::Unsupported, "{}", message);
  auto others = b.keys();
  std::erase(others, "type");
  b.mark_used("type");
  b.problem("type", others.empty()
                        ? message
                        : fmt::format("{}; without a known type its other keys were not looked at: {}",
                                      message, join(others)));
  for (const auto& key : others) b.mark_used(key);
}

}  // namespace bora

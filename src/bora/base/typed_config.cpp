// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/typed_config.h"

#include "bora/base/error.h"

namespace bora {
namespace {

bool left_to_others = false;

}  // namespace

void leave_unknown_types_to_others(bool on) { left_to_others = on; }

void refuse_type(Binder& b, const std::string& message) {
  if (left_to_others) fail(ErrorKind::Unsupported, "{}", message);
  b.mark_used("type");
  b.problem("type", message);
  for (const auto& key : b.keys()) b.mark_used(key);
}

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/context.h"

#include <algorithm>

#include "bora/base/error.h"

namespace bora::nn {

AttentionMask AttentionMask::with_window(std::int64_t w) const {
  if (const auto least = std::min(w, window); least < 0)
    fail(ErrorKind::InvalidArgument, "attention: a window of {} positions\nhint: 0 means none", least);
  auto out = *this;
  if (w > 0) out.window = window > 0 ? std::min(window, w) : w;
  return out;
}

AttentionMask AttentionMask::with_segments(core::Array s) const {
  auto out = *this;
  out.segments = std::move(s);
  return out;
}

Context Context::at_layer(std::int64_t i) const {
  Context out = *this;
  out.layer = i;
  if (key) out.key = key->fold(static_cast<std::uint64_t>(i));
  return out;
}

std::optional<Key> Context::fold(std::string_view site) const {
  if (!key) return std::nullopt;
  return key->fold(site);
}

}  // namespace bora::nn

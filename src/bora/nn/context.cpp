// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/context.h"

#include "bora/base/error.h"
#include "bora/core/mapping.h"
#include "bora/core/update.h"

namespace bora::nn {

AttentionMask AttentionMask::with_window(std::int64_t w) const {
  auto out = *this;
  if (w > 0) out.window = window > 0 ? std::min(window, w) : w;
  return out;
}

AttentionMask AttentionMask::with_segments(core::Array s) const {
  auto out = *this;
  out.segments = std::move(s);
  return out;
}

std::pair<core::Array, core::Array> KvCache::append(std::int64_t layer, const core::Array& keys,
                                                    const core::Array& values, int dim) {
  auto& entry = entries_.at(static_cast<std::size_t>(layer));
  auto n = keys.size(dim);
  if (length_ + n > capacity_) {
    fail(ErrorKind::InvalidArgument,
         "attention: {} cached and {} new positions exceed the cache's {}\nhint: a shorter prompt, or fewer "
         "new tokens",
         length_, n, capacity_);
  }
  if (entry.keys.empty()) {
    entry.keys = core::widened_along(keys, dim, capacity_);
    entry.values = core::widened_along(values, dim, capacity_);
  }
  core::write_slice(entry.keys, dim, length_, keys);
  core::write_slice(entry.values, dim, length_, values);
  // Where workers share the heads, all positions are cut as the new ones are.
  return {core::like(keys, core::read_slice(entry.keys, dim, 0, length_ + n)),
          core::like(values, core::read_slice(entry.values, dim, 0, length_ + n))};
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

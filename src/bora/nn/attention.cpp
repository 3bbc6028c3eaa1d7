// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/attention.h"

#include <limits>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/update.h"

namespace bora::nn::detail {
namespace {

// The mask's segments are those of every position so far, cached ones included: row b, place i + offset is
// that of query i.
[[noreturn]] void fail_segments(const core::Array& segments, std::int64_t cached, std::string_view others) {
  fail(
      ErrorKind::InvalidArgument,
      "attention: the mask's segments cover {} positions, but there are {} cached and {}\nhint: segments are "
      "those of all positions so far, the cached ones included",
      segments.size(1), cached, others);
}

}  // namespace

core::AttentionRule rule_for(const Context& context, const AttentionOptions& options,
                             core::Names segment_names) {
  core::AttentionRule rule;
  rule.scale = options.scale;
  rule.soft_cap = options.soft_cap;
  rule.causal = context.mask.causal;
  rule.window = context.mask.with_window(options.window).window;
  rule.offset = context.first_position();
  if (!context.mask.segments.empty()) {
    const auto& segments = context.mask.segments;
    if (rule.offset >= segments.size(1)) fail_segments(segments, rule.offset, "more");
    rule.key_segments = segments;
    rule.query_segments = rule.offset == 0
                              ? segments
                              : core::read_slice(segments, 1, rule.offset, segments.size(1) - rule.offset);
    rule.segment_names.assign(segment_names.begin(), segment_names.end());
  }
  return rule;
}

core::Array additive_mask(const Context& context, const AttentionOptions& options, std::int64_t queries,
                          std::int64_t keys) {
  const auto mask = context.mask.with_window(options.window);
  auto segments =
      mask.segments.empty() ? std::vector<std::int32_t>() : mask.segments.to_vector<std::int32_t>();
  std::int64_t batches = segments.empty() ? 1 : mask.segments.size(0);
  auto offset = context.first_position();
  if (!segments.empty() && mask.segments.size(1) != keys)
    fail_segments(mask.segments, offset, std::to_string(keys - offset) + " new ones");
  std::vector<float> values;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) {
        bool seen = (!mask.causal || j <= i + offset) && (mask.window == 0 || j > i + offset - mask.window);
        if (seen && !segments.empty()) {
          auto row = static_cast<std::size_t>(b * keys);
          seen = segments[row + static_cast<std::size_t>(i + offset)] ==
                 segments[row + static_cast<std::size_t>(j)];
        }
        values.push_back(seen ? 0.0F : -std::numeric_limits<float>::infinity());
      }
    }
  }
  constexpr std::array<std::string_view, 3> names{"batch", "position", "key_position"};
  std::array<std::int64_t, 3> sizes{batches, queries, keys};
  std::size_t skip = segments.empty() ? 1 : 0;
  core::Shape shape{core::Names(names).subspan(skip), core::Sizes(sizes).subspan(skip)};
  return core::from_data(shape, std::span<const float>(values));
}

}  // namespace bora::nn::detail

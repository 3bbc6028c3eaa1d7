// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/mapping.h"
#include "bora/core/paged_attention.h"
#include "bora/core/shape.h"
#include "bora/nn/kv_cache.h"

namespace bora::nn::detail {

core::AttentionRule rule_for(const Context& context, const AttentionOptions& options,
                             core::Names segment_names, core::Names heads) {
  core::AttentionRule rule;
  rule.scale = options.scale;
  rule.soft_cap = options.soft_cap;
  rule.causal = context.mask.causal;
  rule.window = context.mask.with_window(options.window).window;
  if (!context.mask.segments.empty()) {
    rule.key_segments = rule.query_segments = context.mask.segments;
    rule.segment_names.assign(segment_names.begin(), segment_names.end());
  }
  if (!options.slopes.empty()) {
    rule.slopes = options.slopes;
    rule.slope_names.assign(heads.begin(), heads.end());
  }
  if (!options.sinks.empty()) {
    rule.sinks = options.sinks;
    rule.sink_names.assign(heads.begin(), heads.end());
  }
  return rule;
}

core::Array cached_attention(const core::Operand& q, const core::Operand& k, const core::Operand& v,
                             const core::AttentionAxes& axes, const Context& context,
                             const AttentionOptions& options, core::Names heads) {
  if (!context.mask.segments.empty() || (context.key && options.dropout > 0)) {
    fail(ErrorKind::InvalidArgument,
         "attention: {} with a cache\nhint: a row of a cache is one text that is read on; train without one",
         context.mask.segments.empty() ? "dropout" : "segments");
  }
  const auto at = std::find(k.names.begin(), k.names.end(), axes.key_position) - k.names.begin();
  const auto rule = rule_for(context, options, {}, heads);
  const auto tables =
      context.cache->tables(context.layer, rule.window, core::whole_size(k.array, static_cast<int>(at)));
  return core::paged_attention(q, k, v, axes, rule, tables);
}

namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr std::array<std::string_view, 3> kMaskAxes{"batch", "position", "key_position"};

// [position, key_position]
std::vector<float> rule_mask(const AttentionMask& mask, std::int64_t queries, std::int64_t keys) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(queries * keys));
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const bool seen = (!mask.causal || j <= i) && (mask.window == 0 || j > i - mask.window);
      values.push_back(seen ? 0.0F : kHidden);
    }
  }
  return values;
}

}  // namespace

core::Array distances(std::int64_t queries, std::int64_t keys) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(queries * keys));
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) values.push_back(static_cast<float>(j - i));
  const std::array<std::int64_t, 2> sizes{queries, keys};
  return core::from_data({core::Names(kMaskAxes).subspan(1), sizes}, std::span<const float>(values));
}

// Segments stay where they lie: the host does not wait for them.
core::Array additive_mask(const Context& context, const AttentionOptions& options, std::int64_t queries,
                          std::int64_t keys) {
  const auto mask = context.mask.with_window(options.window);
  const auto& segments = mask.segments;
  if (!segments.empty() && segments.size(1) != keys) {
    fail(ErrorKind::InvalidArgument,
         "attention: the mask's segments cover {} positions, but there are {}\nhint: a segment for each",
         segments.size(1), keys);
  }
  const std::array<std::int64_t, 2> sizes{queries, keys};
  const auto two = core::Names(kMaskAxes).subspan(1);
  auto all = core::from_data({two, sizes}, std::span<const float>(rule_mask(mask, queries, keys)));
  if (segments.empty()) return all;
  constexpr std::array<std::string_view, 2> of_query{kMaskAxes[0], kMaskAxes[1]},
      of_key{kMaskAxes[0], kMaskAxes[2]};
  const std::array<std::int64_t, 3> three{core::whole_size(segments, 0), queries, keys};
  const auto own = core::broadcast({segments, of_query}, {kMaskAxes, three});
  const auto same = core::binary(core::Binary::equal, {own, kMaskAxes}, {segments, of_key}, kMaskAxes);
  return core::where({same, kMaskAxes}, {all, two}, kHidden, kMaskAxes);
}

}  // namespace bora::nn::detail

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/core/paged_attention.h"
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

void require_plain(const AttentionOptions& options) {
  if (options.slopes.empty() && options.sinks.empty()) return;
  fail(ErrorKind::InvalidArgument,
       "attention: dropout of the probabilities beside {}\nhint: no dropout of them",
       options.slopes.empty() ? "sinks" : "slopes (ALiBi)");
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

core::Array additive_mask(const Context& context, const AttentionOptions& options, std::int64_t queries,
                          std::int64_t keys) {
  const auto mask = context.mask.with_window(options.window);
  auto segments =
      mask.segments.empty() ? std::vector<std::int32_t>() : mask.segments.to_vector<std::int32_t>();
  std::int64_t batches = segments.empty() ? 1 : mask.segments.size(0);
  if (!segments.empty() && mask.segments.size(1) != keys) {
    fail(ErrorKind::InvalidArgument,
         "attention: the mask's segments cover {} positions, but there are {}\nhint: a segment for each",
         mask.segments.size(1), keys);
  }
  std::vector<float> values;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) {
        bool seen = (!mask.causal || j <= i) && (mask.window == 0 || j > i - mask.window);
        if (seen && !segments.empty()) {
          auto row = static_cast<std::size_t>(b * keys);
          seen = segments[row + static_cast<std::size_t>(i)] == segments[row + static_cast<std::size_t>(j)];
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

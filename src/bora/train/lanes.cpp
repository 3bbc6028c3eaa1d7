// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/lanes.h"

#include <algorithm>
#include <array>
#include <span>

#include "bora/base/error.h"
#include "bora/core/create.h"

namespace bora::train {

namespace {

bool is_padding(std::int32_t segment) { return segment < 0; }

std::vector<float> present(std::span<const std::int32_t> segments) {
  std::vector<float> out;
  for (const auto segment : segments) out.push_back(is_padding(segment) ? 0.0F : 1.0F);
  return out;
}

}  // namespace

nn::TokenBatch token_batch(const data::Batch& batch, std::int64_t first, std::int64_t count) {
  if (batch.targets.size() != batch.tokens.size()) {
    fail(ErrorKind::InvalidArgument,
         "batch: {} targets for {} tokens\nhint: data::set_next_token_targets makes them",
         batch.targets.size(), batch.tokens.size());
  }
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  std::array<std::int64_t, 2> sizes{count, batch.seq_len};
  core::Shape shape{names, sizes};
  auto begin = static_cast<std::size_t>(first * batch.seq_len),
       n = static_cast<std::size_t>(count * batch.seq_len);
  auto part = [&](const auto& all) { return std::span(all).subspan(begin, n); };

  nn::TokenBatch out{core::from_data(shape, std::span<const std::int32_t>(part(batch.tokens))),
                     core::from_data(shape, std::span<const std::int32_t>(part(batch.targets))),
                     core::from_data(shape, std::span<const float>(part(batch.loss_weights))),
                     {}};
  const auto size = batch.sound.size();
  if (size > 0) {  // one text a row: nothing is kept apart
    constexpr std::array<std::string_view, 3> of_sound{"batch", "mel", "frame"};
    const std::array<std::int64_t, 3> sound{count, batch.sound.mel_bins, batch.sound.frames};
    const auto features =
        std::span<const float>(batch.features)
            .subspan(static_cast<std::size_t>(first * size), static_cast<std::size_t>(count * size));
    out.features = core::from_data({of_sound, sound}, features);
  } else if (!batch.segments.empty()) {
    const auto segments = std::span<const std::int32_t>(part(batch.segments));
    out.segments = core::from_segments(shape, segments);
    if (std::ranges::any_of(segments, is_padding)) out.present = core::from_data(shape, present(segments));
  }
  return out;
}

// Both name every field: one more would not compile.
core::PassInputs pass_inputs(const nn::TokenBatch& batch) {
  const auto& [ids, targets, weights, segments, present, features] = batch;
  return {{ids, targets, weights, segments, present, features}, {}};
}

nn::TokenBatch token_batch(const core::PassInputs& inputs) {
  nn::TokenBatch out;
  auto& [ids, targets, weights, segments, present, features] = out;
  auto from = inputs.arrays.begin();
  for (auto* array : {&ids, &targets, &weights, &segments, &present, &features}) *array = *from++;
  return out;
}

std::vector<mesh::LaneMetric> lane_metrics(const std::vector<nn::NamedSum>& metrics) {
  std::vector<mesh::LaneMetric> out;
  for (const auto& m : metrics) out.push_back({m.name, m.sum, m.weight});
  return out;
}

}  // namespace bora::train

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/lanes.h"

#include <array>
#include <span>
#include <vector>

#include "bora/core/create.h"

namespace bora::train {

nn::TokenBatch token_batch(const data::Batch& batch, std::int64_t first, std::int64_t count) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  std::array<std::int64_t, 2> sizes{count, batch.seq_len};
  core::Shape shape{names, sizes};
  auto begin = static_cast<std::size_t>(first * batch.seq_len),
       n = static_cast<std::size_t>(count * batch.seq_len);
  auto part = [&](const auto& all) { return std::span(all).subspan(begin, n); };

  auto tokens = part(batch.tokens);
  std::vector<std::int32_t> targets(tokens.begin() + 1, tokens.end());
  targets.push_back(0);
  for (std::int64_t b = 1; b <= count; ++b) targets[static_cast<std::size_t>(b * batch.seq_len - 1)] = 0;

  nn::TokenBatch out{core::from_data(shape, std::span<const std::int32_t>(tokens)),
                     core::from_data(shape, std::span<const std::int32_t>(targets)),
                     core::from_data(shape, std::span<const float>(part(batch.loss_weights))),
                     {}};
  if (!batch.segments.empty())
    out.segments = core::from_data(shape, std::span<const std::int32_t>(part(batch.segments)));
  return out;
}

}  // namespace bora::train

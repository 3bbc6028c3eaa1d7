// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/random_batch.h"

#include "bora/base/key.h"

namespace bora::data {

Batch random_batch(std::int64_t step, std::int64_t sequences, std::int64_t seq_len, std::int64_t vocab) {
  Batch b;
  b.step = step;
  b.sequences = sequences;
  b.seq_len = seq_len;
  auto key = Key::from_seed(1).fold(static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < sequences * seq_len; ++i) {
    b.tokens.push_back(static_cast<std::int32_t>(
        key.below(static_cast<std::uint64_t>(vocab), static_cast<std::uint64_t>(i))));
    b.loss_weights.push_back((i + 1) % seq_len == 0 ? 0.0F : 1.0F);
  }
  set_next_token_targets(b);
  return b;
}

}  // namespace bora::data

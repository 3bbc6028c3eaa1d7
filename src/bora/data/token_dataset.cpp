// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/token_dataset.h"

#include "bora/base/error.h"

namespace bora::data {

TokenDataset::TokenDataset(std::shared_ptr<const store::TokenCache> cache, std::int64_t seq_len,
                           const TokenRules& rules)
    : cache_(std::move(cache)), seq_len_(seq_len), rules_(rules) {
  if (seq_len < 2) {
    fail(ErrorKind::InvalidArgument, "dataset: sequences of {} tokens; a prediction needs at least 2",
         seq_len);
  }
}

std::int32_t TokenDataset::read(std::int64_t index, const Row& row) const {
  check(index, row);
  cache_->tokens(index * seq_len_, row.tokens);
  annotate(row.tokens, rules_, row.segments, row.loss_weights);
  return 0;
}

void annotate(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<std::int32_t> segments,
              std::span<float> loss_weights) {
  std::int32_t segment = 0;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    segments[t] = segment;
    if (tokens[t] == rules.eos_id) ++segment;
    const bool predicts = t + 1 < tokens.size() && tokens[t + 1] != rules.ignore_token_id;
    loss_weights[t] = predicts ? 1.0F : 0.0F;
  }
}

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/token_dataset.h"

#include <algorithm>

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
  const std::int64_t first = index * seq_len_;
  cache_->tokens(first, row.tokens);
  number_segments(first, row.segments);
  cache_->weights(first, row.loss_weights);
  shift_weights(row.tokens, rules_, row.loss_weights);
  return 0;
}

void TokenDataset::number_segments(std::int64_t first, std::span<std::int32_t> segments) const {
  std::int32_t segment = 0;
  std::int64_t begin = first;
  const auto fill_to = [&](std::int64_t end) {
    std::fill(segments.begin() + (begin - first), segments.begin() + (end - first), segment);
    begin = end;
  };
  if (rules_.block_cross_document_attention) {
    for (std::int64_t d = cache_->document_at(first); d < cache_->num_documents(); ++d) {
      const std::int64_t end = cache_->document_end(d);
      if (end >= first + seq_len_) break;
      if (end == begin) continue;  // an empty document
      fill_to(end);
      ++segment;
    }
  }
  fill_to(first + seq_len_);
}

void shift_weights(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<float> weights) {
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
    weights[t] = tokens[t + 1] == rules.ignore_token_id ? 0.0F : weights[t + 1];
  }
  if (!weights.empty()) weights.back() = 0.0F;
}

}  // namespace bora::data

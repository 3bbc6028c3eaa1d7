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
  if (rules_.block_cross_document_attention) split_documents(index * seq_len_, row);
  if (cache_->weighted()) {
    cache_->weights(index * seq_len_, row.loss_weights);
    shift_weights(row.tokens, rules_, row.loss_weights);
  }
  return 0;
}

/// One segment more from each document's beginning on that no end-of-text token has marked already.
void TokenDataset::split_documents(std::int64_t first, const Row& row) const {
  const std::int64_t end = first + seq_len_;
  std::int32_t more = 0;
  std::size_t from = 0;
  const auto add = [&](std::size_t to) {
    for (; from < to; ++from) row.segments[from] += more;
  };
  std::int64_t last = first;
  for (std::int64_t d = cache_->document_at(first); d < cache_->num_documents(); ++d) {
    const std::int64_t begin = cache_->document_end(d);
    if (begin >= end) break;
    const auto t = static_cast<std::size_t>(begin - first);
    if (begin == last || row.tokens[t - 1] == rules_.eos_id) continue;  // an empty document, or seen already
    last = begin;
    add(t);
    ++more;
  }
  if (more > 0) add(row.segments.size());
}

void annotate(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<std::int32_t> segments,
              std::span<float> loss_weights) {
  std::int32_t segment = 0;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    segments[t] = segment;
    if (tokens[t] == rules.eos_id && rules.block_cross_document_attention) ++segment;
    const bool predicts = t + 1 < tokens.size() && tokens[t + 1] != rules.ignore_token_id;
    loss_weights[t] = predicts ? 1.0F : 0.0F;
  }
}

void shift_weights(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<float> weights) {
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
    weights[t] = tokens[t + 1] == rules.ignore_token_id ? 0.0F : weights[t + 1];
  }
  if (!weights.empty()) weights.back() = 0.0F;
}

}  // namespace bora::data

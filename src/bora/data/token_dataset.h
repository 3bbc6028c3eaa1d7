// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>

#include "bora/data/dataset.h"
#include "bora/store/token_cache.h"

namespace bora::data {

struct TokenRules {
  std::int32_t ignore_token_id = -100;         ///< predicting it counts nothing
  bool block_cross_document_attention = true;  ///< false: one segment, whatever the documents are
};

/// Documents joined end to end and cut every seq_len tokens; the incomplete tail is dropped. Sequence i holds
/// tokens [i * seq_len, (i + 1) * seq_len). A segment begins where a document does by the cache's borders,
/// whatever its tokens are: a chat may have an end-of-text token behind each message. Segments are numbered
/// from 0 in each sequence. The last position predicts nothing, so its loss weight is 0; elsewhere it is the
/// cache's weight of the token to predict, which may be the first one of the next document.
class TokenDataset final : public Dataset {
 public:
  TokenDataset(std::shared_ptr<const store::TokenCache> cache, std::int64_t seq_len, const TokenRules& rules);

  std::int64_t size() const override { return cache_->num_tokens() / seq_len_; }
  std::int64_t seq_len() const override { return seq_len_; }
  std::int32_t read(std::int64_t index, const Row& row) const override;

 private:
  void number_segments(std::int64_t first, std::span<std::int32_t> segments) const;

  std::shared_ptr<const store::TokenCache> cache_;
  std::int64_t seq_len_;
  TokenRules rules_;
};

/// Turns weights of tokens into weights of positions: position t counts as token t + 1 does, 0 if that is
/// the ignored one, and the last position counts nothing.
void shift_weights(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<float> weights);

}  // namespace bora::data

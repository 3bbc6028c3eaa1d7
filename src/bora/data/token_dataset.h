// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>

#include "bora/data/dataset.h"
#include "bora/store/token_cache.h"

namespace bora::data {

struct TokenRules {
  std::int32_t eos_id = -1;                    ///< the token after it starts a new segment; -1: one segment
  std::int32_t ignore_token_id = -100;         ///< predicting it counts nothing
  bool block_cross_document_attention = true;  ///< false: one segment, whatever the documents are
};

/// Documents joined end to end and cut every seq_len tokens; the incomplete tail is dropped. Sequence i holds
/// tokens [i * seq_len, (i + 1) * seq_len). A segment begins where a document does and after each
/// end-of-text token; segments are numbered from 0 in each sequence. The last position predicts nothing, so
/// its loss weight is 0; elsewhere it is the cache's weight of the token to predict.
class TokenDataset final : public Dataset {
 public:
  TokenDataset(std::shared_ptr<const store::TokenCache> cache, std::int64_t seq_len, const TokenRules& rules);

  std::int64_t size() const override { return cache_->num_tokens() / seq_len_; }
  std::int64_t seq_len() const override { return seq_len_; }
  std::int32_t read(std::int64_t index, const Row& row) const override;

 private:
  void split_documents(std::int64_t first, const Row& row) const;

  std::shared_ptr<const store::TokenCache> cache_;
  std::int64_t seq_len_;
  TokenRules rules_;
};

/// Segments and loss weights of tokens, by the rules above, where all are of one document.
void annotate(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<std::int32_t> segments,
              std::span<float> loss_weights);

/// Turns weights of tokens into weights of positions: position t counts as token t + 1 does, 0 if that is
/// the ignored one, and the last position counts nothing.
void shift_weights(std::span<const std::int32_t> tokens, const TokenRules& rules, std::span<float> weights);

}  // namespace bora::data

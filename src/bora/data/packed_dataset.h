// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "bora/data/dataset.h"
#include "bora/data/packing.h"
#include "bora/data/token_dataset.h"
#include "bora/store/token_cache.h"

namespace bora::data {

/// Whole documents in sequences, several in one (packing) or one in each (padding: max_segments 1). Behind
/// them stands padding: token 0, segment -1, weight 0. Segment s is the s-th document of the sequence (all 0
/// without block_cross_document_attention). The last token of a document predicts nothing.
class PackedDataset final : public Dataset {
 public:
  /// Reads the ends of all documents. Errors: InvalidArgument if seq_len is below 2; what GreedyPacker
  /// raises.
  PackedDataset(std::shared_ptr<const store::TokenCache> cache, const PackRules& pack,
                const TokenRules& rules);

  std::int64_t size() const override { return static_cast<std::int64_t>(packs_.size()); }
  std::int64_t seq_len() const override { return pack_.seq_len; }
  std::int32_t read(std::int64_t index, const Row& row) const override;

  const std::vector<Pack>& packs() const { return packs_; }
  std::int64_t overlong() const { return overlong_; }        ///< documents that were cut or dropped
  std::int64_t lost_tokens() const { return lost_tokens_; }  ///< of these
  /// Share of all positions that is padding.
  double padding_share() const;

 private:
  /// Tokens [first, second) of the cache that stand for document d; none if it takes no place.
  std::pair<std::int64_t, std::int64_t> kept(std::int64_t d) const;

  std::shared_ptr<const store::TokenCache> cache_;
  PackRules pack_;
  TokenRules rules_;
  std::vector<Pack> packs_;
  std::int64_t overlong_ = 0, lost_tokens_ = 0;
};

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>

#include "bora/data/dataset.h"
#include "bora/data/shuffle.h"
#include "bora/store/growing_cache.h"

namespace bora::data {

/// A data set whose token cache is still being built: documents joined and cut every seq_len tokens.
struct GrowingSource {
  using Cut = std::function<DatasetPtr(const std::shared_ptr<const store::TokenCache>&)>;

  std::shared_ptr<const store::GrowingCache> cache;
  std::int64_t seq_len = 0;
  std::int64_t held_back = 0;     ///< sequences at the end that are not trained on
  std::int64_t limit = kEndless;  ///< sequences that are, at most
  /// The sequences to train on, of a cache or of its beginning: the first min(limit, all - held_back).
  Cut cut;
};

/// What endless() gives of the sequences of the finished cache, while it is still being built: reading waits
/// until what it needs is there. That is the sequence itself, or all of its era. A full shuffle takes each
/// sequence from everywhere, and a block shuffle each window its blocks from everywhere, by a permutation of
/// all blocks that depends on their number: these need `limit` sequences, without a limit the finished cache.
/// Errors while reading: those of GrowingCache and `cut`.
DatasetPtr endless_growing(GrowingSource source, const Shuffle& shuffle, const Key& key);

/// A dataset that is made when something of it is wanted: its size, too, comes when that can be made.
DatasetPtr late(const SequenceShape& shape, std::function<DatasetPtr()> make);

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>

#include "bora/data/packed_dataset.h"

namespace bora::data {

/// Pairs of conversations of which the first is preferred, each padded to a sequence of its own.
class PreferenceDataset {
 public:
  /// Errors: Config if the cache is not of pairs, or one of them is longer than seq_len: a pair that is cut
  /// could lose what makes the difference.
  PreferenceDataset(const std::shared_ptr<const store::TokenCache>& cache, std::int64_t seq_len,
                    const TokenRules& rules);

  std::int64_t size() const { return rows_.size() / 2; }
  std::int64_t seq_len() const { return rows_.seq_len(); }
  /// Errors: InvalidArgument out of range.
  void read(std::int64_t index, const Row& chosen, const Row& rejected) const;

 private:
  PackedDataset rows_;
};

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/growing_dataset.h"

#include <algorithm>
#include <mutex>

#include "bora/base/error.h"
#include "bora/data/epochs.h"

namespace bora::data {
namespace {

class Growing final : public Dataset {
 public:
  Growing(std::shared_ptr<const store::GrowingCache> cache, std::int64_t seq_len, const TokenRules& rules,
          std::int64_t limit, const Shuffle& shuffle, const Key& key)
      : cache_(std::move(cache)),
        seq_len_(seq_len),
        rules_(rules),
        limit_(limit),
        shuffle_(shuffle),
        key_(key) {
    if (shuffle.kind != Shuffle::Kind::None && shuffle.kind != Shuffle::Kind::Era) {
      fail(ErrorKind::Config,
           "token cache {}: its length must be known for this shuffle, but it is still being built",
           cache_->directory());
    }
    make_permutation(shuffle, 1, key);  // a wrong shuffle should fail here, not in the first batch
  }

  std::int64_t size() const override { return kEndless; }
  std::int64_t seq_len() const override { return seq_len_; }

  std::int32_t read(std::int64_t index, const Row& row) const override {
    check(index, row);
    return known_up_to(needed_for(index))->read(index, row);
  }

 private:
  /// The sequences that must be there for one to be found: all of its era.
  std::int64_t needed_for(std::int64_t index) const {
    const std::int64_t era = shuffle_.kind == Shuffle::Kind::Era ? shuffle_.era_length : 1;
    return (index / era + 1) * era;
  }

  DatasetPtr known_up_to(std::int64_t sequences) const {
    const std::lock_guard lock(mutex_);
    if (is_whole_ || known_ >= sequences) return present_;
    const std::int64_t wanted = std::min(sequences, limit_);
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / seq_len_;
    const auto part = cache_->at_least(wanted > most ? kEndless : wanted * seq_len_);
    const auto dataset = std::make_shared<TokenDataset>(part, seq_len_, rules_);
    const std::int64_t size = std::min(dataset->size(), limit_);
    if (size < 1) {
      fail(ErrorKind::Config,
           "data: {} has {} tokens, fewer than one sequence of {}\nhint: more text, or a smaller "
           "model.seq_len",
           cache_->directory(), part->num_tokens(), seq_len_);
    }
    // From here on the first epoch's part that is known has the order that it has in the whole.
    present_ = endless(slice(dataset, 0, size), shuffle_, key_);
    known_ = size;
    is_whole_ = part->ledger().is_finished || size == limit_;
    return present_;
  }

  std::shared_ptr<const store::GrowingCache> cache_;
  std::int64_t seq_len_;
  TokenRules rules_;
  std::int64_t limit_;
  Shuffle shuffle_;
  Key key_;
  mutable std::mutex mutex_;  // guards what follows
  mutable DatasetPtr present_;
  mutable std::int64_t known_ = 0;
  mutable bool is_whole_ = false;
};

}  // namespace

DatasetPtr endless_growing(std::shared_ptr<const store::GrowingCache> cache, std::int64_t seq_len,
                           const TokenRules& rules, std::int64_t limit, const Shuffle& shuffle,
                           const Key& key) {
  return std::make_shared<Growing>(std::move(cache), seq_len, rules, limit, shuffle, key);
}

}  // namespace bora::data

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
  Growing(GrowingSource source, const Shuffle& shuffle, const Key& key)
      : source_(std::move(source)), shuffle_(shuffle), key_(key) {
    make_permutation(shuffle, 1, key);  // a wrong shuffle should fail here, not in the first batch
  }

  std::int64_t size() const override { return kEndless; }
  std::int64_t seq_len() const override { return source_.seq_len; }

  std::int32_t read(std::int64_t index, const Row& row) const override {
    check(index, row);
    return known_up_to(needed_for(index))->read(index, row);
  }

 private:
  /// The sequences that must be there for one to be found.
  std::int64_t needed_for(std::int64_t index) const {
    return shuffle_.config->needed(index).value_or(kEndless);
  }

  std::int64_t tokens_of(std::int64_t sequences) const {
    const std::int64_t most = kEndless / source_.seq_len - source_.held_back;
    return sequences > most ? kEndless : (sequences + source_.held_back) * source_.seq_len;
  }

  DatasetPtr known_up_to(std::int64_t sequences) const {
    const std::lock_guard lock(mutex_);
    if (is_whole_ || known_ >= sequences) return present_;
    const auto part = source_.cache->at_least(tokens_of(std::min(sequences, source_.limit)));
    const auto cut = source_.cut(part);
    // From here on the first epoch's part that is known has the order that it has in the whole.
    present_ = endless(cut, shuffle_, key_);
    known_ = cut->size();
    is_whole_ = part->ledger().is_finished || known_ == source_.limit;
    return present_;
  }

  GrowingSource source_;
  Shuffle shuffle_;
  Key key_;
  mutable std::mutex mutex_;  // guards what follows
  mutable DatasetPtr present_;
  mutable std::int64_t known_ = 0;
  mutable bool is_whole_ = false;
};

class Late final : public Dataset {
 public:
  Late(const SequenceShape& shape, std::function<DatasetPtr()> make)
      : shape_(shape), make_(std::move(make)) {}

  std::int64_t size() const override { return made()->size(); }
  std::int64_t seq_len() const override { return shape_.seq_len; }
  SoundShape sound() const override { return shape_.sound; }
  std::int32_t read(std::int64_t index, const Row& row) const override { return made()->read(index, row); }

 private:
  DatasetPtr made() const {
    const std::lock_guard lock(mutex_);
    if (!made_) made_ = make_();
    return made_;
  }

  SequenceShape shape_;
  std::function<DatasetPtr()> make_;
  mutable std::mutex mutex_;  // guards made_
  mutable DatasetPtr made_;
};

}  // namespace

DatasetPtr endless_growing(GrowingSource source, const Shuffle& shuffle, const Key& key) {
  return std::make_shared<Growing>(std::move(source), shuffle, key);
}

DatasetPtr late(const SequenceShape& shape, std::function<DatasetPtr()> make) {
  return std::make_shared<Late>(shape, std::move(make));
}

}  // namespace bora::data

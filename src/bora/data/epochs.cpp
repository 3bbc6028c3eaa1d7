// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/epochs.h"

#include "bora/base/error.h"

namespace bora::data {
namespace {

class Epochs final : public Dataset {
 public:
  Epochs(DatasetPtr base, const Shuffle& shuffle, const Key& key, bool once)
      : base_(std::move(base)), shuffle_(shuffle), key_(key), once_(once) {
    const std::int64_t n = base_->size();
    if (n < 1 || n == kEndless) {
      fail(ErrorKind::InvalidArgument, "epochs: a dataset of {} sequences cannot be repeated",
           n == kEndless ? "endlessly many" : "0");
    }
    make_permutation(shuffle_, n, key_);  // a wrong shuffle should fail here, not in the first batch
  }

  std::int64_t size() const override { return once_ ? base_->size() : kEndless; }
  std::int64_t seq_len() const override { return base_->seq_len(); }
  SoundShape sound() const override { return base_->sound(); }

  std::int32_t read(std::int64_t index, const Row& row) const override {
    check(index, row);
    const std::int64_t n = base_->size(), epoch = index / n;
    const Key key = key_.fold(static_cast<std::uint64_t>(shuffle_.reshuffle_each_epoch ? epoch : 0));
    return base_->read((*make_permutation(shuffle_, n, key))(index % n), row);
  }

 private:
  DatasetPtr base_;
  Shuffle shuffle_;
  Key key_;
  bool once_;
};

}  // namespace

DatasetPtr endless(DatasetPtr base, const Shuffle& shuffle, const Key& key) {
  return std::make_shared<Epochs>(std::move(base), shuffle, key, false);
}

DatasetPtr shuffled(DatasetPtr base, const Shuffle& shuffle, const Key& key) {
  return std::make_shared<Epochs>(std::move(base), shuffle, key, true);
}

}  // namespace bora::data

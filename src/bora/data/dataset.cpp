// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/dataset.h"

#include "bora/base/error.h"

namespace bora::data {
namespace {

class Slice final : public Dataset {
 public:
  Slice(DatasetPtr base, std::int64_t begin, std::int64_t end)
      : base_(std::move(base)), begin_(begin), end_(end) {
    if (begin < 0 || begin > end || end > base_->size()) {
      fail(ErrorKind::InvalidArgument, "dataset: [{}, {}) is no part of its {} sequences", begin, end,
           base_->size());
    }
  }
  std::int64_t size() const override { return end_ - begin_; }
  std::int64_t seq_len() const override { return base_->seq_len(); }
  SoundShape sound() const override { return base_->sound(); }
  std::int32_t read(std::int64_t index, const Row& row) const override {
    check(index, row);
    return base_->read(begin_ + index, row);
  }

 private:
  DatasetPtr base_;
  std::int64_t begin_, end_;
};

class WithinSegments final : public Dataset {
 public:
  explicit WithinSegments(DatasetPtr base) : base_(std::move(base)) {}
  std::int64_t size() const override { return base_->size(); }
  std::int64_t seq_len() const override { return base_->seq_len(); }
  SoundShape sound() const override { return base_->sound(); }
  std::int32_t read(std::int64_t index, const Row& row) const override {
    const std::int32_t source = base_->read(index, row);
    for (std::size_t t = 0; t + 1 < row.segments.size(); ++t) {
      if (row.segments[t + 1] != row.segments[t]) row.loss_weights[t] = 0.0F;
    }
    return source;
  }

 private:
  DatasetPtr base_;
};

}  // namespace

void Dataset::check(std::int64_t index, const Row& row) const {
  if (index < 0 || index >= size()) {
    fail(ErrorKind::InvalidArgument, "dataset: sequence {} is outside of its {}", index, size());
  }
  const auto n = static_cast<std::size_t>(seq_len());
  if (row.tokens.size() != n || row.segments.size() != n || row.loss_weights.size() != n) {
    fail(ErrorKind::InvalidArgument,
         "dataset: a row of {} tokens, {} segments, {} weights; each should be {}", row.tokens.size(),
         row.segments.size(), row.loss_weights.size(), n);
  }
  const auto features = static_cast<std::size_t>(sound().size());
  if (!row.features.empty() && row.features.size() != features) {
    fail(ErrorKind::InvalidArgument, "dataset: a row of {} features; there should be {}", row.features.size(),
         features);
  }
}

DatasetPtr slice(DatasetPtr base, std::int64_t begin, std::int64_t end) {
  return std::make_shared<Slice>(std::move(base), begin, end);
}

DatasetPtr within_segments(DatasetPtr base) { return std::make_shared<WithinSegments>(std::move(base)); }

}  // namespace bora::data

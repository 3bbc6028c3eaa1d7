// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "bora/data/dataset.h"
#include "bora/store/test_files.h"

namespace bora::data {

using store::error_of;

/// Sequence i is {i, i + 1, ...}.
class CountingDataset : public Dataset {
 public:
  CountingDataset(std::int64_t size, std::int64_t seq_len) : size_(size), seq_len_(seq_len) {}
  std::int64_t size() const override { return size_; }
  std::int64_t seq_len() const override { return seq_len_; }
  std::int32_t read(std::int64_t index, const Row& row) const override {
    check(index, row);
    for (std::size_t t = 0; t < row.tokens.size(); ++t) {
      row.tokens[t] = static_cast<std::int32_t>(index + static_cast<std::int64_t>(t));
      row.segments[t] = 0;
      row.loss_weights[t] = 1.0F;
    }
    return 0;
  }

 private:
  std::int64_t size_, seq_len_;
};

inline DatasetPtr counting(std::int64_t size, std::int64_t seq_len = 4) {
  return std::make_shared<CountingDataset>(size, seq_len);
}

struct OneRow {
  explicit OneRow(std::size_t n) : tokens(n), segments(n), loss_weights(n) {}
  Row row() { return {tokens, segments, loss_weights}; }
  std::vector<std::int32_t> tokens, segments;
  std::vector<float> loss_weights;
};

}  // namespace bora::data

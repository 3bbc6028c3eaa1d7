// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Reading on where an earlier pass ended.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "bora/core/array.h"

namespace bora::nn {

/// Keys and values of the positions read so far, layer by layer, of several rows. A row is one sequence with
/// a length of its own. Layers with a window hold the last positions alone, others all of them.
class KvCache {
 public:
  /// A row for each of `capacities`: the most positions that it will have.
  KvCache(std::int64_t layers, std::vector<std::int64_t> capacities);

  std::int64_t rows() const { return std::ssize(lengths_); }
  std::int64_t capacity(std::int64_t row) const { return capacities_.at(static_cast<std::size_t>(row)); }
  /// Positions read; the row's next pass starts there.
  std::int64_t length(std::int64_t row) const { return lengths_.at(static_cast<std::size_t>(row)); }
  /// Forgets a row's positions from `length` on; 0 empties it. InvalidArgument where a layer with a window no
  /// longer holds those before it.
  void truncate(std::int64_t row, std::int64_t length);
  /// One that shares nothing with this: both may be read on, each in its own way. (A copy shares the keys and
  /// values, which passes write to.)
  KvCache clone() const;
  /// Of the keys and values that there is room for.
  std::int64_t bytes() const;

 private:
  friend class CachePass;
  struct Held {
    core::Array keys, values;
    std::int64_t first = 0;   // the position in the first place
    std::int64_t window = 0;  // 0: none
  };
  Held& held(std::int64_t layer, std::int64_t row) {
    return held_.at(static_cast<std::size_t>(layer * rows() + row));
  }
  std::vector<std::int64_t> capacities_, lengths_;
  std::vector<Held> held_;
};

/// One pass over new positions of some rows of a cache, which all get equally many: what the pass leaves
/// there is an output beside its result. Row r of the batch is rows[r] of the cache. Every row gets the bits
/// that it would get alone.
class CachePass {
 public:
  /// `last`: the logits of so many positions are wanted, counted from the last.
  CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last = 1);

  std::int64_t rows() const { return std::ssize(rows_); }
  std::int64_t last() const { return last_; }
  /// Where row r of the batch starts.
  std::int64_t first_position(std::int64_t r) const { return cache_.length(row(r)); }

  /// What a row's queries see: `cached` positions from before, and the new ones.
  struct Seen {
    core::Array keys, values;
    std::int64_t cached = 0;
  };
  /// Adds row r's new keys and values of a layer, of which dimension `dim` is the position.
  Seen append(std::int64_t layer, std::int64_t r, std::int64_t window, const core::Array& keys,
              const core::Array& values, int dim);
  /// The pass is over: the rows are longer by so many positions.
  void finish(std::int64_t positions);

  /// f(row, r) for each row of x, whose first dimension is the batch; the results together.
  core::Array by_row(const core::Array& x,
                     const std::function<core::Array(const core::Array&, std::int64_t)>& f) const;
  /// Row r of x alone.
  core::Array row_of(const core::Array& x, std::int64_t r) const;

 private:
  std::int64_t row(std::int64_t r) const { return rows_.at(static_cast<std::size_t>(r)); }
  KvCache& cache_;
  std::vector<std::int64_t> rows_;
  std::int64_t last_;
};

}  // namespace bora::nn

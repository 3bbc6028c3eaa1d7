// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Reading on where an earlier pass ended.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/paged_attention.h"

namespace bora::nn {

/// Keys and values of the positions read so far, layer by layer, of several rows. A row is one text with a length
/// of its own. They lie in pages of kPage positions from one pool: a row takes one when it needs it, layers with a
/// window give back what is out of their sight, and rows with a common beginning share its pages.
class KvCache {
 public:
  static constexpr std::int64_t kPage = core::PageTable::kPositions;

  /// A row for each of `capacities`: the most positions that it will have.
  explicit KvCache(std::int64_t layers, const std::vector<std::int64_t>& capacities = {});

  std::int64_t rows() const { return std::ssize(rows_); }
  /// A new, empty row; its number is that of a removed one where there is one.
  std::int64_t add_row(std::int64_t capacity);
  /// A new row that begins with all that `row` has read. Both may be read on, each in its own way.
  std::int64_t fork(std::int64_t row, std::int64_t capacity);
  /// Gives back what the row holds. Its number may come again.
  void remove_row(std::int64_t row);

  std::int64_t capacity(std::int64_t row) const { return at(row).capacity; }
  /// Positions read; the row's next pass starts there.
  std::int64_t length(std::int64_t row) const { return at(row).length; }
  /// Forgets a row's positions from `length` on; 0 empties it. InvalidArgument where a layer with a window no
  /// longer holds those before it.
  void truncate(std::int64_t row, std::int64_t length);
  /// All rows again, on the same pages: both may be read on, each in its own way.
  KvCache clone() const { return *this; }

  /// Pages that rows hold, one layer's keys and values of kPage positions each; a shared one counts once.
  std::int64_t pages() const { return pool_.pages(); }
  /// Of all pages, held or waiting to be needed again.
  std::int64_t bytes() const { return pool_.bytes(); }

 private:
  friend class CachePass;
  struct Layer {
    core::PageTable table;
    std::int64_t window = 0;  // 0: none
  };
  struct Row {
    std::int64_t capacity = 0, length = 0;
    std::int64_t read_for = 0;  // the longest text that a pass over it belonged to
    bool is_free = false;
    std::vector<Layer> layers;
  };
  Row& at(std::int64_t row) { return rows_[place_of(row)]; }
  const Row& at(std::int64_t row) const { return rows_[place_of(row)]; }
  std::size_t place_of(std::int64_t row) const;
  std::int64_t place(Row row);

  std::int64_t layers_;
  core::PagePool pool_;
  std::vector<Row> rows_;
};

/// One pass over new positions of some rows of a cache, which all get equally many: what the pass leaves
/// there is an output beside its result. Row r of the batch is rows[r] of the cache. Every row gets the bits
/// that it would get alone.
class CachePass {
 public:
  /// `last`: the logits of so many positions are wanted, counted from the last; 0: none are. `whole`: of how long
  /// a text these positions are a part, where a text is read in several passes.
  CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last = 1, std::int64_t whole = 0);
  /// Rows of texts of different lengths: `own` of each row's new positions are its text's, the first ones; the
  /// others, after them, fill the batch up, and the cache forgets them with the pass.
  CachePass(KvCache& cache, std::vector<std::int64_t> rows, std::int64_t last, std::vector<std::int64_t> own);

  std::int64_t rows() const { return std::ssize(rows_); }
  std::int64_t last() const { return last_; }
  /// Where row r of the batch starts.
  std::int64_t first_position(std::int64_t r) const { return cache_.length(row(r)); }
  /// How long a text row r belongs to, with n positions of this pass; and how long one its cached positions do,
  /// which are turned accordingly where that matters (nn/rope.h).
  std::int64_t text_length(std::int64_t r, std::int64_t n) const;
  std::int64_t cached_text_length(std::int64_t r) const { return cache_.at(row(r)).read_for; }

  /// The tables of a layer, in the order of the batch, for `n` more positions. InvalidArgument for more than a
  /// row's capacity.
  std::vector<core::PageTable*> tables(std::int64_t layer, std::int64_t window, std::int64_t n);
  /// The pass is over: the rows are longer by so many positions.
  void finish(std::int64_t positions);

  /// Where several rows get one position each: the names of x [batch, position, ...] with the batch in the place of
  /// positions, so that rows are looked up and turned together; else empty.
  std::vector<std::string_view> rows_as_positions(const core::Operand& x, std::string_view position) const;
  /// table [position, n] at the positions where the rows start, [row, n].
  core::Array at_first_positions(const core::Array& table) const;
  /// f(row, r) for each row of x, whose first dimension is the batch; the results together.
  core::Array by_row(const core::Array& x,
                     const std::function<core::Array(const core::Array&, std::int64_t)>& f) const;
  /// Row r of x alone.
  core::Array row_of(const core::Array& x, std::int64_t r) const;

 private:
  std::int64_t row(std::int64_t r) const { return rows_.at(static_cast<std::size_t>(r)); }
  std::int64_t own(std::int64_t r, std::int64_t n) const {
    return own_.empty() ? n : own_.at(static_cast<std::size_t>(r));
  }
  KvCache& cache_;
  std::vector<std::int64_t> rows_, own_ = {};
  std::int64_t last_, whole_;
};

}  // namespace bora::nn

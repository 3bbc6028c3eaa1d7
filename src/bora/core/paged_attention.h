// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention to keys and values that stay from one pass to the next, in pages.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bora/core/attention.h"

namespace bora::core {

/// Where pages come from, and go when nothing holds them any more. Copies are the same pool.
class PagePool {
 public:
  PagePool();
  std::int64_t pages() const;  ///< held by tables
  std::int64_t spare() const;  ///< waiting for the next ones to need them
  std::int64_t bytes() const;  ///< of all

  struct State;  // private to core

 private:
  friend class PageTable;
  std::shared_ptr<State> state_;
};

/// The keys and values of one text in one layer: pages of kPositions positions each, every head in them. A copy
/// shares all pages; who writes to a page that is shared gets one of its own first.
class PageTable {
 public:
  static constexpr std::int64_t kPositions = 64;

  explicit PageTable(PagePool pool) : pool_(std::move(pool)) {}
  std::int64_t length() const { return length_; }
  /// The first position that is held: those before it were given back.
  std::int64_t first() const { return first_page_ * kPositions; }
  /// Gives back the pages of which all positions are before this one.
  void forget_before(std::int64_t position);
  /// Forgets positions from `length` on.
  void truncate(std::int64_t length);

  struct Page;  // private to core
  struct Access;

 private:
  friend struct Access;
  PagePool pool_;
  std::vector<std::shared_ptr<Page>> pages_;  // by number; null before first_page_
  std::int64_t first_page_ = 0, length_ = 0;
};

/// Adds each text's new keys and values to its table, k and v [text, key_position, kv heads..., head_dim], and gives
/// what its queries q [text, position, heads..., head_dim], as many, see of all that it holds: they are its last
/// positions. rule.offset is each table's own. Every text gets the bits that it gets alone. Not recorded.
/// InvalidArgument for a rule that is not causal, for segments, and for another number of texts than of tables.
Array paged_attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes,
                      const AttentionRule& rule, std::span<PageTable* const> texts);

}  // namespace bora::core

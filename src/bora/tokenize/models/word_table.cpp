// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/word_table.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace bora::tokenize {

WordTable::WordTable(std::size_t words) {
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(words + words / 2, 16));
  entries_.resize(capacity);
  mask_ = capacity - 1;
  shift_ = std::countl_zero(mask_);
  long_.resize(16);
}

void WordTable::add(std::string_view piece, std::int32_t id) {
  if (piece.size() <= kInline) {
    const PieceKey key = PieceKey::of(piece, piece.size());
    std::size_t i = slot_of(key);
    while (entries_[i].tail != 0) i = (i + 1) & mask_;
    entries_[i] = {key.low, tail_of(key) | static_cast<std::uint64_t>(id) << 40};
    return;
  }
  longest_ = std::max(longest_, piece.size());
  if (2 * ++long_count_ > long_.size()) grow_long();
  long_[long_slot(piece)] = {static_cast<std::uint32_t>(texts_.size()),
                             static_cast<std::uint32_t>(piece.size()), id};
  texts_ += piece;
}

std::size_t WordTable::long_slot(std::string_view piece) const {
  const std::size_t mask = long_.size() - 1;
  std::size_t i = std::hash<std::string_view>{}(piece)&mask;
  while (long_[i].size > 0 && std::string_view(texts_).substr(long_[i].begin, long_[i].size) != piece) {
    i = (i + 1) & mask;
  }
  return i;
}

std::int32_t WordTable::find_any(std::string_view piece) const { return long_[long_slot(piece)].id; }

void WordTable::grow_long() {
  std::vector<Long> old(long_.size() * 2);
  std::swap(old, long_);
  for (const Long& e : old) {
    if (e.size > 0) long_[long_slot(std::string_view(texts_).substr(e.begin, e.size))] = e;
  }
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The merging of BPE. A few units are scanned for the lowest rank again and again; many go through a heap of
// ranks and places, where those that a merge nearby has overtaken are dropped when they come up.
#include <algorithm>
#include <functional>

#include "bora/tokenize/models/bpe.h"

namespace bora::tokenize {

std::vector<Bpe::Symbol>& Bpe::thread_symbols() {
  constexpr std::size_t kKept = std::size_t{1} << 20;
  thread_local std::vector<Symbol> symbols;
  if (symbols.capacity() > kKept) symbols = {};
  symbols.clear();
  return symbols;
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
  if (symbols.size() <= kScanLimit)
    merge_by_scan(symbols);
  else
    merge_by_heap(symbols);
}

void Bpe::merge_by_scan(std::vector<Symbol>& symbols) const {
  std::size_t n = symbols.size();
  for (std::size_t i = 0; i + 1 < n; ++i) symbols[i].rank = pairs_.find(symbols[i].id, symbols[i + 1].id);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (symbols[i].rank < symbols[best].rank) best = i;
    }
    if (symbols[best].rank == PairTable::kNoRank) break;
    symbols[best].id = results_[symbols[best].rank];
    symbols[best].bytes += symbols[best + 1].bytes;
    std::move(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(n),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    if (best > 0) symbols[best - 1].rank = pairs_.find(symbols[best - 1].id, symbols[best].id);
    symbols[best].rank =
        best + 1 < n ? pairs_.find(symbols[best].id, symbols[best + 1].id) : PairTable::kNoRank;
  }
  symbols.resize(n);
}

void Bpe::merge_by_heap(std::vector<Symbol>& symbols) const {
  std::vector<std::uint64_t> heap;  // ranks in the upper half, places in the lower
  const auto later = std::greater<>{};
  const auto n = static_cast<std::int32_t>(symbols.size());
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto candidate = [&](std::int32_t i) {
    Symbol& s = at(i);
    s.rank = s.after < 0 ? PairTable::kNoRank : pairs_.find(s.id, at(s.after).id);
    if (s.rank == PairTable::kNoRank) return false;
    heap.push_back(static_cast<std::uint64_t>(s.rank) << 32 | static_cast<std::uint32_t>(i));
    return true;
  };
  for (std::int32_t i = 0; i < n; ++i) {
    at(i).before = i - 1;
    at(i).after = i + 1 < n ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i < n; ++i) candidate(i);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const auto rank = static_cast<std::uint32_t>(heap.front() >> 32);
    const auto place = static_cast<std::int32_t>(heap.front() & 0xFFFFFFFFu);
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    Symbol& left = at(place);
    // Changed since it was queued, unless what the two would be now is the same.
    if (left.bytes == 0 || left.rank == PairTable::kNoRank || results_[left.rank] != results_[rank]) continue;
    Symbol& right = at(left.after);
    left.id = results_[rank];
    left.bytes += right.bytes;
    right.bytes = 0;
    left.after = right.after;
    if (left.after >= 0) at(left.after).before = place;
    if (left.before >= 0 && candidate(left.before)) std::push_heap(heap.begin(), heap.end(), later);
    if (candidate(place)) std::push_heap(heap.begin(), heap.end(), later);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.bytes == 0; });
}

/// Merges `n` ids in place; ranks[i] is that of ids i and i + 1, the last one kNoRank. Returns how many are
/// left.
std::size_t Bpe::merge_ids(std::int32_t* ids, std::uint32_t* ranks, std::size_t n) const {
  while (n > 1) {
    std::size_t best = 0;
    std::uint32_t lowest = ranks[0];
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (ranks[i] < lowest) {
        lowest = ranks[i];
        best = i;
      }
    }
    if (lowest == PairTable::kNoRank) break;
    --n;
    ids[best] = results_[lowest];
    for (std::size_t i = best + 1; i < n; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
    }
    if (best > 0) ranks[best - 1] = pairs_.find(ids[best - 1], ids[best]);
    ranks[best] = best + 1 < n ? pairs_.find(ids[best], ids[best + 1]) : PairTable::kNoRank;
  }
  return n;
}

void Bpe::append_bytes(std::string_view piece, std::vector<std::int32_t>& out) const {
  std::array<std::int32_t, kScanLimit> ids;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  std::array<std::uint32_t, kScanLimit> ranks;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::size_t n = piece.size();
  auto before = static_cast<unsigned char>(piece[0]);
  ids[0] = byte_ids_[before];
  for (std::size_t i = 1; i < n; ++i) {
    const auto byte = static_cast<unsigned char>(piece[i]);
    ids[i] = byte_ids_[byte];
    ranks[i - 1] = byte_pairs_[static_cast<std::size_t>(before) << 8 | byte];
    before = byte;
  }
  ranks[n - 1] = PairTable::kNoRank;
  out.insert(out.end(), ids.data(), ids.data() + merge_ids(ids.data(), ranks.data(), n));
}

void Bpe::append_ids(std::string_view piece, bool no_token, std::vector<std::int32_t>& out) const {
  if (config_.ignore_merges && !no_token) {
    if (const auto id = find_piece(piece)) return out.push_back(*id);
  }
  if (!byte_pairs_.empty() && piece.size() <= kScanLimit) return append_bytes(piece, out);
  std::vector<Symbol>& symbols = thread_symbols();
  units(piece, symbols);
  merge(symbols);
  for (const Symbol& s : symbols) out.push_back(s.id);
}

}  // namespace bora::tokenize

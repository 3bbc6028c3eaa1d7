// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/memory/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace bora::core {
namespace {

constexpr std::size_t kLine = 64, kPage = 4096;

std::size_t rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

}  // namespace

Arena::~Arena() {
  for (const Piece& piece : pieces_) ::munmap(piece.begin, piece.size);
}

bool Arena::reserve(std::size_t at_least) {
  at_least = (at_least + kPage - 1) / kPage * kPage;
  for (auto size = std::max(reservation_, at_least); size >= at_least; size /= 2) {
    size = size / kPage * kPage;
    void* begin =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) continue;
    pieces_.push_back({static_cast<char*>(begin), size, 0});
    free_.emplace(static_cast<char*>(begin), size);
    return true;
  }
  return false;
}

Arena::Piece& Arena::piece_of(const char* block) {
  return *std::find_if(pieces_.begin(), pieces_.end(),
                       [&](const Piece& p) { return block >= p.begin && block < p.begin + p.size; });
}

void* Arena::take(std::size_t bytes) {
  const auto size = rounded(bytes);
  const auto fits = [&](const auto& range) { return range.second >= size; };
  auto at = std::find_if(free_.begin(), free_.end(), fits);
  if (at == free_.end()) {
    if (!reserve(size)) return nullptr;
    at = std::find_if(free_.begin(), free_.end(), fits);
  }
  char* block = at->first;
  const auto rest = at->second - size;
  free_.erase(at);
  if (rest > 0) free_.emplace(block + size, rest);
  Piece& piece = piece_of(block);
  piece.touched = std::max(piece.touched, static_cast<std::size_t>(block - piece.begin) + size);
  return block;
}

void Arena::give_back(void* block, std::size_t bytes) {
  auto* begin = static_cast<char*>(block);
  const Piece& piece = piece_of(begin);
  auto range = free_.emplace(begin, rounded(bytes)).first;
  const auto after = std::next(range);
  if (after != free_.end() && range->first + range->second == after->first &&
      after->first < piece.begin + piece.size) {
    range->second += after->second;
    free_.erase(after);
  }
  if (range == free_.begin()) return;
  const auto before = std::prev(range);
  if (before->first + before->second == begin && before->first >= piece.begin) {
    before->second += range->second;
    free_.erase(range);
  }
}

void Arena::release_unused() {
  for (const auto& [begin, size] : free_) {
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    const auto first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
    if (last > first) ::madvise(begin + (first - at), last - first, MADV_DONTNEED);
    Piece& piece = piece_of(begin);
    const auto offset = static_cast<std::size_t>(begin - piece.begin);
    if (offset + size == piece.size) piece.touched = std::min(piece.touched, offset);
  }
}

std::size_t Arena::touched() const {
  std::size_t sum = 0;
  for (const Piece& piece : pieces_) sum += piece.touched;
  return sum;
}

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <map>
#include <vector>

namespace bora::core {

/// Memory for large blocks that a training step takes and gives back in the same order again and again. A
/// block comes from the lowest free range that holds it; ranges given back join their free neighbours.
/// Address space is taken from the system in large pieces and physical memory on first touch; neither goes
/// back before release_unused(). Not thread-safe: the caller locks.
class Arena {
 public:
  /// Addresses to reserve at a time; less is taken where the system refuses.
  explicit Arena(std::size_t reservation) : reservation_(reservation) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `bytes` rounded up to whole cache lines of 64, aligned to one. Null if the system has no more.
  void* take(std::size_t bytes);
  /// Gives back what take(bytes) returned.
  void give_back(void* block, std::size_t bytes);
  /// Returns the pages of free ranges to the system.
  void release_unused();

  /// Bytes of the highest block ever taken in each piece, less what was released: physical memory at most.
  std::size_t touched() const;

 private:
  struct Piece {
    char* begin;
    std::size_t size, touched;
  };
  bool reserve(std::size_t at_least);
  Piece& piece_of(const char* block);

  std::size_t reservation_;
  std::vector<Piece> pieces_;
  std::map<char*, std::size_t> free_;  // ranges by address
};

}  // namespace bora::core

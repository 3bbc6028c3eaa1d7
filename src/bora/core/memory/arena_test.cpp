// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/memory/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "bora/base/key.h"

namespace bora::core {
namespace {

constexpr std::size_t kPiece = 1 << 20;

TEST(Arena, LowestRangeThatFitsAndNeighboursJoin) {
  Arena arena(kPiece);
  auto* a = static_cast<char*>(arena.take(100));
  auto* b = static_cast<char*>(arena.take(1000));
  auto* c = static_cast<char*>(arena.take(100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0U);
  EXPECT_EQ(b, a + 128);
  EXPECT_EQ(c, b + 1024);
  arena.give_back(a, 100);
  EXPECT_EQ(arena.take(128), a);
  arena.give_back(a, 128);
  arena.give_back(b, 1000);
  auto* both = arena.take(1152);
  EXPECT_EQ(both, a);
  arena.give_back(both, 1152);
  arena.give_back(c, 100);
  EXPECT_EQ(arena.take(kPiece), a) << "everything is one range again";
}

TEST(Arena, MoreThanAPieceIsAPieceOfItsOwn) {
  Arena arena(kPiece);
  auto* small = arena.take(64);
  auto* large = arena.take(3 * kPiece);
  std::memset(large, 1, 3 * kPiece);
  EXPECT_EQ(arena.touched(), 64 + 3 * kPiece);
  arena.give_back(large, 3 * kPiece);
  arena.release_unused();
  EXPECT_EQ(arena.touched(), 64U);
  EXPECT_EQ(arena.take(3 * kPiece), large);
  EXPECT_EQ(static_cast<char*>(large)[5], 0) << "released pages come back as zeros";
  arena.give_back(small, 64);
}

TEST(Arena, TheSystemSaysNo) {
  Arena arena(kPiece);
  EXPECT_EQ(arena.take(std::numeric_limits<std::size_t>::max() / 4), nullptr);
  EXPECT_NE(arena.take(64), nullptr);
}

TEST(Arena, BlocksNeverOverlap) {
  Arena arena(kPiece);
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  const auto key = Key::from_seed(3);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto draw = key.below(1000, i);
    if (draw < 500 || blocks.empty()) {
      const auto bytes = 1 + key.fold("size").below(9000, i);
      auto* block = static_cast<unsigned char*>(arena.take(bytes));
      std::memset(block, static_cast<int>(reinterpret_cast<std::uintptr_t>(block) / 64 % 251), bytes);
      blocks.emplace_back(block, bytes);
      continue;
    }
    std::swap(blocks[draw % blocks.size()], blocks.back());
    const auto [block, bytes] = blocks.back();
    const auto mark = reinterpret_cast<std::uintptr_t>(block) / 64 % 251;
    for (std::size_t at = 0; at < bytes; at += 61) ASSERT_EQ(block[at], mark);
    arena.give_back(block, bytes);
    blocks.pop_back();
  }
  for (const auto& [block, bytes] : blocks) arena.give_back(block, bytes);
  auto* first = arena.take(kPiece);
  EXPECT_NE(first, nullptr);
  EXPECT_LE(arena.touched(), 8 * kPiece);
}

}  // namespace
}  // namespace bora::core

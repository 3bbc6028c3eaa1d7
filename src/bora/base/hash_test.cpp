// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bora {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Known answers from xxHash's own tests (`xxhsum -H2` of the text).
TEST(Hash, Xxh3KnownAnswers) {
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128("a").hex(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(hash128("abc").hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  for (std::size_t piece : {1, 3, 255, 256, 257, 4096, 5000}) {
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hasher.update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hasher.digest(), hash128(text)) << piece;
  }
}

TEST(Hash, DigestMayBeTakenInBetweenAndHashersMove) {
  Hasher first;
  first.update("ab");
  EXPECT_EQ(first.digest(), hash128("ab"));
  Hasher second = std::move(first);
  second.update("c");
  EXPECT_EQ(second.digest(), hash128("abc"));
}

TEST(Hash, HexPadsWithZeros) { EXPECT_EQ((Hash128{1, 0xAB}.hex()), "000000000000000100000000000000ab"); }

// RFC 3720, appendix B.4.
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c(bytes("")), 0U);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\0'))), 0x8A9136AAU);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\xFF'))), 0x62A8AB43U);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(crc32c(bytes(rising)), 0x46DD794EU);
}

TEST(Crc32c, GoesOnFromABefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto front = crc32c(bytes(std::string_view(text).substr(0, cut)));
    EXPECT_EQ(crc32c(bytes(std::string_view(text).substr(cut)), front), crc32c(bytes(text))) << cut;
  }
}

TEST(Crc32c, TablesAndInstructionAgree) {
  // The definition, bit by bit.
  const auto slow = [](std::string_view text) {
    std::uint32_t crc = ~0U;
    for (unsigned char c : text) {
      crc ^= c;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78U : 0);
    }
    return ~crc;
  };
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes(text)), slow(text)) << i;
    EXPECT_EQ(crc32c_portable(bytes(text)), slow(text)) << i;
    text += static_cast<char>(i * 37 + 11);
  }
}

TEST(Crc32c, MaskIsTfrecords) {
  const std::uint32_t crc = 0xE3069283U;
  EXPECT_EQ(masked_crc32c(bytes("123456789")), (crc >> 15 | crc << 17) + 0xA282EAD8U);
}

}  // namespace
}  // namespace bora

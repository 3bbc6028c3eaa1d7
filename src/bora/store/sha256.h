// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bora::store {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, to compare downloads with what their givers state.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits. Once, at the end.
  std::string finish();

 private:
  void block(const std::byte* at);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> buffer_{};
  std::uint64_t size_ = 0;
};

/// Whether a text is what finish() may give.
inline bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace bora::store

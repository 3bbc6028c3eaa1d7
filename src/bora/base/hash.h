// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bora {

/// XXH3-128. Printed as 32 lower-case hexadecimal digits, high half first.
struct Hash128 {
  std::uint64_t high = 0, low = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the 0 of <=> for a pointer
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;
};

Hash128 hash128(std::span<const std::byte> bytes);
Hash128 hash128(std::string_view text);

/// XXH3-128 of bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// CRC-32C (Castagnoli), as in TFRecord and zarr3 shard indexes.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
/// The same without the processor's own instruction; for tests.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before = 0);
/// TFRecord's masking: rotate right by 15, add 0xa282ead8.
std::uint32_t masked_crc32c(std::span<const std::byte> bytes);

}  // namespace bora

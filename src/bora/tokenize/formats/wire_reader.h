// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bora::tokenize {

/// Reads the fields of a protocol buffers message (protobuf.dev/programming-guides/encoding), one after the
/// other, and never beyond the bytes it was given:
///   MESSAGE = FIELD*    FIELD = VARINT (number * 8 + type), then by type
///   0 VARINT    1 eight bytes    2 VARINT (size), that many bytes    5 four bytes, little endian
class WireReader {
 public:
  /// `where` stands in errors.
  WireReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  /// Goes on to the next field; false at the end. Errors: Corruption.
  bool next();

  std::uint32_t number() const { return number_; }
  // The value of the field. Errors: Corruption if the field has another type.
  std::uint64_t varint() const;
  bool boolean() const { return varint() != 0; }
  float float32() const;
  std::string_view bytes() const;

 private:
  std::uint64_t read_varint();
  void need(std::uint64_t size) const;
  [[noreturn]] void wrong_type(std::string_view wanted) const;

  std::string_view bytes_;
  std::string where_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0, type_ = 0;
  std::uint64_t value_ = 0;
  std::string_view content_;
};

}  // namespace bora::tokenize

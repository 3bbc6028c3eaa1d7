// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bora::track {

/// Writes the protocol buffers wire format (protobuf.dev/programming-guides/encoding): a message is a string
/// to which fields are appended by number. A nested message is a field of bytes.
class ProtoWriter {
 public:
  ProtoWriter& integer(int field, std::int64_t value);    ///< int32, int64, bool and enums
  ProtoWriter& real(int field, double value);             ///< double
  ProtoWriter& real32(int field, float value);            ///< float
  ProtoWriter& bytes(int field, std::string_view value);  ///< string, bytes, messages
  ProtoWriter& message(int field, const ProtoWriter& value) { return bytes(field, value.text()); }
  ProtoWriter& packed(int field, std::span<const double> values);  ///< repeated double

  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  void tag(int field, int wire_type);
  void little_endian(std::uint64_t value, int size);

  std::string text_;
};

}  // namespace bora::track

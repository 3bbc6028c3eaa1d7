// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/proto_writer.h"

#include <bit>

namespace bora::track {
namespace {
enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
}  // namespace

void ProtoWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
}

void ProtoWriter::tag(int field, int wire_type) {
  varint(static_cast<std::uint64_t>(field) << 3 | wire_type);
}

void ProtoWriter::little_endian(std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) text_ += static_cast<char>(value >> (8 * i));
}

ProtoWriter& ProtoWriter::integer(int field, std::int64_t value) {
  tag(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::real(int field, double value) {
  tag(field, kFixed64);
  little_endian(std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

ProtoWriter& ProtoWriter::real32(int field, float value) {
  tag(field, kFixed32);
  little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return *this;
}

ProtoWriter& ProtoWriter::bytes(int field, std::string_view value) {
  tag(field, kLengthDelimited);
  varint(value.size());
  text_ += value;
  return *this;
}

ProtoWriter& ProtoWriter::packed(int field, std::span<const double> values) {
  tag(field, kLengthDelimited);
  varint(8 * values.size());
  for (double value : values) little_endian(std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

}  // namespace bora::track

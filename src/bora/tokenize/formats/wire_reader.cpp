// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/formats/wire_reader.h"

#include <bit>

#include "bora/base/error.h"

namespace bora::tokenize {

namespace {

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace

void WireReader::need(std::uint64_t size) const {
  if (size <= bytes_.size() - at_) return;
  fail(ErrorKind::Corruption, "{}: field {} needs {} bytes at byte {}, but there are {}", where_, number_,
       size, at_, bytes_.size() - at_);
}

std::uint64_t WireReader::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    need(1);
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail(ErrorKind::Corruption, "{}: a number of more than 10 bytes ends at byte {}", where_, at_);
}

bool WireReader::next() {
  if (at_ == bytes_.size()) return false;
  const std::uint64_t key = read_varint();
  number_ = static_cast<std::uint32_t>(key >> 3);
  type_ = static_cast<std::uint32_t>(key & 7);
  value_ = 0;
  content_ = {};
  if (key >> 32 != 0 || number_ == 0 || (type_ > kBytes && type_ != kFixed32)) {
    fail(ErrorKind::Corruption, "{}: byte {} is not the start of a field (number {}, type {})", where_,
         at_ - 1, key >> 3, type_);
  }
  if (type_ == kVarint) {
    value_ = read_varint();
    return true;
  }
  const std::uint64_t size = type_ == kBytes ? read_varint() : type_ == kFixed64 ? 8 : 4;
  need(size);
  content_ = bytes_.substr(at_, size);
  at_ += size;
  return true;
}

void WireReader::wrong_type(std::string_view wanted) const {
  fail(ErrorKind::Corruption, "{}: field {} should be {} but has wire type {}", where_, number_, wanted,
       type_);
}

std::uint64_t WireReader::varint() const {
  if (type_ != kVarint) wrong_type("a number");
  return value_;
}

float WireReader::float32() const {
  if (type_ != kFixed32) wrong_type("a 32-bit float");
  std::uint32_t bits = 0;
  for (std::size_t i = 4; i-- > 0;) bits = (bits << 8) | static_cast<unsigned char>(content_[i]);
  return std::bit_cast<float>(bits);
}

std::string_view WireReader::bytes() const {
  if (type_ != kBytes) wrong_type("bytes");
  return content_;
}

}  // namespace bora::tokenize

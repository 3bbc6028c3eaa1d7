// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// All numbers are little endian:
//   file     := "GGUF" version:u32 tensors:u64 pairs:u64 pair* info* padding data
//   pair     := key:string type:u32 value
//   string   := length:u64 bytes
//   array    := type:u32 length:u64 value*
//   info     := name:string dimensions:u32 size:u64* type:u32 offset:u64      sizes: the last axis first
//   data     := (tensor padding)*                       offsets are from its beginning, multiples of 32
#include "bora/checkpoint/gguf_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

#include "bora/base/error.h"
#include "bora/base/temporary_file.h"
#include "bora/checkpoint/convert.h"

namespace bora::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::uint64_t kDataAlignment = 32, kInABlock = 32;

// In the order of GgufValue's alternatives.
constexpr std::uint32_t kValueTypes[] = {4, 6, 7, 8, 9, 9, 9};
constexpr std::uint32_t kString = 8, kInt = 5, kFloat = 6;

class Bytes {
 public:
  template <class T>
  void number(T x) {
    text_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  void string(const std::string& s) {
    number<std::uint64_t>(s.size());
    text_ += s;
  }
  void value(std::uint32_t x) { number(x); }
  void value(float x) { number(x); }
  void value(bool x) { number<std::uint8_t>(x ? 1 : 0); }
  void value(const std::string& x) { string(x); }
  void value(const std::vector<std::string>& x) {
    array(kString, x.size());
    for (const auto& s : x) string(s);
  }
  void value(const std::vector<std::int32_t>& x) {
    array(kInt, x.size());
    for (auto i : x) number(i);
  }
  void value(const std::vector<float>& x) {
    array(kFloat, x.size());
    for (auto f : x) number(f);
  }
  void pad() { text_.append((kDataAlignment - text_.size() % kDataAlignment) % kDataAlignment, '\0'); }
  std::string& text() { return text_; }

 private:
  void array(std::uint32_t type, std::size_t n) {
    number(type);
    number<std::uint64_t>(n);
  }
  std::string text_;
};

std::uint64_t elements(const GgufTensor& t) {
  std::uint64_t n = 1;
  for (auto size : t.shape) n *= static_cast<std::uint64_t>(size);
  return n;
}

GgufType written_type(const GgufTensor& t) {
  const bool blocks = static_cast<std::uint64_t>(t.shape.back()) % kInABlock == 0;
  return t.type == GgufType::q8_0 && !blocks ? GgufType::f32 : t.type;
}

std::uint64_t byte_size(const GgufTensor& t) {
  const auto n = elements(t);
  switch (written_type(t)) {
    case GgufType::q8_0:
      return n / kInABlock * (kInABlock + 2);
    case GgufType::bf16:
      return n * 2;
    case GgufType::f32:
      return n * 4;
  }
  return 0;
}

// The scale is rounded to f16 where it is stored, not where the numbers are divided by it.
void pack_q8_0(std::span<const float> values, std::string& out, std::string_view who) {
  for (std::size_t at = 0; at < values.size(); at += kInABlock) {
    const auto block = values.subspan(at, kInABlock);
    float most = 0;
    for (auto x : block) {
      if (!std::isfinite(x))
        fail(ErrorKind::NonFinite, "{}: holds {}, which Q8_0 has no number for\nhint: bf16 or f32", who, x);
      most = std::max(most, std::abs(x));
    }
    const float scale = most / 127.0F, inverse = scale > 0 ? 1.0F / scale : 0.0F;
    if (scale >= 65520.0F)
      fail(ErrorKind::Unsupported,
           "{}: holds {} in magnitude, and the scales of Q8_0 are f16, up to 65504\nhint: bf16 or f32", who,
           most);
    const auto half = float_to_half(scale);
    out.append(reinterpret_cast<const char*>(&half), sizeof half);
    for (auto x : block) out.push_back(static_cast<char>(static_cast<std::int8_t>(std::round(x * inverse))));
  }
}

std::string packed(const GgufTensor& t, std::span<const float> values) {
  std::string out;
  out.reserve(byte_size(t));
  if (written_type(t) == GgufType::q8_0) {
    pack_q8_0(values, out, t.name);
    return out;
  }
  out.resize(byte_size(t));
  from_floats(values, written_type(t) == GgufType::bf16 ? core::DType::bf16 : core::DType::f32,
              std::as_writable_bytes(std::span(out)), t.name);
  return out;
}

std::string header(const GgufContent& content) {
  Bytes out;
  out.text() = "GGUF";
  out.number<std::uint32_t>(3);
  out.number<std::uint64_t>(content.tensors.size());
  out.number<std::uint64_t>(content.metadata.size());
  for (const auto& [key, value] : content.metadata) {
    out.string(key);
    out.number(kValueTypes[value.index()]);
    std::visit([&](const auto& x) { out.value(x); }, value);
  }
  std::uint64_t offset = 0;
  for (const auto& t : content.tensors) {
    out.string(t.name);
    out.number(static_cast<std::uint32_t>(t.shape.size()));
    for (auto size = t.shape.rbegin(); size != t.shape.rend(); ++size)
      out.number(static_cast<std::uint64_t>(*size));
    out.number(static_cast<std::uint32_t>(written_type(t)));
    out.number(offset);
    offset += (byte_size(t) + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  }
  out.pad();
  return std::move(out.text());
}

void check(const std::string& path, const GgufContent& content) {
  std::set<std::string> names;
  for (const auto& [key, value] : content.metadata)
    if (!names.insert(key).second) fail(ErrorKind::InvalidArgument, "{}: two values of {}", path, key);
  for (const auto& t : content.tensors) {
    if (!names.insert(t.name).second) fail(ErrorKind::InvalidArgument, "{}: two tensors {}", path, t.name);
    if (t.shape.empty()) fail(ErrorKind::InvalidArgument, "{}: tensor {} has no axis", path, t.name);
  }
}

void write_tensors(WriteFile& file, const std::string& path, const GgufContent& content) {
  for (const auto& t : content.tensors) {
    const auto values = t.values();
    if (values.size() != elements(t)) {
      fail(ErrorKind::InvalidArgument, "{}: tensor {}: its source gave {} values instead of {}", path, t.name,
           values.size(), elements(t));
    }
    auto bytes = packed(t, values);
    bytes.append((kDataAlignment - bytes.size() % kDataAlignment) % kDataAlignment, '\0');
    file.write(as_bytes(bytes));
  }
}

}  // namespace

const std::vector<std::string>& gguf_type_names() {
  static const std::vector<std::string> names = {"f32", "bf16", "q8_0"};
  return names;
}

GgufType parse_gguf_type(const std::string& word) {
  constexpr std::array kTypes = {GgufType::f32, GgufType::bf16, GgufType::q8_0};
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (gguf_type_names()[i] == word) return kTypes[i];
  fail(ErrorKind::Usage, "GGUF: numbers of type {} are not written\nhint: f32, bf16 or q8_0", word);
}

void write_gguf(const std::string& path, const GgufContent& content) {
  check(path, content);
  const auto temporary = temporary_beside(path);
  try {
    auto file = files().create(temporary);
    file->write(as_bytes(header(content)));
    write_tensors(*file, path, content);
    file->sync();
    file->close();
    files().rename(temporary, path);
  } catch (...) {
    remove_unfinished(temporary);
    throw;
  }
  files().sync_directory(parent_path(path));
}

}  // namespace bora::checkpoint

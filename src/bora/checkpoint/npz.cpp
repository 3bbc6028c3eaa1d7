// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// ZIP: PKWARE's APPNOTE 6.3, sections 4.3 to 4.5 (with ZIP64). NPY: numpy.lib.format, versions 1 to 3.
#include "bora/checkpoint/npz.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kPlace64 = 0x07064b50, kEntry = 0x02014b50,
                        kLocal = 0x04034b50;
constexpr std::uint64_t kEndSize = 22, kMostComment = 65535;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;

class ArrayReader {
 public:
  ArrayReader(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  [[noreturn]] void wrong(std::string_view what) const {
    fail(ErrorKind::Corruption, "{}: is no file of numpy.savez: {}", path_, what);
  }
  std::span<const std::byte> part(std::uint64_t from, std::uint64_t size) const {
    if (from > bytes_.size() || size > bytes_.size() - from) wrong("it ends before it should");
    return bytes_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size));
  }
  template <class T>
  T number(std::uint64_t at) const {
    T out;
    std::memcpy(&out, part(at, sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::string_view text(std::uint64_t from, std::uint64_t size) const {
    const auto bytes = part(from, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  const std::string& path_;
  std::span<const std::byte> bytes_;
};

struct Entry {
  std::string name;
  std::uint64_t size = 0, at = 0;  // of what it holds
};

std::uint64_t end_of_archive(const ArrayReader& r) {
  for (std::uint64_t back = kEndSize; back <= std::min(r.size(), kEndSize + kMostComment); ++back)
    if (r.number<std::uint32_t>(r.size() - back) == kEnd) return r.size() - back;
  r.wrong("a ZIP archive has a directory at its end");
}

std::vector<Entry> entries(const ArrayReader& r) {
  const auto end = end_of_archive(r);
  std::uint64_t count = r.number<std::uint16_t>(end + 10), at = r.number<std::uint32_t>(end + 16);
  if (end >= 20 && r.number<std::uint32_t>(end - 20) == kPlace64) {
    const auto place = r.number<std::uint64_t>(end - 12);
    if (r.number<std::uint32_t>(place) != kEnd64) r.wrong("its ZIP64 directory is not where it says");
    count = r.number<std::uint64_t>(place + 32), at = r.number<std::uint64_t>(place + 48);
  }
  std::vector<Entry> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (r.number<std::uint32_t>(at) != kEntry) r.wrong("an entry of its directory is not where it should be");
    const auto method = r.number<std::uint16_t>(at + 10);
    std::uint64_t packed = r.number<std::uint32_t>(at + 20), size = r.number<std::uint32_t>(at + 24),
                  local = r.number<std::uint32_t>(at + 42);
    const auto name_size = r.number<std::uint16_t>(at + 28), extra = r.number<std::uint16_t>(at + 30),
               comment = r.number<std::uint16_t>(at + 32);
    Entry entry{std::string(r.text(at + 46, name_size)), 0, 0};
    for (std::uint64_t e = at + 46 + name_size, stop = e + extra; e + 4 <= stop;) {
      const auto id = r.number<std::uint16_t>(e), bytes = r.number<std::uint16_t>(e + 2);
      std::uint64_t value = e + 4;
      for (auto* field : {&size, &packed, &local})
        if (id == 1 && *field == kIn64 && value + 8 <= e + 4 + bytes)
          *field = r.number<std::uint64_t>(value), value += 8;
      e += 4U + bytes;
    }
    if (method != 0)
      r.wrong(fmt::format("{} is compressed (method {}), and numpy.savez stores arrays as they are",
                          entry.name, method));
    if (packed != size || r.number<std::uint32_t>(local) != kLocal)
      r.wrong(fmt::format("{} is not where the directory says", entry.name));
    entry.at = local + 30 + r.number<std::uint16_t>(local + 26) + r.number<std::uint16_t>(local + 28);
    entry.size = size;
    at += 46U + name_size + extra + comment;
    out.push_back(std::move(entry));
  }
  return out;
}

// The value behind 'key': in the literal dictionary of an NPY header.
std::string_view value_of(std::string_view header, std::string_view key) {
  const auto at = header.find(fmt::format("'{}':", key));
  return at == header.npos ? std::string_view() : trim(header.substr(at + key.size() + 3));
}

std::optional<std::vector<std::int64_t>> shape_of(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<std::int64_t> out;
  for (auto& part : split(text.substr(1, text.find(')') - 1), ',')) {
    const auto digits = trim(part);
    if (digits.empty()) continue;
    const auto n = parse_int(digits);
    if (!n || *n < 0) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

std::uint64_t item_size(std::string_view descr) {
  std::uint64_t n = 0;
  if (descr.size() > 2) std::from_chars(descr.data() + 2, descr.data() + descr.size(), n);
  return n;
}

NpzFile::Array array_of(const ArrayReader& r, const Entry& entry) {
  const auto wrong = [&](std::string_view what) { r.wrong(fmt::format("{} {}", entry.name, what)); };
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (entry.size < 12 || r.text(entry.at, 6) != kMagic) wrong("is no NPY file");
  const bool old = r.number<std::uint8_t>(entry.at + 6) == 1;
  const std::uint64_t begin = old ? 10 : 12, length = old ? r.number<std::uint16_t>(entry.at + 8)
                                                          : r.number<std::uint32_t>(entry.at + 8);
  if (begin + length > entry.size) wrong("ends within its header");
  const auto header = r.text(entry.at + begin, length);
  const auto descr = value_of(header, "descr");
  const auto shape = shape_of(value_of(header, "shape"));
  if (!descr.starts_with('\'') || !shape) wrong("has a header that says no type and shape");
  NpzFile::Array out{entry.name.substr(0, entry.name.rfind(".npy")),
                     std::string(descr.substr(1, descr.find('\'', 1) - 1)),
                     *shape,
                     {}};
  if (value_of(header, "fortran_order").starts_with("True") && shape->size() > 1)
    fail(ErrorKind::Unsupported, "{}: lies by columns, and rows are read", entry.name);
  std::uint64_t bytes = item_size(out.descr);
  for (const auto n : *shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes)) wrong("is too large");
  if (bytes != entry.size - begin - length)
    wrong(fmt::format("has {} bytes, and its shape and type {} make {}", entry.size - begin - length,
                      out.descr, bytes));
  out.bytes = r.part(entry.at + begin + length, bytes);
  return out;
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : path_(path), file_(files().open(path)) {
  const ArrayReader reader(path_, file_->map());
  if (reader.size() < kEndSize) reader.wrong("it is too short");
  for (const auto& entry : entries(reader)) arrays_.push_back(array_of(reader, entry));
}

}  // namespace bora::checkpoint

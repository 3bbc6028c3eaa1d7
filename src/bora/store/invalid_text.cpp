// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/invalid_text.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/byte_stream.h"

namespace bora::store {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct ByteBounds {
  unsigned char low = 0x80, high = 0xBF;
};

/// What may follow a first byte: so that no character has two spellings, is a surrogate, or lies beyond
/// U+10FFFF (Unicode 15, table 3-7).
ByteBounds second_byte(unsigned char first) {
  switch (first) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {};
  }
}

std::size_t length_of(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 1;
}

/// How many bytes at the start of `text`, which is no character, one U+FFFD stands for.
std::size_t maximal_part(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t most = std::min(length_of(byte(0)), text.size());
  std::size_t n = 1;
  for (ByteBounds bounds = second_byte(byte(0)); n < most; ++n, bounds = {}) {
    if (byte(n) < bounds.low || byte(n) > bounds.high) break;
  }
  return n;
}

std::int64_t line_of(const Source& source, const FileFormat& format, std::uint64_t offset) {
  const auto stream = open_stream(source.path, format.compression, 0, source.size);
  std::vector<char> buffer(1 << 20);
  std::int64_t line = 1;
  while (offset > 0) {
    const std::size_t n = stream->read(buffer), wanted = std::min<std::uint64_t>(n, offset);
    line += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(wanted), '\n');
    if (n == 0) break;
    offset -= wanted;
  }
  return line;
}

}  // namespace

const std::vector<std::string>& invalid_text_names() {
  static const std::vector<std::string> names = {"refuse", "replace", "keep"};
  return names;
}

InvalidText parse_invalid_text(const std::string& name) {
  const auto& names = invalid_text_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) fail(ErrorKind::Config, "invalid_utf8: {} is none of {}", name, join(names));
  return static_cast<InvalidText>(at - names.begin());
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  while (const auto at = invalid_utf8(text)) {
    out += text.substr(0, *at);
    out += kReplacement;
    text.remove_prefix(*at);
    text.remove_prefix(maximal_part(text));
  }
  out += text;
  return out;
}

void fail_utf8(const Source& source, const FileFormat& format, std::uint64_t offset) {
  const std::string_view what = format.compression == Compression::None ? "" : " of the decompressed text";
  fail(
      ErrorKind::Corruption,
      "{}:{}: invalid UTF-8 at byte {}{}\nhint: convert the file, for example with iconv -f latin1 -t utf-8, "
      "or set format.invalid_utf8: replace",
      source.path, line_of(source, format, offset), offset, what);
}

}  // namespace bora::store

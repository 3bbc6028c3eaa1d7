// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/charsmap.h"

#include <utility>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string bytes, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)) {
  if (bytes_.empty()) return;
  const std::size_t rest = bytes_.size() < 4 ? 0 : bytes_.size() - 4;
  const std::size_t trie = bytes_.size() < 4 ? 0 : little_endian(bytes_, 0);
  if (bytes_.size() < 4 || trie > rest || trie % 4 != 0 || trie == 0) {
    fail(ErrorKind::Corruption, "{}: a charsmap of {} bytes cannot hold a trie of {}", where_, bytes_.size(),
         trie);
  }
  texts_begin_ = 4 + trie;
  if (!is_valid_utf8(std::string_view(bytes_).substr(texts_begin_))) {
    fail(ErrorKind::Corruption, "{}: the replacements of the charsmap are not UTF-8", where_);
  }
  units_.reserve(trie / 4);
  for (std::size_t i = 4; i < texts_begin_; i += 4) units_.push_back(little_endian(bytes_, i));
  plain_ = find_plain();
}

std::array<bool, 128> Charsmap::find_plain() const {
  std::array<bool, 128> plain{};
  const std::uint32_t root = offset_of(units_[0]);
  for (std::uint32_t c = 0; c < 128; ++c) {
    const std::uint32_t node = root ^ c;
    plain[c] = c == 0 || node >= units_.size() || (units_[node] & 0x800000FFu) != c;
  }
  return plain;
}

std::string_view Charsmap::text_at(std::uint32_t begin) const {
  const std::string_view texts = std::string_view(bytes_).substr(texts_begin_);
  if (begin >= texts.size() || is_continuation(texts[begin])) {
    fail(ErrorKind::Corruption, "{}: a rule of the charsmap points at byte {} of {} bytes of replacements",
         where_, begin, texts.size());
  }
  return texts.substr(begin, texts.find('\0', begin) - begin);
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool longest) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Match> best;
  std::uint32_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size()) break;
    const std::uint32_t unit = units_[node];
    if ((unit & 0x800000FFu) != byte) break;
    node ^= offset_of(unit);
    if ((unit & 0x100) == 0) continue;
    if (node >= units_.size()) break;
    best = {i + 1, text_at(units_[node] & 0x7FFFFFFFu)};
    if (!longest) break;
  }
  return best;
}

std::optional<std::string> from_base64(std::string_view text) {
  static const auto values = [] {
    std::array<int, 256> t{};
    t.fill(-1);
    for (std::size_t i = 0; i < kBase64.size(); ++i) {
      t[static_cast<unsigned char>(kBase64[i])] = static_cast<int>(i);
    }
    return t;
  }();
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xFF);
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = (bits << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kBase64[(bits >> (18 - 6 * k)) & 0x3F];
    }
  }
  return out;
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::tokenize {

/// The rewriting rules that SentencePiece puts into its models ("precompiled_charsmap"), usually NFKC and
/// more:
///   CHARSMAP = SIZE (4 bytes, little endian), trie of SIZE bytes, texts with a zero byte behind each
/// The trie is the double array of darts-clone: units of 4 bytes, little endian. A unit's offset is
/// (unit >> 10) << ((unit & 512) >> 6), its label unit & 0x800000FF; bit 8 says that a text ends here, and
/// then the unit at its offset is the value: where in the texts the replacement begins (31 bits).
class Charsmap {
 public:
  /// No rules.
  Charsmap() = default;
  /// Errors: Corruption, with `where`, for what is too short or no UTF-8.
  Charsmap(std::string bytes, std::string where);

  struct Match {
    std::size_t size = 0;  ///< bytes of the text
    std::string_view by;
  };
  /// The shortest (longest) beginning of `text` for which there is a rule. Errors: Corruption if the rule
  /// points outside of the texts.
  std::optional<Match> shortest(std::string_view text) const { return find(text, false); }
  std::optional<Match> longest(std::string_view text) const { return find(text, true); }

  bool empty() const { return units_.empty(); }
  /// No rule starts with this ASCII character.
  bool is_plain(char c) const { return plain_[static_cast<unsigned char>(c) & 0x7F]; }

  const std::string& bytes() const { return bytes_; }

 private:
  std::optional<Match> find(std::string_view text, bool longest) const;
  std::string_view text_at(std::uint32_t begin) const;
  std::array<bool, 128> find_plain() const;

  std::string bytes_, where_;
  std::vector<std::uint32_t> units_;
  std::size_t texts_begin_ = 0;
  std::array<bool, 128> plain_ = [] {
    std::array<bool, 128> all{};
    all.fill(true);
    return all;
  }();
};

/// Base64 (RFC 4648) without line breaks, padded or not; nothing if it is ill-formed.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace bora::tokenize

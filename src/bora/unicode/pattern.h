// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora {

class JsonView;

/// Bytes [begin, end) of a text.
struct ByteRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// A part of a text that a pattern matched, or that lies between two matches.
struct PatternPart {
  ByteRange range;
  bool match = false;
  bool operator==(const PatternPart&) const = default;
};

/// What `tokenizer.json` calls a pattern: {"String": "..."} or {"Regex": "..."}, the latter in Oniguruma's
/// syntax. Regexes run on PCRE2 (just-in-time compiled, UTF and Unicode properties on), translated so that
/// they match the same; what cannot be is refused. Any number of threads may use one.
class Pattern {
 public:
  static Pattern literal(std::string text);
  /// `where` stands in errors: Unsupported, with the construct and its place, if it cannot be translated.
  static Pattern regex(std::string source, std::string_view where);
  /// A regex in PCRE2's own syntax; its dot matches line ends too.
  static Pattern pcre2(std::string source);
  static Pattern read(const JsonView& json);
  /// {"Regex":"..."}; appends.
  void write(std::string& out) const;

  bool is_regex() const { return regex_; }
  const std::string& source() const { return source_; }

  /// The first match at or after `from`; `text` must be valid UTF-8. Errors: Unsupported when the regex gives
  /// up (match limit).
  std::optional<ByteRange> find(std::string_view text, std::size_t from) const;

  /// The whole text in parts, matches and what lies between, in order. Matches may be empty, but not directly
  /// behind another; an empty text has none.
  std::vector<PatternPart> parts(std::string_view text) const;

  /// Every match replaced.
  std::string replace(std::string_view text, std::string_view by) const;

 private:
  struct Compiled;
  static Pattern compiled(std::string source, const std::string& translated, std::string_view where);

  std::string source_;
  bool regex_ = false;
  std::shared_ptr<const Compiled> compiled_;
};

/// A regex of Oniguruma in PCRE2's words: its syntax, its Unicode 16, its case folding. Errors: Unsupported,
/// "WHERE: the regex ... cannot be used: CONSTRUCT at byte N".
std::string pcre2_from_oniguruma(std::string_view source, std::string_view where = "pattern");

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "bora/tokenize/pattern.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

/// The patterns of nearly all byte-level tokenizers, by hand: several times faster than a regex. Both cover
/// every character of a text.
///
/// Gpt2:    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// Cl100k:  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,k}| ?[^\s\p{L}\p{N}]+[\r\n]*|
///          \s*[\r\n]+|\s+(?!\S)|\s+      (Llama 3: k = 3; Qwen: k = 1)
struct ScanRule {
  enum class Kind { Gpt2, Cl100k };
  Kind kind = Kind::Gpt2;
  int max_digits = std::numeric_limits<int>::max();
  bool operator==(const ScanRule&) const = default;
};

extern const char* const kGpt2Pattern;

/// The rule for a regex (as spelled in the files of GPT-2, Llama 3, Qwen, cl100k), or nothing.
std::optional<ScanRule> scan_rule_of(std::string_view regex);

/// All pieces of `text` (valid UTF-8); appends.
void scan(const ScanRule& rule, std::string_view text, std::vector<ByteRange>& pieces);

/// The end of the run of `kind` that starts at `p`.
inline const char* skip_class(const char* p, const char* end, CharClass kind, const CharClass* classes) {
  while (p < end) {
    const auto b = static_cast<unsigned char>(*p);
    if (b < 0x80) {
      if (classes[b] != kind) return p;
      ++p;
    } else {
      const CodePoint c = code_point_at(p);
      if (classes[c.value] != kind) return p;
      p += c.length;
    }
  }
  return p;
}

/// \s+(?!\S)|\s+ : a run of white space, less its last character if something follows and it is not alone.
inline const char* white_space_end(const char* p, const char* run_end, const char* end) {
  if (run_end == end) return run_end;
  const char* last = run_end - 1;
  while (is_continuation(*last)) --last;
  return last > p ? last : run_end;
}

/// Length of 's, 't, 're, 've, 'm, 'll, 'd at `p` (which holds an apostrophe), or 0.
template <bool kIgnoreCase>
inline std::size_t contraction_at(const char* p, const char* end) {
  if (end - p < 2) return 0;
  const auto lower = [](char c) {
    return kIgnoreCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  };
  const char a = lower(p[1]);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  const char b = lower(p[2]);
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  if (kIgnoreCase && p[1] == '\xC5' && p[2] == '\xBF') return 3;  // U+017F, long s, folds to s
  return 0;
}

/// The end of the piece that starts at `p` < `end`.
inline const char* scan_gpt2(const char* p, const char* end, const CharClass* classes) {
  if (*p == '\'') {
    if (const std::size_t n = contraction_at<false>(p, end); n > 0) return p + n;
  }
  const char* start = p;
  if (*p == ' ' && p + 1 < end) ++p;
  const CodePoint c = code_point_at(p);
  const CharClass kind = classes[c.value];
  if (kind != CharClass::Space) return skip_class(p + c.length, end, kind, classes);
  return white_space_end(start, skip_class(start, end, CharClass::Space, classes), end);
}

inline const char* scan_cl100k(const char* p, const char* end, const CharClass* classes, int max_digits) {
  if (*p == '\'') {
    if (const std::size_t n = contraction_at<true>(p, end); n > 0) return p + n;
  }
  CodePoint c = code_point_at(p);
  CharClass kind = classes[c.value];
  if (kind == CharClass::Letter) return skip_class(p + c.length, end, kind, classes);
  if (kind == CharClass::Number) {
    const char* q = p;
    for (int n = 0; n < max_digits && q < end; ++n, q += c.length) {
      c = code_point_at(q);
      if (classes[c.value] != CharClass::Number) break;
    }
    return q;
  }
  const char* next = p + c.length;
  if (next < end && c.value != '\r' && c.value != '\n') {
    const CodePoint d = code_point_at(next);
    const CharClass after = classes[d.value];
    if (after == CharClass::Letter) return skip_class(next + d.length, end, after, classes);
    if (*p == ' ' && after == CharClass::Other) {
      kind = after;
      next += d.length;
    }
  }
  if (kind == CharClass::Other) {
    next = skip_class(next, end, kind, classes);
    while (next < end && (*next == '\r' || *next == '\n')) ++next;
    return next;
  }
  const char* run_end = skip_class(p, end, CharClass::Space, classes);
  for (const char* q = run_end; q > p; --q) {
    if (q[-1] == '\r' || q[-1] == '\n') return q;
  }
  return white_space_end(p, run_end, end);
}

/// Calls use(begin, end) for every piece.
template <class Use>
void scan_each(const ScanRule& rule, std::string_view text, Use&& use) {
  const CharClass* classes = char_classes();
  const char* p = text.data();
  const char* const end = p + text.size();
  if (rule.kind == ScanRule::Kind::Gpt2) {
    while (p < end) {
      const char* q = scan_gpt2(p, end, classes);
      use(p, q);
      p = q;
    }
  } else {
    while (p < end) {
      const char* q = scan_cl100k(p, end, classes, rule.max_digits);
      use(p, q);
      p = q;
    }
  }
}

}  // namespace bora::tokenize

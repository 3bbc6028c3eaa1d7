// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// One piece at a time: for the ends of texts, and for what scan_windows.h is not sure of.
#pragma once
#include <cstddef>

#include "bora/unicode/letter_cases.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

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

inline bool is_newline(char c) { return c == '\r' || c == '\n'; }

/// \s+(?!\S)|\s+ : a run of white space, less its last character if something follows and it is not alone.
inline const char* white_space_end(const char* p, const char* run_end, const char* end) {
  if (run_end == end) return run_end;
  const char* last = run_end - 1;
  while (is_continuation(*last)) --last;
  return last > p ? last : run_end;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+
inline const char* lines_end(const char* p, const char* run_end, const char* end) {
  for (const char* q = run_end; q > p; --q) {
    if (is_newline(q[-1])) return q;
  }
  return white_space_end(p, run_end, end);
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

/// The end of up to `most` characters of `number` at `p`.
template <class Class>
inline const char* digits_end(const char* p, const char* end, const Class* classes, Class number, int most) {
  for (int n = 0; n < most && p < end; ++n) {
    const CodePoint c = code_point_at(p);
    if (classes[c.value] != number) break;
    p += c.length;
  }
  return p;
}

inline const char* scan_cl100k(const char* p, const char* end, const CharClass* classes, int max_digits) {
  if (*p == '\'') {
    if (const std::size_t n = contraction_at<true>(p, end); n > 0) return p + n;
  }
  const CodePoint c = code_point_at(p);
  CharClass kind = classes[c.value];
  if (kind == CharClass::Letter) return skip_class(p + c.length, end, kind, classes);
  if (kind == CharClass::Number) return digits_end(p, end, classes, kind, max_digits);
  const char* next = p + c.length;
  if (next < end && !is_newline(*p)) {
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
    while (next < end && is_newline(*next)) ++next;
    return next;
  }
  return lines_end(p, skip_class(p, end, CharClass::Space, classes), end);
}

namespace o200k {

inline bool is_word(CaseClass kind) { return kind >= CaseClass::Upper && kind <= CaseClass::Mark; }

/// The end of the run of characters that fit(class), from `p` on.
template <class Fit>
inline const char* run_end(const char* p, const char* end, const CaseClass* classes, Fit&& fit) {
  while (p < end) {
    const CodePoint c = code_point_at(p);
    if (!fit(classes[c.value])) break;
    p += c.length;
  }
  return p;
}

/// [U B]*[l B]+ at `p` (U upper case, l lower, B letters of no case and marks), or null. If no l comes after
/// the U and B, the regex goes back to the last B.
inline const char* lower_word(const char* p, const char* end, const CaseClass* classes) {
  const char* last_both = nullptr;
  while (p < end) {
    const CodePoint c = code_point_at(p);
    const CaseClass kind = classes[c.value];
    if (kind == CaseClass::Lower) {
      return run_end(p, end, classes, [](CaseClass k) { return is_word(k) && k != CaseClass::Upper; });
    }
    if (!is_word(kind)) break;
    p += c.length;
    if (kind != CaseClass::Upper) last_both = p;
  }
  return last_both;
}

/// The same for [U B]+[l B]* where lower_word() found nothing: there is no B.
inline const char* upper_word(const char* p, const char* end, const CaseClass* classes) {
  const char* q = run_end(p, end, classes, [](CaseClass k) { return k == CaseClass::Upper; });
  return q > p ? q : nullptr;
}

/// The word at `p` with whatever character may stand in front of it, or null.
inline const char* word_end(const char* p, const char* end, const CaseClass* classes) {
  const CodePoint c = code_point_at(p);
  const CaseClass kind = classes[c.value];
  const bool letter = is_word(kind) && kind != CaseClass::Mark;
  const bool in_front = !letter && kind != CaseClass::Number && !is_newline(*p);
  if (in_front) {
    if (const char* q = lower_word(p + c.length, end, classes)) return q;
  }
  if (const char* q = lower_word(p, end, classes)) return q;
  if (in_front) {
    if (const char* q = upper_word(p + c.length, end, classes)) return q;
  }
  return upper_word(p, end, classes);
}

}  // namespace o200k

inline const char* scan_o200k(const char* p, const char* end, const CaseClass* classes, int max_digits,
                              bool contractions) {
  if (const char* q = o200k::word_end(p, end, classes)) {
    return contractions && q < end && *q == '\'' ? q + contraction_at<true>(q, end) : q;
  }
  const CaseClass kind = classes[code_point_at(p).value];
  if (kind == CaseClass::Number) return digits_end(p, end, classes, kind, max_digits);
  const auto other = [](CaseClass k) { return k == CaseClass::Other || k == CaseClass::Mark; };
  const char* from = *p == ' ' ? p + 1 : p;
  if (const char* q = o200k::run_end(from, end, classes, other); q > from) {
    while (q < end && (is_newline(*q) || *q == '/')) ++q;
    return q;
  }
  return lines_end(p, o200k::run_end(p, end, classes, [](CaseClass k) { return k == CaseClass::Space; }),
                   end);
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Where pieces start, for 64 bytes at once: what a regex decides character by character is a few operations
// on words of 64 bits, whose bits are the bytes' classes. A window begins where a piece starts, so that
// nothing before it matters; what depends on more than the window shows is left to scan_piece.h.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bora/tokenize/pretokenize/byte_masks.h"
#include "bora/tokenize/pretokenize/scan_piece.h"
#include "bora/unicode/letter_cases.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

/// Bytes that must be there for a window: itself, the rest of a character at its end, a contraction.
inline constexpr std::ptrdiff_t kWindowReach = 80;

namespace windows {

using Bits = std::uint64_t;

/// Whether a piece starts at a byte shows in it, in the byte before and in the two after.
inline constexpr Bits kUnsureEnd = Bits{3} << 62;
inline Bits unsure_around(Bits at) { return at | at >> 1 | at >> 2; }
/// The starts below the first place that is not sure.
inline Bits sure(Bits starts, Bits unsure) { return starts & ((unsure & (0 - unsure)) - 1); }

/// Characters of more than one byte: all of their bytes by class, and the first ones by length.
struct Wide {
  std::array<Bits, 8> of{};
  std::array<Bits, 5> first{};
  template <class Class>
  Bits operator[](Class kind) const {
    return of[static_cast<std::size_t>(kind)];
  }
};

template <class Class>
inline Wide wide_characters(const char* p, Bits high, const Class* classes) {
  Wide wide;
  while (high != 0) {
    const int at = std::countr_zero(high);
    const CodePoint c = code_point_at(p + at);
    const Bits bytes = ((Bits{1} << c.length) - 1) << at;
    wide.of[static_cast<std::size_t>(classes[c.value])] |= bytes;
    wide.first[c.length] |= Bits{1} << at;
    high &= ~bytes;
  }
  return wide;
}

/// The last byte of each character whose first byte is in `first`.
inline Bits last_bytes(Bits first, const Wide& wide, Bits high) {
  return (first & ~high) | (first & wide.first[2]) << 1 | (first & wide.first[3]) << 2 |
         (first & wide.first[4]) << 3;
}

/// Adds the starts within runs of digits, every `most` of them.
inline Bits digit_starts(Bits digits, int most) {
  Bits starts = digits & ~(digits << 1);
  if (most == 1) return digits;
  if (most > 64) return starts;
  Bits run = digits;  // digits with `most` more before them
  for (int i = 1; i <= most; ++i) run &= digits << i;
  for (Bits more = starts; (more = (more << most) & run) != 0;) starts |= more;
  return starts;
}

/// The start of the first stretch of `plain` white space after a line's end (`after_line`) that may turn out
/// to end in another line's end, or nothing.
inline Bits open_line(Bits plain, Bits after_line, Bits newline) {
  Bits ends = 0;  // a carry runs through each stretch to what follows it
  const bool beyond = __builtin_add_overflow(plain, after_line, &ends);
  const Bits lines = ends & ~plain & newline;
  if (lines != 0) return std::bit_floor(after_line & ((lines & (0 - lines)) - 1));
  return beyond ? std::bit_floor(after_line) : 0;
}

/// Starts within runs of white space for \s*[\r\n]+|\s+(?!\S)|\s+ ; newlines right after `absorbing` belong
/// to what is before them.
inline Bits space_starts(Bits space, Bits newline, Bits absorbing, Bits& unsure) {
  const Bits plain = space & ~newline, after_line = plain & (newline << 1);
  unsure |= open_line(plain, after_line, newline);
  return (space & ~(space << 1) & ~(newline & (absorbing << 1))) | after_line | (plain & ~(space >> 1));
}

/// Calls use(place, length) for the contractions at `quotes`.
template <bool kIgnoreCase, class Use>
inline void each_contraction(const char* p, const char* end, Bits quotes, Use&& use) {
  for (; quotes != 0; quotes &= quotes - 1) {
    const int at = std::countr_zero(quotes);
    if (at >= 62) return;
    if (const std::size_t n = contraction_at<kIgnoreCase>(p + at, end); n > 0) use(at, static_cast<int>(n));
  }
}

inline Bits gpt2(const char* p, const char* end, const CharClass* classes) {
  const ByteMasks m = byte_masks(p);
  Bits letter = m.letter, number = m.digit, space = m.space, unsure = kUnsureEnd;
  if (m.high != 0) {
    const Wide wide = wide_characters(p, m.high, classes);
    letter |= wide[CharClass::Letter];
    number |= wide[CharClass::Number];
    space |= wide[CharClass::Space];
    unsure |= unsure_around(wide[CharClass::Space]);
  }
  const Bits other = ~(letter | number | space);
  Bits starts =
      ((letter & ~(letter << 1)) | (number & ~(number << 1)) | (other & ~(other << 1))) & ~(m.blank << 1);
  starts |= space & ~((space << 1) & (space >> 1));
  starts |= 1;
  each_contraction<false>(p, end, m.quote & starts, [&](int at, int n) {
    starts &= ~(Bits{2} << at);
    starts |= Bits{1} << at << n;
  });
  return sure(starts, unsure);
}

inline Bits cl100k(const char* p, const char* end, const CharClass* classes, int max_digits) {
  const ByteMasks m = byte_masks(p);
  Bits letter = m.letter, space = m.space, unsure = kUnsureEnd, number = m.digit;
  Wide wide;
  if (m.high != 0) {
    wide = wide_characters(p, m.high, classes);
    letter |= wide[CharClass::Letter];
    space |= wide[CharClass::Space];
    number |= wide[CharClass::Number];
    unsure |= unsure_around(wide[CharClass::Space] | wide[CharClass::Number]);
  }
  const Bits other = ~(letter | number | space);
  const Bits other_starts = other & ~(other << 1) & ~(m.blank << 1);
  // In front of letters: white space but newlines, or a single other character.
  const Bits in_front =
      (space & ~m.newline) | (m.high == 0 ? other_starts : last_bytes(other_starts, wide, m.high));
  Bits starts = (letter & ~(letter << 1) & ~(in_front << 1)) | other_starts |
                digit_starts(number, max_digits) | space_starts(space, m.newline, other, unsure) | 1;
  each_contraction<true>(p, end, m.quote & other_starts,
                         [&](int at, int n) { starts |= Bits{1} << at << n; });
  return sure(starts, unsure);
}

inline Bits o200k(const char* p, const char* end, const CaseClass* classes, int max_digits,
                  bool contractions) {
  const ByteMasks m = byte_masks(p);
  Bits upper = m.upper, word = m.letter, space = m.space, unsure = kUnsureEnd, number = m.digit;
  Wide wide;
  if (m.high != 0) {
    wide = wide_characters(p, m.high, classes);
    const Bits both = wide[CaseClass::Both] | wide[CaseClass::Mark];
    upper |= wide[CaseClass::Upper];
    word |= wide[CaseClass::Upper] | wide[CaseClass::Lower] | both;
    space |= wide[CaseClass::Space];
    number |= wide[CaseClass::Number];
    // Letters of no case count as lower; before upper case ones, and marks at the start of a word, need the
    // regex.
    unsure |= unsure_around(wide[CaseClass::Space] | wide[CaseClass::Number] | (upper & (both << 1)) |
                            (wide[CaseClass::Mark] & ~(word << 1)));
  }
  const Bits other = ~(word | number | space);
  const Bits other_starts = other & ~(other << 1) & ~(m.blank << 1);
  unsure |= unsure_around(m.slash & (m.newline << 1));
  const Bits in_front =
      (space & ~m.newline) | (m.high == 0 ? other_starts : last_bytes(other_starts, wide, m.high));
  Bits starts = (word & ~(word << 1) & ~(in_front << 1)) | (upper & ((word & ~upper) << 1)) | other_starts |
                digit_starts(number, max_digits) | space_starts(space, m.newline, other, unsure) | 1;
  if (contractions) {
    int done = 0;  // the end of the contraction before: what comes after is no part of its word
    each_contraction<true>(p, end, m.quote & (word << 1), [&](int at, int n) {
      if (at == done) return;
      starts &= ~(((Bits{1} << n) - 1) << at);
      starts |= Bits{1} << at << n;
      done = at + n;
    });
  }
  return sure(starts, unsure);
}

}  // namespace windows

/// Calls use(begin, end) for every piece of the text. starts(p): the sure starts of the window at `p`, where
/// a piece starts; next(p): the end of that piece.
template <class Starts, class Next, class Use>
inline void scan_windows(const char* p, const char* const end, Starts&& starts, Next&& next, Use&& use) {
  while (end - p >= kWindowReach) {
    std::uint64_t later = starts(p);
    later &= later - 1;
    if (later == 0) {
      const char* q = next(p);
      use(p, q);
      p = q;
      continue;
    }
    const char* begin = p;
    do {
      const char* q = p + std::countr_zero(later);
      use(begin, q);
      begin = q;
      later &= later - 1;
    } while (later != 0);
    p = begin;
  }
  while (p < end) {
    const char* q = next(p);
    use(p, q);
    p = q;
  }
}

}  // namespace bora::tokenize

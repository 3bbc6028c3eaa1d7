// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/normal_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "bora/unicode/properties.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

bool compatible(NormalForm form) { return form == NormalForm::Nfkc || form == NormalForm::Nfkd; }
bool composed(NormalForm form) { return form == NormalForm::Nfc || form == NormalForm::Nfkc; }

/// Characters whose decomposition is newer than the tables of `tokenizers` (Unicode 9).
bool is_newer(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kNewer[] = {{0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xAB69, 0xAB69},   {0x10781, 0x10785},
                              {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x11938, 0x11938}, {0x1E030, 0x1E06D},
                              {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};
  if (c < kNewer[0].first) return false;
  return std::any_of(std::begin(kNewer), std::end(kNewer),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

int combining_class(char32_t c) {
  if (has_property(c, kUnordered)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

struct Decomposition {
  std::array<utf8proc_int32_t, 32> items{};  // the longest in Unicode has 18
  std::size_t size = 0;
};

Decomposition decompose(char32_t c, bool compat) {
  Decomposition d;
  if (is_newer(c)) {
    d.items[0] = static_cast<utf8proc_int32_t>(c);
    d.size = 1;
    return d;
  }
  const int options = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
  int last_boundclass = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), d.items.data(),
                                         static_cast<utf8proc_ssize_t>(d.items.size()),
                                         static_cast<utf8proc_option_t>(options), &last_boundclass);
  if (n <= 0 || n > static_cast<utf8proc_ssize_t>(d.items.size())) {
    d.items[0] = static_cast<utf8proc_int32_t>(c);
    d.size = 1;
  } else {
    d.size = static_cast<std::size_t>(n);
  }
  return d;
}

std::optional<char32_t> compose(char32_t a, char32_t b) {
  std::array<utf8proc_int32_t, 2> pair{static_cast<utf8proc_int32_t>(a), static_cast<utf8proc_int32_t>(b)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (utf8proc_normalize_utf32(pair.data(), 2, options) != 1) return std::nullopt;
  if (is_newer(static_cast<char32_t>(pair[0]))) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
}

/// Per code point, the forms (as bits) in which it neither changes nor meets its neighbours.
const std::uint8_t* inert_forms() {
  static const std::vector<std::uint8_t> table = [] {
    std::vector<std::uint8_t> t(kCodePoints, 15);
    const auto bit = [](NormalForm f) { return static_cast<std::uint8_t>(1u << static_cast<int>(f)); };
    const auto clear = [&](char32_t c, NormalForm f) { t[c] = static_cast<std::uint8_t>(t[c] & ~bit(f)); };
    for (char32_t c = 0xA0; c < kCodePoints; ++c) {
      if (combining_class(c) != 0) t[c] = 0;
      for (const bool compat : {false, true}) {
        const Decomposition d = decompose(c, compat);
        if (d.size == 1 && d.items[0] == static_cast<utf8proc_int32_t>(c)) continue;
        clear(c, compat ? NormalForm::Nfkd : NormalForm::Nfd);
        // What a composed form puts together again is inert unless it decomposes into other starters.
        char32_t again = static_cast<char32_t>(d.items[0]);
        for (std::size_t i = 1; i < d.size; ++i) {
          const auto joined = compose(again, static_cast<char32_t>(d.items[i]));
          again = joined ? *joined : kCodePoints;
          if (!joined) break;
        }
        if (again != c) clear(c, compat ? NormalForm::Nfkc : NormalForm::Nfc);
        for (std::size_t i = 1; i < d.size; ++i) {  // it may compose with what stands before it
          clear(static_cast<char32_t>(d.items[i]), NormalForm::Nfc);
          clear(static_cast<char32_t>(d.items[i]), NormalForm::Nfkc);
        }
      }
    }
    for (char32_t jamo = 0x1161; jamo <= 0x11C2; ++jamo) {
      clear(jamo, NormalForm::Nfc);
      clear(jamo, NormalForm::Nfkc);
    }
    return t;
  }();
  return table.data();
}

bool is_inert(char32_t c, NormalForm form) {
  return c < 0xA0 || ((inert_forms()[c] >> static_cast<int>(form)) & 1) != 0;
}

struct Item {
  int combining = 0;
  Change change;
};

/// Canonical decomposition and order of one stretch of text.
std::vector<Item> decomposed(std::string_view text, bool compat) {
  std::vector<Item> items;
  std::size_t marks = 0;  // start of the current run of combining marks
  const auto sort_marks = [&] {
    std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(marks), items.end(),
                     [](const Item& a, const Item& b) { return a.combining < b.combining; });
  };
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text.data() + i);
    const Decomposition d = decompose(c.value, compat);
    for (std::size_t k = 0; k < d.size; ++k) {
      const auto part = static_cast<char32_t>(d.items[k]);
      const int combining = combining_class(part);
      if (combining == 0) {
        sort_marks();
        marks = items.size();
      }
      items.push_back({combining, {part, k == 0 ? 0 : 1}});
    }
    i += c.length;
  }
  sort_marks();
  return items;
}

/// Canonical composition (UAX #15): a mark joins the last starter unless one of its class or above stands
/// between.
void compose_into(std::vector<Change>& out, const std::vector<Item>& items) {
  std::optional<std::size_t> starter;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing
  for (const Item& item : items) {
    if (starter && last_class < item.combining) {
      if (const auto joined = compose(out[*starter].character, item.change.character)) {
        out[*starter] = {*joined, out[*starter].change + item.change.change - 1};
        continue;
      }
    }
    if (item.combining == 0) {
      starter = out.size();
      last_class = -1;
    } else {
      last_class = item.combining;
    }
    out.push_back(item.change);
  }
}

void append_changes(std::vector<Change>& out, std::string_view part, NormalForm form) {
  const auto items = decomposed(part, compatible(form));
  if (composed(form)) {
    compose_into(out, items);
  } else {
    for (const Item& item : items) out.push_back(item.change);
  }
}

/// Calls inert(part) and active(part) for the stretches of `text` in turn. Only what is around characters
/// that are not inert has to go through the tables: each such stretch starts at the inert character before
/// (it may take part in a composition).
template <class Inert, class Active>
void each_stretch(std::string_view text, NormalForm form, Inert&& inert, Active&& active) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t begin = i, end = i;  // of the last inert character
    while (end < text.size()) {
      const CodePoint c = code_point_at(text.data() + end);
      if (!is_inert(c.value, form)) break;
      begin = end;
      end += c.length;
    }
    if (end == text.size()) return inert(text.substr(i));
    inert(text.substr(i, begin - i));
    while (end < text.size()) {
      const CodePoint c = code_point_at(text.data() + end);
      if (is_inert(c.value, form)) break;
      end += c.length;
    }
    active(text.substr(begin, end - begin));
    i = end;
  }
}

}  // namespace

bool is_surely_normal(std::string_view text, NormalForm form) {
  // Below U+0300 every character of NFC is inert: one comparison a byte settles most texts.
  const unsigned char limit = form == NormalForm::Nfc ? 0xCC : 0x80;
  std::size_t i = 0;
  while (i < text.size() && static_cast<unsigned char>(text[i]) < limit) ++i;
  while (i < text.size()) {
    const CodePoint c = code_point_at(text.data() + i);
    if (!is_inert(c.value, form)) return false;
    i += c.length;
  }
  return true;
}

std::vector<Change> normal_form_changes(std::string_view text, NormalForm form) {
  std::vector<Change> out;
  out.reserve(text.size());
  const auto inert = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size(); i += utf8_length(part[i])) {
      out.push_back({code_point_at(part.data() + i).value, 0});
    }
  };
  each_stretch(text, form, inert, [&](std::string_view part) { append_changes(out, part, form); });
  return out;
}

std::string normal_form_text(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  std::vector<Change> changes;
  const auto inert = [&](std::string_view part) { out += part; };
  each_stretch(text, form, inert, [&](std::string_view part) {
    changes.clear();
    append_changes(changes, part, form);
    for (const Change& change : changes) append_utf8(out, change.character);
  });
  return out;
}

}  // namespace bora::tokenize

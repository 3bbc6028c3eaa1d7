// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The pieces of texts that write ▁ for a space, one by one, without the alignment that PreTokenizer::apply()
// keeps.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "bora/tokenize/pretokenize/pre_tokenizer.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace metaspace {

/// Every space of `text` replaced, behind what `out` holds.
inline void append_replaced(std::string& out, std::string_view text, std::string_view replacement) {
  std::size_t done = 0;
  for (std::size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', done)) {
    out.append(text, done, at - done);
    out += replacement;
    done = at + 1;
  }
  out.append(text, done);
}

/// One text: cuts it before every replacement. `buffer` holds it, with whatever comes behind to be read.
template <class Use>
void cut(const MetaspaceRule& rule, std::string_view text, std::size_t readable, Use&& use) {
  std::size_t begin = 0;
  while (rule.split && begin < text.size()) {
    const std::size_t next = text.find(rule.replacement, begin + 1);
    if (next == std::string_view::npos) break;
    use(text.substr(begin, next - begin), readable - begin);
    begin = next;
  }
  if (begin < text.size()) use(text.substr(begin), readable - begin);
}

template <class Use>
void one_text(const MetaspaceRule& rule, std::string_view text, bool at_start, std::string& buffer,
              Use&& use) {
  constexpr std::size_t kSlack = 16;  // so that short pieces can be read as two words
  using Scheme = MetaspaceRule::Scheme;
  buffer.clear();
  const bool marked = text.starts_with(' ') || text.starts_with(rule.replacement);
  if (!marked && (rule.scheme == Scheme::Always || (rule.scheme == Scheme::First && at_start))) {
    buffer += rule.replacement;
  }
  append_replaced(buffer, text, rule.replacement);
  const std::size_t size = buffer.size();
  buffer.append(kSlack, '\0');
  cut(rule, std::string_view(buffer).substr(0, size), buffer.size(), use);
}

}  // namespace metaspace

/// Calls use(piece, bytes that may be read from its start) for the pieces of `text`; a piece lives until
/// use() returns. `at_start`: the text begins where the original does.
template <class Use>
void each_metaspace_piece(const MetaspaceRule& rule, std::string_view text, bool at_start, Use&& use) {
  std::string buffer;
  if (!rule.words) return metaspace::one_text(rule, text, at_start, buffer, use);
  const CharClass* classes = char_classes();
  const char* const end = text.data() + text.size();
  const auto is_space = [classes](const char* p) {
    return classes[code_point_at(p).value] == CharClass::Space;
  };
  for (const char* p = text.data(); p < end;) {
    if (is_space(p)) {
      p += utf8_length(*p);
      continue;
    }
    const char* begin = p;
    while (p < end && !is_space(p)) p += utf8_length(*p);
    metaspace::one_text(rule, {begin, static_cast<std::size_t>(p - begin)}, at_start && begin == text.data(),
                        buffer, use);
  }
}

}  // namespace bora::tokenize

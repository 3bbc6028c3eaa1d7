// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/unicode/oniguruma/fold.h"
#include "bora/unicode/oniguruma/parser.h"
#include "bora/unicode/oniguruma/properties.h"

namespace bora {

namespace {

constexpr std::size_t kDeepestBrackets = 50;  // brackets in brackets

bool has_more_than_ascii(const OnigClass& c) {
  const OnigClass simple = simplified(c);
  if (simple.kind == OnigClass::Kind::Set) return !simple.set.intersection({{0x80, kLastCodePoint}}).empty();
  std::vector<char32_t> beyond;
  for (char32_t v = 0x80; v <= kLastCodePoint; ++v) {
    if (v < 0xD800 || v >= 0xE000) beyond.push_back(v);
  }
  return !members(simple, beyond).empty();
}

}  // namespace

/// What has been read of a bracket. The last character waits, as it may begin a range.
struct OnigParser::Bracket {
  enum class State { Start, Value, Range, Complete };
  std::size_t begin, depth;
  State state = State::Start;
  std::optional<char32_t> waiting;  // none: what came last is a class
  CodePointSet set;
  std::vector<OnigClass> classes;
  std::vector<OnigClass> sides;  // of &&, those to the left

  void flush() {
    if (state == State::Value && waiting) set.add(*waiting);
    waiting.reset();
  }
  OnigClass side() {
    flush();
    classes.push_back(OnigClass::of(std::move(set)));
    set = {};
    state = State::Start;
    return OnigClass::any(std::exchange(classes, {}));
  }
};

/// What follows a [ outside of brackets.
OnigNode OnigParser::bracket_node() {
  const std::size_t begin = at_ - 1;
  const bool negative = peek() == '^';
  OnigClass set = bracket(0);
  if (!options_.fold) return class_node(std::move(set), begin);
  return folded_class(std::move(negative ? set.parts[0] : set), negative, begin);
}

OnigClass OnigParser::bracket(std::size_t depth) {
  Bracket b{at_ - 1, depth};
  if (depth > kDeepestBrackets)
    refuse_(fmt::format("more than {} brackets in each other", kDeepestBrackets), b.begin);
  const bool negative = take("^");
  negations_ += negative ? 1 : 0;
  if (take("]")) {  // a character, as a bracket is never empty
    bool closed = false;
    for (std::size_t i = at_; i < text_.size() && !closed; ++i) {
      closed = text_[i] == ']';
      if (text_[i] == '\\') ++i;
    }
    if (!closed) refuse_("an empty bracket", b.begin);
    value(b, ']');
  }
  while (!take("]")) {
    if (at_end()) refuse_("a [ without its ]", b.begin);
    bracket_item(b);
  }
  b.sides.push_back(b.side());
  negations_ -= negative ? 1 : 0;
  OnigClass all = OnigClass::all(std::move(b.sides));
  if (!negative) return all;
  OnigClass rest = OnigClass::negation(std::move(all));
  // Oniguruma takes the complement of such a bracket for ASCII alone.
  if (negations_ > 0 && !has_more_than_ascii(rest))
    refuse_("a negated bracket of nothing beyond ASCII in a negated bracket", b.begin);
  return rest;
}

void OnigParser::bracket_item(Bracket& b) {
  const std::size_t begin = at_;
  if (take("-")) return dash(b);
  if (take("&&")) {
    b.sides.push_back(b.side());
    return;
  }
  if (take("[")) {
    if (auto posix = posix_bracket()) return class_value(b, std::move(*posix));
    if (b.state == Bracket::State::Range) refuse_("a range that ends in a bracket", begin);
    b.flush();
    b.state = Bracket::State::Complete;
    b.classes.push_back(bracket(b.depth + 1));
    return;
  }
  if (!take("\\")) return value(b, character());
  if (auto set = escaped_set(peek(), true)) {
    ++at_;
    return class_value(b, std::move(*set));
  }
  if ((peek() == 'p' || peek() == 'P') && peek(1) == '{') {
    const bool negative = peek() == 'P';
    at_ += 2;
    return class_value(b, property(negative, true, begin));
  }
  value(b, escaped_character(begin));
}

/// A - is the middle of a range, or itself where there is none to make.
void OnigParser::dash(Bracket& b) {
  const bool last = peek() == ']' || next_is("&&");
  if (b.state != Bracket::State::Value || last) return value(b, '-');
  if (!b.waiting) refuse_("a range that begins with a class", at_ - 1);
  b.state = Bracket::State::Range;
}

void OnigParser::value(Bracket& b, char32_t c) const {
  if (b.state == Bracket::State::Range) {
    if (*b.waiting > c) refuse_("a range whose end is before its begin", at_);
    // Oniguruma takes the complement of such a range for everything.
    if (*b.waiting == 0 && c >= 0x80 && b.depth > 0)
      refuse_("a range from U+0000 beyond ASCII in a bracket of a bracket", at_);
    b.set.add(*b.waiting, c);
    b.waiting.reset();
    b.state = Bracket::State::Complete;
    return;
  }
  b.flush();
  b.waiting = c;
  b.state = Bracket::State::Value;
}

void OnigParser::class_value(Bracket& b, OnigClass c) const {
  if (b.state == Bracket::State::Range) refuse_("a range that ends in a class", at_);
  b.flush();
  b.state = Bracket::State::Value;
  b.classes.push_back(std::move(c));
}

/// [:name:], whose [ has been read; nothing if it is a bracket that begins with a colon.
std::optional<OnigClass> OnigParser::posix_bracket() {
  if (peek() != ':') return std::nullopt;
  const std::size_t begin = at_ - 1, name_begin = at_ + 1 + (peek(1) == '^' ? 1 : 0);
  std::size_t end = name_begin;
  while (end < text_.size() && ((text_[end] | 0x20) >= 'a' && (text_[end] | 0x20) <= 'z')) ++end;
  if (!text_.substr(end).starts_with(":]") || end == at_ + 1) return std::nullopt;
  const std::string_view name = text_.substr(name_begin, end - name_begin);
  auto set = posix_class(name);
  if (!set) refuse_(fmt::format("the POSIX bracket {}", name), begin);
  at_ = end + 2;
  return name_begin > begin + 2 ? OnigClass::negation(std::move(*set)) : std::move(*set);
}

}  // namespace bora

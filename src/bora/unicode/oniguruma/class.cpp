// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/class.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "bora/unicode/pattern.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using ClassKind = OnigClass::Kind;

constexpr char32_t kFirstSurrogate = 0xD800, kAfterSurrogates = 0xE000;

OnigClass joined(OnigClass c);

/// A negation inside out: of a set, of a negation, of the parts of what holds for all or any.
OnigClass negated(OnigClass c) {
  switch (c.kind) {
    case ClassKind::Set:
      return OnigClass::of(c.set.complement());
    case ClassKind::Not:
      return std::move(c.parts[0]);
    case ClassKind::All: {
      for (OnigClass& part : c.parts) part = negated(std::move(part));
      c.kind = ClassKind::Any;
      return joined(std::move(c));
    }
    default:
      return OnigClass::negation(std::move(c));
  }
}

/// Any or All, whose parts are simplified: nested ones are taken in, and all sets become one.
OnigClass joined(OnigClass c) {
  std::vector<OnigClass> parts;
  std::optional<CodePointSet> set;
  const auto take = [&](OnigClass part) {
    if (part.kind != ClassKind::Set) return parts.push_back(std::move(part));
    if (!set)
      set = std::move(part.set);
    else if (c.kind == ClassKind::Any)
      set->add(part.set);
    else
      set = set->intersection(part.set);
  };
  for (OnigClass& part : c.parts) {
    if (part.kind == c.kind)
      std::for_each(part.parts.begin(), part.parts.end(), [&](OnigClass& p) { take(std::move(p)); });
    else
      take(std::move(part));
  }
  if (set && set->empty() && c.kind == ClassKind::All) return OnigClass::of({});
  if (set && (!set->empty() || parts.empty())) parts.push_back(OnigClass::of(std::move(*set)));
  if (parts.empty())
    return OnigClass::of(c.kind == ClassKind::Any ? CodePointSet() : CodePointSet{{0, kLastCodePoint}});
  if (parts.size() == 1) return std::move(parts[0]);
  c.parts = std::move(parts);
  return c;
}

/// The inside of a bracket for a set. Surrogates are no characters of a text, and no words of PCRE2.
std::string inside_of(const CodePointSet& set) {
  std::string out;
  const auto append = [&](char32_t c) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    out += plain ? std::string(1, static_cast<char>(c))
                 : fmt::format("\\x{{{:X}}}", static_cast<std::uint32_t>(c));
  };
  for (auto [first, last] : set.ranges()) {
    if (first >= kFirstSurrogate && first < kAfterSurrogates) first = kAfterSurrogates;
    if (last >= kFirstSurrogate && last < kAfterSurrogates) last = kFirstSurrogate - 1;
    if (first > last) continue;
    append(first);
    if (last > first + 1) out += '-';
    if (last > first) append(last);
  }
  return out;
}

/// The inside of a bracket, if one bracket can say it.
std::optional<std::string> inside_of(const OnigClass& c) {
  switch (c.kind) {
    case ClassKind::Set:
      return inside_of(c.set);
    case ClassKind::Property:
      return fmt::format("\\p{{{}}}", c.property);
    case ClassKind::Not:
      if (c.parts[0].kind != ClassKind::Property) return std::nullopt;
      return fmt::format("\\P{{{}}}", c.parts[0].property);
    case ClassKind::All:
      return std::nullopt;
    case ClassKind::Any:
      break;
  }
  std::string out;
  for (const OnigClass& part : c.parts) {
    const auto inside = inside_of(part);
    if (!inside) return std::nullopt;
    out += *inside;
  }
  return out;
}

std::string bracket(const std::string& inside, bool negative) {
  if (inside.empty()) return negative ? "." : "(?:(?!).)";  // a bracket of PCRE2 has something in it
  return fmt::format("[{}{}]", negative ? "^" : "", inside);
}

std::string set_or_its_complement(const CodePointSet& set) {
  const auto& ranges = set.ranges();
  if (ranges.size() == 1 && ranges[0].first == ranges[0].last) {
    if (ranges[0].first < kFirstSurrogate || ranges[0].first >= kAfterSurrogates)
      return pcre2_literal(ranges[0].first);
  }
  const bool most = !ranges.empty() && ranges.back().last == kLastCodePoint;
  return most ? bracket(inside_of(set.complement()), true) : bracket(inside_of(set), false);
}

/// One character of all parts: the last part that a bracket can say takes it, after a look at the others.
std::string all_of(const OnigClass& c) {
  std::size_t taker = c.parts.size() - 1;
  for (std::size_t i = c.parts.size(); i-- > 0;) {
    if (c.parts[i].kind != ClassKind::Not && inside_of(c.parts[i])) taker = i;
  }
  std::string out = "(?:";
  for (std::size_t i = 0; i < c.parts.size(); ++i) {
    if (i == taker) continue;
    const OnigClass& part = c.parts[i];
    const bool negative = part.kind == ClassKind::Not;
    out += fmt::format("(?{}{})", negative ? '!' : '=', pcre2_class(negative ? part.parts[0] : part));
  }
  return out + pcre2_class(c.parts[taker]) + ")";
}

/// One character of any part: a bracket for those that it can say, and alternatives.
std::string any_of(const OnigClass& c) {
  std::string inside, others;
  for (const OnigClass& part : c.parts) {
    if (const auto text = inside_of(part))
      inside += *text;
    else
      others += "|" + pcre2_class(part);
  }
  return inside.empty() ? fmt::format("(?:{})", others.substr(1))
                        : fmt::format("(?:{}{})", bracket(inside, false), others);
}

}  // namespace

OnigClass OnigClass::of(CodePointSet set) {
  OnigClass c;
  c.set = std::move(set);
  return c;
}

OnigClass OnigClass::of_property(std::string_view name) {
  OnigClass c;
  c.kind = ClassKind::Property;
  c.property = name;
  return c;
}

OnigClass OnigClass::any(std::vector<OnigClass> parts) {
  OnigClass c;
  c.kind = ClassKind::Any;
  c.parts = std::move(parts);
  return c;
}

OnigClass OnigClass::all(std::vector<OnigClass> parts) {
  OnigClass c;
  c.kind = ClassKind::All;
  c.parts = std::move(parts);
  return c;
}

OnigClass OnigClass::negation(OnigClass part) {
  OnigClass c;
  c.kind = ClassKind::Not;
  c.parts.push_back(std::move(part));
  return c;
}

OnigClass simplified(OnigClass c) {
  for (OnigClass& part : c.parts) part = simplified(std::move(part));
  if (c.kind == ClassKind::Not) return negated(std::move(c.parts[0]));
  if (c.kind == ClassKind::Any || c.kind == ClassKind::All) return joined(std::move(c));
  return c;
}

std::string pcre2_class(const OnigClass& c) {
  if (c.kind == ClassKind::Set) return set_or_its_complement(c.set);
  if (const auto inside = inside_of(c)) return bracket(*inside, false);
  if (c.kind == ClassKind::All) return all_of(c);
  if (c.kind == ClassKind::Any) return any_of(c);
  const OnigClass& other = c.parts[0];
  if (const auto inside = inside_of(other)) return bracket(*inside, true);
  return fmt::format("(?:(?!{}).)", pcre2_class(other));
}

std::string pcre2_literal(char32_t c) {
  const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  if (plain) return {static_cast<char>(c)};
  if (c > 0x20 && c < 0x7F) return {'\\', static_cast<char>(c)};
  return fmt::format("\\x{{{:X}}}", static_cast<std::uint32_t>(c));
}

std::vector<char32_t> members(const OnigClass& c, const std::vector<char32_t>& candidates) {
  std::vector<char32_t> out;
  if (c.kind == ClassKind::Set) {
    std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(out),
                 [&](char32_t v) { return c.set.contains(v); });
    return out;
  }
  std::string text;
  for (const char32_t v : candidates) append_utf8(text, v);
  for (const PatternPart& part : Pattern::pcre2(pcre2_class(c)).parts(text)) {
    if (part.match) out.push_back(code_point_at(text.data() + part.range.begin).value);
  }
  return out;
}

}  // namespace bora

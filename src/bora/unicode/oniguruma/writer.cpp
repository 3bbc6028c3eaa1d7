// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/writer.h"

#include <fmt/core.h>

#include "bora/unicode/oniguruma/properties.h"

namespace bora {

namespace {

using Kind = OnigNode::Kind;

/// \b and \B, by the word characters of Oniguruma.
std::string boundary(bool is_one) {
  static const std::string word_text = pcre2_class(simplified(word(false)));
  const std::string& w = word_text;
  return is_one ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", w)
                : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", w);
}

std::string joined(const OnigNode& node, std::string_view between) {
  std::string out;
  for (const OnigNode& part : node.parts) {
    if (&part != node.parts.data()) out += between;
    const bool loose = part.kind == Kind::Alternation;
    out += loose ? fmt::format("(?:{})", pcre2_text(part)) : pcre2_text(part);
  }
  return out;
}

std::string times(const OnigNode& node) {
  std::string out;
  if (!node.high)
    out = node.low == 0 ? "*" : node.low == 1 ? "+" : fmt::format("{{{},}}", node.low);
  else
    out = node.low == 0 && node.high == 1 ? "?" : fmt::format("{{{},{}}}", node.low, *node.high);
  return out;
}

std::string repeat(const OnigNode& node, std::string_view how) {
  const OnigNode& body = node.parts[0];
  const bool one = body.kind == Kind::Literal || body.kind == Kind::Class || body.kind == Kind::Capture;
  return (one ? pcre2_text(body) : fmt::format("(?:{})", pcre2_text(body))) + times(node) + std::string(how);
}

std::string look(const OnigNode& node) {
  return fmt::format("(?{}{}{})", node.behind ? "<" : "", node.negative ? '!' : '=',
                     pcre2_text(node.parts[0]));
}

std::string anchor(char name) {
  if (name == '^' || name == '$') return {name};
  if (name == 'b' || name == 'B') return boundary(name == 'b');
  return {'\\', name};
}

}  // namespace

std::string pcre2_text(const OnigNode& node) {
  switch (node.kind) {
    case Kind::Empty:
      return {};
    case Kind::Literal:
      return pcre2_literal(node.literal);
    case Kind::Class:
      return pcre2_class(simplified(node.set));
    case Kind::Sequence:
      return joined(node, "");
    case Kind::Alternation:
      return joined(node, "|");
    case Kind::Repeat:
      return repeat(node, node.greedy ? "" : "?");
    case Kind::Capture:
      return fmt::format("({})", pcre2_text(node.parts[0]));
    case Kind::Scope:
      return fmt::format("(?:{})", pcre2_text(node.parts[0]));
    case Kind::Atomic:
      if (node.parts[0].kind == Kind::Repeat && node.parts[0].greedy) return repeat(node.parts[0], "+");
      return fmt::format("(?>{})", pcre2_text(node.parts[0]));
    case Kind::Look:
      return look(node);
    case Kind::Anchor:
      return anchor(node.anchor);
    case Kind::Reference:
      return fmt::format("\\g{{{}}}", node.number);
  }
  return {};
}

}  // namespace bora

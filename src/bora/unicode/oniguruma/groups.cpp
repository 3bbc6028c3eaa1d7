// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>

#include "bora/unicode/oniguruma/parser.h"
#include "bora/unicode/oniguruma/properties.h"

namespace bora {

namespace {

using Kind = OnigNode::Kind;

}  // namespace

/// What follows a (.
OnigNode OnigParser::group() {
  const std::size_t begin = at_ - 1;
  if (take("?")) return special_group(begin);
  if (peek() == '*') refuse_("a callout (*", begin);
  OnigNode capture(Kind::Capture, begin);
  capture.number = ++groups_;
  capture.parts.push_back(body(begin));
  closed_.resize(static_cast<std::size_t>(groups_) + 1);
  closed_[static_cast<std::size_t>(capture.number)] = true;
  return capture;
}

OnigNode OnigParser::special_group(std::size_t at) {
  if (take(":")) return body(at);
  if (take("=")) return look(at, false, false);
  if (take("!")) return look(at, false, true);
  if (take("<=")) return look(at, true, false);
  if (take("<!")) return look(at, true, true);
  if (take(">")) {
    OnigNode atomic(Kind::Atomic, at);
    atomic.parts.push_back(body(at));
    return atomic;
  }
  if (take("<")) return named(at, '>');
  if (take("'")) return named(at, '\'');
  if (peek() == '~') refuse_("an absent group (?~", at);
  if (peek() == '(') refuse_("a condition (?(", at);
  if (peek() == '{') refuse_("a callout (?{", at);
  return with_options(at);
}

OnigNode OnigParser::body(std::size_t at) {
  const Options outside = options_;
  OnigNode inside = alternation();
  options_ = outside;
  if (!take(")")) refuse_("a ( without its )", at);
  return inside;
}

OnigNode OnigParser::look(std::size_t at, bool behind, bool negative) {
  OnigNode node(Kind::Look, at);
  node.behind = behind;
  node.negative = negative;
  const int before = groups_;
  ++looks_;
  node.parts.push_back(body(at));
  --looks_;
  if (behind && negative && groups_ > before) refuse_("a group that remembers in a negative look-behind", at);
  return node;
}

std::string OnigParser::name_until(char end, std::size_t at) {
  std::string name;
  for (; !at_end() && peek() != end && peek() != ')'; ++at_) name += peek();
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits) || !take({&end, 1}))
    refuse_("a group name that is not letters, digits and _", at);
  return name;
}

OnigNode OnigParser::named(std::size_t at, char end) {
  const std::string name = name_until(end, at);
  if (name[0] >= '0' && name[0] <= '9') refuse_("a group name that begins with a digit", at);
  OnigNode capture(Kind::Capture, at);
  capture.number = ++groups_;
  if (!names_.emplace(name, capture.number).second)
    refuse_(fmt::format("a second group with the name {}", name), at);
  capture.parts.push_back(body(at));
  closed_.resize(static_cast<std::size_t>(groups_) + 1);
  closed_[static_cast<std::size_t>(capture.number)] = true;
  return capture;
}

void OnigParser::option(char letter, bool on, std::size_t at, Options& options) const {
  switch (letter) {
    case 'i':
      options.fold = on;
      return;
    case 'm':
      options.dot_all = on;
      return;
    case 'x':
      options.extended = on;
      return;
    default:
      refuse_(fmt::format("the option {} of (?", letter), at);
  }
}

/// (?imx-imx:...), or (?imx-imx), which holds to the end of the group, over all alternatives that follow.
OnigNode OnigParser::with_options(std::size_t at) {
  Options options = options_;
  bool on = true;
  for (; peek() != ':' && peek() != ')'; ++at_) {
    if (at_end()) refuse_("a ( without its )", at);
    if (peek() == '-')
      on = false;
    else
      option(peek(), on, at, options);
  }
  OnigNode scope(Kind::Scope, at);
  const Options outside = options_;
  const bool whole = text_[at_++] == ')';
  options_ = options;
  scope.parts.push_back(whole ? alternation() : body(at));
  options_ = outside;
  return scope;
}

OnigNode OnigParser::reference(int number, std::size_t at) const {
  const auto n = static_cast<std::size_t>(number);
  if (n >= closed_.size() || !closed_[n]) refuse_("a reference to a group that does not end before it", at);
  if (options_.fold) refuse_("a reference under (?i)", at);
  OnigNode node(Kind::Reference, at);
  node.number = number;
  return node;
}

/// \k<name>, \k'name', by number too.
OnigNode OnigParser::reference_by_name(std::size_t at) {
  const char end = take("<") ? '>' : take("'") ? '\'' : '\0';
  if (end == '\0') refuse_("\\k without a name", at);
  const std::string name = name_until(end, at);
  const auto found = names_.find(name);
  if (found != names_.end()) return reference(found->second, at);
  if (name.size() > 2 || name.find_first_not_of("0123456789") != std::string::npos)
    refuse_(fmt::format("a reference to {}, which is no group before it", name), at);
  by_number_ = true;
  return reference(std::stoi(name), at);
}

}  // namespace bora

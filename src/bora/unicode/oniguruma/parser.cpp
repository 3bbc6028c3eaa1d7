// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/parser.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/json_view.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using Kind = OnigNode::Kind;

constexpr std::size_t kDeepest = 100;  // groups in groups
constexpr int kMostRepeats = 65535;    // PCRE2's limit

/// Whether Oniguruma refuses to repeat it: a place has no width.
bool is_place(const OnigNode& node) {
  switch (node.kind) {
    case Kind::Anchor:
    case Kind::Look:
      return true;
    case Kind::Sequence:
      return std::all_of(node.parts.begin(), node.parts.end(), is_place);
    case Kind::Alternation:
      return std::any_of(node.parts.begin(), node.parts.end(), is_place);
    default:
      return false;
  }
}

bool is_one_character(const OnigNode& node) { return node.kind == Kind::Literal || node.kind == Kind::Class; }

/// x{0,n} or x{1,n}, greedy.
bool is_simple(const OnigNode& node) {
  return node.kind == Kind::Repeat && node.greedy && node.low <= 1 && (!node.high || *node.high >= 1);
}

/// (x{1,3})+ and the like take as many characters as they can, one less after another: x+.
bool is_run_of_runs(const OnigNode& inner, const OnigNode& outer) {
  return is_simple(inner) && is_one_character(inner.parts[0]) && is_simple(outer) && !outer.high;
}

bool can_match_nothing(const OnigNode& node) {
  switch (node.kind) {
    case Kind::Literal:
    case Kind::Class:
      return false;
    case Kind::Alternation:
      return std::any_of(node.parts.begin(), node.parts.end(), can_match_nothing);
    case Kind::Repeat:
      return node.low == 0 || can_match_nothing(node.parts[0]);
    case Kind::Sequence:
    case Kind::Capture:
    case Kind::Scope:
    case Kind::Atomic:
      return std::all_of(node.parts.begin(), node.parts.end(), can_match_nothing);
    default:
      return true;
  }
}

/// Whether Oniguruma and PCRE2 may disagree on repeating it a number of times: an empty turn is Oniguruma's
/// last, sometimes. For a run of one character that makes no difference.
bool is_unsure(const OnigNode& node) {
  if (!can_match_nothing(node)) return false;
  const OnigNode& inner = node.kind == Kind::Atomic ? node.parts[0] : node;
  return inner.kind != Kind::Repeat || !is_one_character(inner.parts[0]);
}

}  // namespace

OnigNode class_node(OnigClass set, std::size_t at) {
  OnigNode node(Kind::Class, at);
  node.set = std::move(set);
  return node;
}

void OnigRefusal::operator()(const std::string& what, std::size_t at) const {
  fail(ErrorKind::Unsupported,
       "{}: the regex {} cannot be used: {} at byte {}\nhint: write that part of the regex in another way",
       where_, json_string(regex_), what, at);
}

bool OnigParser::take(std::string_view s) {
  if (!next_is(s)) return false;
  at_ += s.size();
  return true;
}

char32_t OnigParser::character() {
  const CodePoint c = code_point_at(text_.data() + at_);
  at_ += c.length;
  return c.value;
}

OnigNode OnigParser::parse() {
  if (!is_valid_utf8(text_)) refuse_("text that is not UTF-8", 0);
  OnigNode root = alternation();
  if (!at_end()) refuse_("a ) without its (", at_);
  if (!names_.empty()) {
    if (by_number_) refuse_("a reference by number beside named groups", 0);
    forget_plain_groups(root);
  }
  return root;
}

/// Where there are named groups, plain ones remember nothing.
void OnigParser::forget_plain_groups(OnigNode& node) {
  if (node.kind == Kind::Capture) {
    const bool named = std::any_of(names_.begin(), names_.end(),
                                   [&](const auto& entry) { return entry.second == node.number; });
    if (!named) node.kind = Kind::Scope;
  }
  for (OnigNode& part : node.parts) forget_plain_groups(part);
}

OnigNode OnigParser::alternation() {
  if (++depth_ > kDeepest) refuse_(fmt::format("more than {} groups in each other", kDeepest), at_);
  const std::size_t begin = at_;
  std::vector<OnigNode> branches;
  do branches.push_back(branch());
  while (take("|"));
  --depth_;
  return branches.size() == 1 ? std::move(branches[0])
                              : OnigNode(Kind::Alternation, begin, std::move(branches));
}

OnigNode OnigParser::branch() {
  const std::size_t begin = at_;
  std::vector<OnigNode> pieces;
  for (skip_blanks(); !at_end() && peek() != '|' && peek() != ')'; skip_blanks()) {
    OnigNode next = piece();
    if (next.kind == Kind::Sequence)  // (?:ab)c is abc
      std::move(next.parts.begin(), next.parts.end(), std::back_inserter(pieces));
    else
      pieces.push_back(std::move(next));
  }
  if (pieces.empty()) return OnigNode(Kind::Empty, begin);
  return pieces.size() == 1 ? std::move(pieces[0]) : OnigNode(Kind::Sequence, begin, std::move(pieces));
}

OnigNode OnigParser::piece() {
  OnigNode node = atom();
  for (;;) {
    skip_blanks();
    const std::size_t begin = at_;
    const auto times = quantifier();
    if (!times) return node;
    node = repeated(std::move(node), *times, begin);
  }
}

OnigNode OnigParser::repeated(OnigNode node, const Quantifier& times, std::size_t at) const {
  if (is_place(node)) refuse_("a quantifier of what has no width", at);
  if (times.low > kMostRepeats || times.high.value_or(0) > kMostRepeats)
    refuse_(fmt::format("more than {} repetitions", kMostRepeats), at);
  if (times.low == 1 && times.high == 1) return node;
  if (std::max(times.low, times.high.value_or(0)) > 1 && is_unsure(node))
    refuse_("a counted quantifier of what may be empty", at);
  OnigNode repeat(Kind::Repeat, at);
  repeat.low = times.low;
  repeat.high = times.high;
  repeat.greedy = times.greedy;
  if (is_run_of_runs(node, repeat)) {
    repeat.low = std::min(repeat.low, node.low);
    repeat.parts = std::move(node.parts);
  } else {
    repeat.parts.push_back(std::move(node));
  }
  if (!times.possessive) return repeat;
  OnigNode atomic(Kind::Atomic, at);
  atomic.parts.push_back(std::move(repeat));
  return atomic;
}

std::optional<OnigParser::Quantifier> OnigParser::quantifier() {
  std::optional<Quantifier> q;
  if (take("*"))
    q = Quantifier{0, std::nullopt, true, false};
  else if (take("+"))
    q = Quantifier{1, std::nullopt, true, false};
  else if (take("?"))
    q = Quantifier{0, 1, true, false};
  else
    return interval();
  if (take("?"))
    q->greedy = false;
  else
    q->possessive = take("+");
  return q;
}

/// {n}, {n,}, {,m}, {n,m}; {m,n} with m greater is possessive; anything else is not a quantifier. A + behind
/// it is the next quantifier, and so is a ? behind {n}.
std::optional<OnigParser::Quantifier> OnigParser::interval() {
  const std::size_t begin = at_;
  if (!take("{")) return std::nullopt;
  const auto low = number();
  auto high = low;
  const bool exact = !take(",");
  if (!exact) high = number();
  if ((!low && !high) || (exact && !low) || !take("}")) {
    at_ = begin;
    return std::nullopt;
  }
  if (low && high && *high < *low) return Quantifier{*high, low, true, true};
  return Quantifier{low.value_or(0), high, exact || !take("?"), false};
}

std::optional<int> OnigParser::number() {
  std::optional<int> value;
  for (; peek() >= '0' && peek() <= '9'; ++at_) {
    value = value.value_or(0) * 10 + (peek() - '0');
    if (*value > 100'000) refuse_("a number above 100000", at_);
  }
  return value;
}

/// Comments, and in extended syntax white space.
void OnigParser::skip_blanks() {
  for (;;) {
    if (next_is("(?#")) {
      const std::size_t begin = at_;
      for (at_ += 3; peek() != ')'; ++at_) {
        if (peek() == '\\') ++at_;
        if (at_end()) refuse_("a comment without its end", begin);
      }
      ++at_;
    } else if (options_.extended && !at_end() &&
               std::string_view(" \t\n\r\f").find(peek()) != std::string_view::npos) {
      ++at_;
    } else if (options_.extended && peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

OnigNode OnigParser::atom() {
  const std::size_t begin = at_;
  if (std::string_view("*+?").find(peek()) != std::string_view::npos && !at_end())
    refuse_("a quantifier of nothing", begin);
  if (interval()) refuse_("a quantifier of nothing", begin);
  if (take("(")) return group();
  if (take("[")) return bracket_node();
  if (take("\\")) return escape();
  if (take(".")) {
    CodePointSet all = {{0, kLastCodePoint}};
    return class_node(OnigClass::of(options_.dot_all ? all : CodePointSet{{'\n', '\n'}}.complement()), begin);
  }
  if (peek() == '^' || peek() == '$') {
    OnigNode node(Kind::Anchor, begin);
    node.anchor = text_[at_++];
    return node;
  }
  OnigNode node(Kind::Literal, begin);
  node.literal = character();
  node.fold = options_.fold;
  return node;
}

}  // namespace bora

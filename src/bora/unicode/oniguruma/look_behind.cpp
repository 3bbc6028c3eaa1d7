// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/look_behind.h"

#include <algorithm>
#include <iterator>

namespace bora {

namespace {

using Kind = OnigNode::Kind;
using Nodes = std::vector<OnigNode>;

constexpr std::size_t kMostAlternatives = 256;
constexpr int kLongest = 255;

/// How many characters it always has, if that is one number.
std::optional<int> length_of(const OnigNode& node) {
  switch (node.kind) {
    case Kind::Empty:
    case Kind::Look:
    case Kind::Anchor:
      return 0;
    case Kind::Literal:
    case Kind::Class:
      return 1;
    case Kind::Reference:
      return std::nullopt;
    case Kind::Repeat: {
      const auto one = length_of(node.parts[0]);
      if (!one || node.high != node.low || node.low > kLongest) return std::nullopt;
      return *one * node.low;
    }
    case Kind::Sequence: {
      int sum = 0;
      for (const OnigNode& part : node.parts) {
        const auto one = length_of(part);
        if (!one || sum > kLongest) return std::nullopt;
        sum += *one;
      }
      return sum;
    }
    default: {
      const auto first = length_of(node.parts[0]);
      const bool equal = std::all_of(node.parts.begin(), node.parts.end(),
                                     [&](const OnigNode& part) { return length_of(part) == first; });
      return equal ? first : std::nullopt;
    }
  }
}

bool remembers(const OnigNode& node) {
  return node.kind == Kind::Capture || std::any_of(node.parts.begin(), node.parts.end(), remembers);
}

/// A part that looks at what follows: Oniguruma, behind several lengths, takes the look-behind's end for the
/// text's, sometimes.
const OnigNode* looks_on(const OnigNode& node) {
  const bool before = node.anchor == '^' || node.anchor == 'A';
  if (node.kind == Kind::Look || (node.kind == Kind::Anchor && !before)) return &node;
  for (const OnigNode& part : node.parts) {
    if (const OnigNode* found = looks_on(part)) return found;
  }
  return nullptr;
}

bool may_be_empty(const OnigNode& node) {
  const auto all = [&] { return std::all_of(node.parts.begin(), node.parts.end(), may_be_empty); };
  switch (node.kind) {
    case Kind::Literal:
    case Kind::Class:
    case Kind::Reference:
      return false;
    case Kind::Repeat:
      return node.low == 0 || all();
    case Kind::Alternation:
      return std::any_of(node.parts.begin(), node.parts.end(), may_be_empty);
    default:
      return all();
  }
}

/// Several parts of several lengths that may all be empty: Oniguruma gives up.
void refuse_empty(const OnigNode& node, const OnigRefusal& refuse) {
  const auto varies = [](const OnigNode& part) { return !length_of(part); };
  if (node.kind == Kind::Alternation) {
    for (const OnigNode& part : node.parts) refuse_empty(part, refuse);
  } else if (node.kind == Kind::Sequence && may_be_empty(node) &&
             std::ranges::count_if(node.parts, varies) > 1) {
    refuse("parts of several lengths, all of which may be empty, in a look-behind", node.at);
  }
}

class Alternatives {
 public:
  explicit Alternatives(const OnigRefusal& refuse) : refuse_(refuse) {}

  /// Nodes of one length each that together match where `node` does. `first`: nothing stands before it.
  Nodes of(const OnigNode& node, bool first) const {
    if (length_of(node).value_or(kLongest + 1) <= kLongest) return {node};
    if (node.kind != Kind::Alternation && remembers(node))
      refuse_("a group that remembers in a look-behind of several lengths", node.at);
    switch (node.kind) {
      case Kind::Alternation:
        return of_alternation(node, first);
      case Kind::Sequence:
        return of_sequence(node.parts, first);
      case Kind::Scope:
        return of(node.parts[0], first);
      case Kind::Repeat:
        return of_repeat(node, first);
      case Kind::Reference:
        refuse_("a reference in a look-behind", node.at);
      default:
        refuse_("an atomic group of several lengths in a look-behind", node.at);
    }
  }

 private:
  void check(std::size_t count, std::size_t at) const {
    if (count > kMostAlternatives) refuse_("a look-behind of too many lengths", at);
  }

  Nodes of_alternation(const OnigNode& node, bool first) const {
    Nodes out;
    for (const OnigNode& part : node.parts) std::ranges::move(of(part, first), std::back_inserter(out));
    check(out.size(), node.at);
    return out;
  }

  Nodes of_sequence(const Nodes& parts, bool first) const {
    Nodes out = {OnigNode(Kind::Sequence, parts[0].at)};
    for (const OnigNode& part : parts) {
      const Nodes ends = of(part, first);
      first = first && ends.size() == 1 && ends[0].kind == Kind::Empty;
      check(out.size() * ends.size(), part.at);
      Nodes longer;
      for (const OnigNode& begin : out) {
        for (const OnigNode& end : ends) {
          longer.push_back(begin);
          longer.back().parts.push_back(end);
        }
      }
      out = std::move(longer);
    }
    return out;
  }

  /// x{2,} at the beginning of a look-behind holds where x{2} does.
  Nodes of_repeat(const OnigNode& node, bool first) const {
    const int high = first ? node.low : node.high.value_or(kLongest + 1);
    if (high > kLongest) refuse_("a look-behind without a greatest length", node.at);
    Nodes out;
    for (int n = node.low; n <= high; ++n) {
      const Nodes copies(static_cast<std::size_t>(n), node.parts[0]);
      if (n == 0)
        out.emplace_back(Kind::Empty, node.at);
      else
        std::ranges::move(of_sequence(copies, first), std::back_inserter(out));
      check(out.size(), node.at);
    }
    return out;
  }

  const OnigRefusal& refuse_;
};

/// Follows how the regex begins; whether it may go on, because `node` has no width. `look`: where one stood.
bool begins(const OnigNode& node, std::optional<std::size_t>& look, const OnigRefusal& refuse) {
  switch (node.kind) {
    case Kind::Look:
      if (!node.behind && !node.negative && !look) look = node.at;
      return true;
    case Kind::Empty:
    case Kind::Anchor:
      return true;
    case Kind::Sequence:
    case Kind::Scope:
    case Kind::Capture:
    case Kind::Atomic:
      return std::ranges::all_of(node.parts,
                                 [&](const OnigNode& part) { return begins(part, look, refuse); });
    case Kind::Repeat: {
      const OnigNode& one = node.parts[0];
      const bool any =
          one.kind == Kind::Class && one.set.kind == OnigClass::Kind::Set && one.set.set.complement().empty();
      if (look && any && node.greedy && !node.high && node.low <= 1)
        refuse("a look-ahead before (?m:.*) at the beginning", *look);
      return begins(one, look, refuse);
    }
    default:
      return false;
  }
}

}  // namespace

void refuse_early_looks(const OnigNode& tree, const OnigRefusal& refuse) {
  std::optional<std::size_t> look;
  begins(tree, look, refuse);
}

void fix_look_behinds(OnigNode& node, const OnigRefusal& refuse) {
  for (OnigNode& part : node.parts) fix_look_behinds(part, refuse);
  if (node.kind != Kind::Look || !node.behind) return;
  if (!length_of(node.parts[0])) {
    if (const OnigNode* found = looks_on(node.parts[0]))
      refuse("a place or look in a look-behind of several lengths", found->at);
  }
  refuse_empty(node.parts[0], refuse);
  Nodes nodes = Alternatives(refuse).of(node.parts[0], true);
  OnigNode body =
      nodes.size() == 1 ? std::move(nodes[0]) : OnigNode(Kind::Alternation, node.at, std::move(nodes));
  node.parts[0] = std::move(body);
}

}  // namespace bora

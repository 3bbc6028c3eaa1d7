// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/fold.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>

#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using Kind = OnigNode::Kind;

/// Who folds to what.
struct Folds {
  std::map<char32_t, std::u32string> fold;                // of every character that does not fold to itself
  std::map<std::u32string, std::vector<char32_t>> folds;  // the other way round, in order
  std::vector<char32_t> all;                              // that fold, or that others fold to, in order
};

/// The full case folding of one character.
std::u32string fold_of(char32_t c) {
  std::array<utf8proc_int32_t, 8> out{};
  int last_class = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), out.data(), out.size(),
                                         UTF8PROC_CASEFOLD, &last_class);
  std::u32string folded(out.begin(), out.begin() + std::clamp<std::ptrdiff_t>(n, 0, std::ssize(out)));
  const char32_t lower = lower_case(c)[0];
  const bool newer = (c >= 0x1C89 && c <= 0x1C8A) || (c >= 0xA7CB && c <= 0xA7CC) ||
                     (c >= 0xA7DA && c <= 0xA7DC) || (c >= 0x10D50 && c <= 0x10D65);  // of Unicode 16
  return newer ? std::u32string(1, lower) : folded;
}

Folds make_folds() {
  constexpr char32_t kEnd = 0x1E944;  // beyond the last character that folds
  Folds f;
  for (char32_t c = 0; c < kEnd; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::u32string folded = fold_of(c);
    if (folded.empty() || folded == std::u32string(1, c)) continue;
    f.folds[folded].push_back(c);
    f.fold.emplace(c, std::move(folded));
  }
  CodePointSet all;
  for (const auto& [c, folded] : f.fold) {
    all.add(c);
    if (folded.size() == 1) all.add(folded[0]);
  }
  for (const auto& [first, last] : all.ranges()) {
    for (char32_t c = first; c <= last; ++c) f.all.push_back(c);
  }
  return f;
}

const Folds& folds() {
  static const Folds f = make_folds();
  return f;
}

/// Those that fold to the same one character as `c`, with it.
CodePointSet same(char32_t c) {
  const auto found = folds().fold.find(c);
  const std::u32string key =
      found != folds().fold.end() && found->second.size() == 1 ? found->second : std::u32string(1, c);
  CodePointSet set;
  set.add(c);
  const auto others = folds().folds.find(key);
  if (others == folds().folds.end()) return set;
  set.add(key[0]);
  for (const char32_t other : others->second) set.add(other);
  return set;
}

OnigNode set_node(CodePointSet set, std::size_t at) { return class_node(OnigClass::of(std::move(set)), at); }

/// The characters of a folded string, each in all its cases.
OnigNode spelled(const std::u32string& folded, std::size_t at) {
  OnigNode node(Kind::Sequence, at);
  for (const char32_t c : folded) node.parts.push_back(set_node(same(c), at));
  return node;
}

CodePointSet those_that_fold_to(const std::u32string& folded) {
  CodePointSet set;
  for (const char32_t c : folds().folds.at(folded)) set.add(c);
  return set;
}

/// A string that some character folds to, or that character.
OnigNode spelled_or_one(const std::u32string& folded, std::size_t at) {
  OnigNode node(Kind::Alternation, at);
  node.parts.push_back(spelled(folded, at));
  node.parts.push_back(set_node(those_that_fold_to(folded), at));
  OnigNode scope(Kind::Scope, at);
  scope.parts.push_back(std::move(node));
  return scope;
}

/// The node for the longest beginning of `literals` that folds as one; drops it from there.
OnigNode next_fold(std::span<OnigNode>& literals, bool behind) {
  const std::size_t at = literals[0].at;
  for (std::size_t n = std::min<std::size_t>(3, literals.size()); n > 1 && !behind; --n) {
    std::u32string key;
    for (std::size_t i = 0; i < n; ++i) {
      const auto found = folds().fold.find(literals[i].literal);
      const bool one = found != folds().fold.end() && found->second.size() == 1;
      key += one ? found->second[0] : literals[i].literal;
    }
    if (!folds().folds.contains(key)) continue;
    literals = literals.subspan(n);
    return spelled_or_one(key, at);
  }
  const char32_t c = literals[0].literal;
  literals = literals.subspan(1);
  const auto found = folds().fold.find(c);
  if (found == folds().fold.end() || found->second.size() == 1) return set_node(same(c), at);
  return behind ? set_node(those_that_fold_to(found->second), at) : spelled_or_one(found->second, at);
}

bool is_folding(const OnigNode& node) { return node.kind == Kind::Literal && node.fold; }

}  // namespace

OnigNode folded_class(OnigClass set, bool negative, std::size_t at) {
  const std::vector<char32_t> own = members(simplified(set), folds().all);
  CodePointSet more;
  std::map<std::u32string, bool> strings;  // of two characters first
  for (const char32_t c : own) {
    more.add(same(c));
    const auto found = folds().fold.find(c);
    if (found == folds().fold.end() || found->second.size() == 1) continue;
    more.add(those_that_fold_to(found->second));
    strings[found->second] = true;
  }
  OnigClass all = OnigClass::any({std::move(set), OnigClass::of(std::move(more))});
  if (negative) return class_node(OnigClass::negation(std::move(all)), at);
  OnigNode one = class_node(std::move(all), at);
  if (strings.empty()) return one;
  OnigNode node(Kind::Alternation, at);
  node.parts.push_back(std::move(one));
  for (const std::size_t size : {2, 3}) {
    for (const auto& [folded, used] : strings) {
      if (folded.size() == size) node.parts.push_back(spelled(folded, at));
    }
  }
  return node;
}

void fold_literals(OnigNode& node, bool behind) {
  behind = behind || (node.kind == Kind::Look && node.behind);
  if (is_folding(node)) {
    std::span<OnigNode> one(&node, 1);
    OnigNode folded = next_fold(one, behind);
    node = std::move(folded);
    return;
  }
  if (node.kind != Kind::Sequence) {
    for (OnigNode& part : node.parts) fold_literals(part, behind);
    return;
  }
  std::vector<OnigNode> parts;
  std::span<OnigNode> rest = node.parts;
  while (!rest.empty()) {
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_folding);
    std::span<OnigNode> run(rest.begin(), end);
    rest = rest.subspan(run.size());
    while (!run.empty()) parts.push_back(next_fold(run, behind));
    if (rest.empty()) break;
    fold_literals(rest[0], behind);
    parts.push_back(std::move(rest[0]));
    rest = rest.subspan(1);
  }
  node.parts = std::move(parts);
}

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bora/unicode/oniguruma/class.h"

namespace bora {

/// A part of a regex.
struct OnigNode {
  enum class Kind {
    Empty,
    Literal,      ///< `literal`, or what folds to the same if `fold`
    Class,        ///< one character of `set`
    Sequence,     ///< `parts`, one after the other
    Alternation,  ///< the first of `parts` that leads to a match
    Repeat,       ///< parts[0] `low` to `high` times
    Capture,      ///< parts[0], remembered as group `number`
    Scope,        ///< parts[0], a unit for what stands around it
    Atomic,       ///< parts[0], never matched in another way
    Look,         ///< whether parts[0] matches here (`behind`: ends here), or does not (`negative`)
    Anchor,       ///< a place: ^ $ A z Z b B, or K, where the match begins
    Reference     ///< what group `number` matched
  };
  Kind kind = Kind::Empty;
  std::size_t at = 0;  ///< where it stands in the regex
  char32_t literal = 0;
  bool fold = false;
  OnigClass set;
  std::vector<OnigNode> parts;
  int low = 0;
  std::optional<int> high;  ///< none: without end
  bool greedy = true;
  bool behind = false, negative = false;
  char anchor = 0;
  int number = 0;

  OnigNode() = default;
  OnigNode(Kind k, std::size_t offset) : kind(k), at(offset) {}
  OnigNode(Kind k, std::size_t offset, std::vector<OnigNode> p) : kind(k), at(offset), parts(std::move(p)) {}
};

OnigNode class_node(OnigClass set, std::size_t at);

/// Says that a regex cannot be used because of what stands at byte `at`.
class OnigRefusal {
 public:
  OnigRefusal(std::string_view where, std::string_view regex) : where_(where), regex_(regex) {}
  /// Throws Unsupported: "WHERE: the regex REGEX cannot be used: WHAT at byte AT".
  [[noreturn]] void operator()(const std::string& what, std::size_t at) const;

 private:
  std::string where_, regex_;
};

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/unicode/code_point_set.h"

namespace bora {

/// A set of characters as a regex describes it. Oniguruma has the tables of Unicode 16; a property here is
/// one of PCRE2, whose tables are older, so that what came later stands beside it as a plain set.
struct OnigClass {
  enum class Kind {
    Set,       ///< `set`
    Property,  ///< \p{`property`} of PCRE2
    Any,       ///< in one of `parts`, at least
    All,       ///< in each of `parts`
    Not        ///< not in parts[0]
  };
  Kind kind = Kind::Set;
  CodePointSet set;
  std::string_view property;
  std::vector<OnigClass> parts;

  static OnigClass of(CodePointSet set);
  static OnigClass of_property(std::string_view name);
  static OnigClass any(std::vector<OnigClass> parts);
  static OnigClass all(std::vector<OnigClass> parts);
  static OnigClass negation(OnigClass part);
};

/// The same class with as little algebra as possible: what has no property becomes one Set.
OnigClass simplified(OnigClass c);

/// PCRE2's words for one character of the class: a bracket, or a group where a bracket cannot say it. `c`
/// must be simplified.
std::string pcre2_class(const OnigClass& c);

/// One character, as PCRE2's words outside of brackets.
std::string pcre2_literal(char32_t c);

/// Which of `candidates` the class has.
std::vector<char32_t> members(const OnigClass& c, const std::vector<char32_t>& candidates);

}  // namespace bora

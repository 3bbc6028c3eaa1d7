// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "bora/unicode/oniguruma/tree.h"

namespace bora {

/// Reads a regex in Oniguruma's own syntax (ONIG_SYNTAX_ONIGURUMA, doc/RE of its release 6.9.10), the one
/// that `tokenizers` uses. What Oniguruma itself refuses, and what Bora cannot do exactly, is refused with
/// its place.
class OnigParser {
 public:
  OnigParser(std::string_view regex, const OnigRefusal& refuse) : text_(regex), refuse_(refuse) {}
  OnigNode parse();

 private:
  struct Options {
    bool fold = false, dot_all = false, extended = false;
  };
  struct Quantifier {
    int low;
    std::optional<int> high;
    bool greedy, possessive;
  };
  struct Bracket;  // the state of a bracket that is being read
  using Item = std::variant<char32_t, OnigClass>;

  // oniguruma_parser.cpp
  OnigNode alternation();
  OnigNode branch();
  OnigNode piece();
  OnigNode atom();
  OnigNode repeated(OnigNode node, const Quantifier& quantifier, std::size_t at) const;
  std::optional<Quantifier> quantifier();
  std::optional<Quantifier> interval();
  std::optional<int> number();
  void skip_blanks();
  void forget_plain_groups(OnigNode& node);

  // oniguruma_groups.cpp
  OnigNode group();
  OnigNode special_group(std::size_t at);
  OnigNode look(std::size_t at, bool behind, bool negative);
  OnigNode named(std::size_t at, char end);
  OnigNode with_options(std::size_t at);
  void option(char letter, bool on, std::size_t at, Options& options) const;
  OnigNode body(std::size_t at);
  std::string name_until(char end, std::size_t at);
  OnigNode reference_by_name(std::size_t at);
  OnigNode reference(int number, std::size_t at) const;

  // oniguruma_escapes.cpp
  OnigNode escape();
  std::optional<OnigNode> escaped_place(char letter, std::size_t at) const;
  std::optional<OnigNode> escaped_class(char letter, std::size_t at) const;
  OnigNode escaped_number(std::size_t at);
  std::optional<OnigClass> escaped_set(char letter, bool in_bracket) const;
  OnigClass property(bool negative, bool in_bracket, std::size_t at);
  char32_t escaped_character(std::size_t at);
  char32_t hexadecimal(std::size_t at);
  char32_t octal(std::size_t at);
  char32_t bytes(unsigned first, std::size_t at);
  char32_t valid(char32_t c, std::size_t at) const;
  unsigned digits(unsigned base, std::size_t most);

  // oniguruma_brackets.cpp
  OnigNode bracket_node();
  OnigClass bracket(std::size_t depth);
  void bracket_item(Bracket& b);
  void dash(Bracket& b);
  void value(Bracket& b, char32_t c) const;
  void class_value(Bracket& b, OnigClass c) const;
  std::optional<OnigClass> posix_bracket();

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool next_is(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool take(std::string_view s);
  char32_t character();

  std::string_view text_;
  const OnigRefusal& refuse_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t looks_ = 0;      // that are open
  std::size_t negations_ = 0;  // of the brackets that are open
  Options options_;
  int groups_ = 0;                    // of either kind
  std::map<std::string, int> names_;  // of groups
  std::vector<bool> closed_;          // by group number
  bool by_number_ = false;            // some reference is
};

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bora/jinja/lexer.h"
#include "bora/jinja/syntax.h"

namespace bora::jinja {

/// Expressions from tokens: the grammar of jinja2 3.1. From loosest to tightest: if else, or, and, not,
/// comparison and in, + -, ~, * / // %, ** (to the left), unary sign, then . [] () and last | and is.
class ExpressionParser {
 public:
  ExpressionParser(Guard& guard, std::vector<Token> tokens, Program& program)
      : guard_(guard), tokens_(std::move(tokens)), program_(program) {}

 protected:
  enum class Ends : std::uint8_t { Plain, AtRecursive, AtIn };

  ExpressionPtr expression(bool with_conditional = true);
  /// One expression, or several as a tuple.
  ExpressionPtr tuple(bool with_conditional, Ends ends = Ends::Plain, bool in_parentheses = false);
  /// What may stand on the left of = or in.
  ExpressionPtr target(Ends ends, bool with_namespace);
  ExpressionPtr name_target();
  ExpressionPtr postfix(ExpressionPtr left);
  /// `| name(...)`, once or more, or `name(...)` if `inline_first`. Null if there is none.
  ExpressionPtr filters(ExpressionPtr subject, bool inline_first = false);

  const Token& current() const { return tokens_[next_]; }
  const Token& ahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  Token take() { return std::move(tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]); }
  bool is_operator(std::string_view op) const { return is(current(), Token::Kind::Operator, op); }
  bool is_name(std::string_view name) const { return is(current(), Token::Kind::Name, name); }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_operator(std::string_view op);
  void expect_name(std::string_view name);
  Token expect(Token::Kind kind, std::string_view what);
  NameId id_of(const std::string& name);
  ExpressionPtr make(Expression::Kind kind, Position at, std::vector<ExpressionPtr> parts = {});
  [[noreturn]] void fail(Position at, std::string_view what);
  /// "expected X but found Y".
  [[noreturn]] void unexpected(std::string_view expected);

  Guard& guard_;
  /// Loops around, within the same macro: what break and continue leave.
  int loops_ = 0;
  /// Loops around at all.
  int any_loops_ = 0;

 private:
  static bool is(const Token& token, Token::Kind kind, std::string_view text) {
    return token.kind == kind && token.text == text;
  }
  ExpressionPtr conditional();
  ExpressionPtr disjunction();
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter = true);
  ExpressionPtr primary(bool with_namespace = false);
  ExpressionPtr name(bool with_namespace);
  ExpressionPtr string();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr subscript(ExpressionPtr left);
  ExpressionPtr attribute(ExpressionPtr left, Position at);
  ExpressionPtr subscribed(ExpressionPtr left, Position at);
  ExpressionPtr call(ExpressionPtr left);
  ExpressionPtr filtered(ExpressionPtr left);
  ExpressionPtr test(ExpressionPtr left);
  std::vector<CallArgument> arguments();
  CallArgument argument(const std::vector<CallArgument>& before, Position at);
  std::string dotted_name();
  bool ends_tuple(Ends ends) const;
  void check_target(const Expression& target);
  ExpressionPtr grown(ExpressionPtr node);

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  Program& program_;
  std::map<std::string, NameId> ids_;
};

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/parser.h"

#include <algorithm>
#include <optional>

#include "bora/jinja/builtins.h"

namespace bora::jinja {
namespace {

using ExpressionKind = Expression::Kind;
using TokenKind = Token::Kind;

std::optional<Operator> comparison_of(const Token& token) {
  if (token.kind != TokenKind::Operator) return std::nullopt;
  if (token.text == "==") return Operator::Equal;
  if (token.text == "!=") return Operator::NotEqual;
  if (token.text == "<") return Operator::Less;
  if (token.text == "<=") return Operator::LessEqual;
  if (token.text == ">") return Operator::Greater;
  if (token.text == ">=") return Operator::GreaterEqual;
  return std::nullopt;
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b = nullptr) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  if (b != nullptr) parts.push_back(std::move(b));
  return parts;
}

}  // namespace

void ExpressionParser::fail(Position at, std::string_view what) {
  guard_.at = at;
  guard_.stop(ErrorKind::Corruption, what);
}

void ExpressionParser::unexpected(std::string_view expected) {
  fail(current().at, fmt::format("expected {} but found {}", expected, describe(current())));
}

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!is_operator(op)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) unexpected(op);
}

void ExpressionParser::expect_name(std::string_view name) {
  if (!skip_name(name)) unexpected(name);
}

Token ExpressionParser::expect(Token::Kind kind, std::string_view what) {
  if (current().kind != kind) unexpected(what);
  return take();
}

NameId ExpressionParser::id_of(const std::string& name) {
  const auto [at, is_new] = ids_.try_emplace(name, static_cast<NameId>(program_.names.size()));
  if (is_new) program_.names.push_back(name);
  return at->second;
}

// Chains such as a + b + c + ... grow without recursion in the parser, but not in the evaluator.
ExpressionPtr ExpressionParser::grown(ExpressionPtr node) {
  for (const auto& part : node->parts) {
    if (part != nullptr) node->height = std::max(node->height, part->height + 1);
  }
  for (const auto& argument : node->arguments)
    node->height = std::max(node->height, argument.value->height + 1);
  if (node->height > guard_.limits().depth) {
    fail(node->at, fmt::format("the expression nests deeper than {} levels", guard_.limits().depth));
  }
  return node;
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, Position at, std::vector<ExpressionPtr> parts) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->at = at;
  node->parts = std::move(parts);
  return grown(std::move(node));
}

ExpressionPtr ExpressionParser::expression(bool with_conditional) {
  const Level level(guard_, current().at);
  return with_conditional ? conditional() : disjunction();
}

ExpressionPtr ExpressionParser::conditional() {
  ExpressionPtr then = disjunction();
  while (is_name("if")) {
    const Position at = take().at;
    std::vector<ExpressionPtr> parts = parts_of(disjunction(), std::move(then));
    parts.push_back(skip_name("else") ? expression() : nullptr);
    then = make(ExpressionKind::Conditional, at, std::move(parts));
  }
  return then;
}

ExpressionPtr ExpressionParser::disjunction() {
  ExpressionPtr left = conjunction();
  while (is_name("or")) {
    const Position at = take().at;
    left = make(ExpressionKind::Or, at, parts_of(std::move(left), conjunction()));
  }
  return left;
}

ExpressionPtr ExpressionParser::conjunction() {
  ExpressionPtr left = negation();
  while (is_name("and")) {
    const Position at = take().at;
    left = make(ExpressionKind::And, at, parts_of(std::move(left), negation()));
  }
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  if (!is_name("not")) return comparison();
  const Position at = take().at;
  const Level level(guard_, at);
  return make(ExpressionKind::Not, at, parts_of(negation()));
}

ExpressionPtr ExpressionParser::comparison() {
  std::vector<ExpressionPtr> parts = parts_of(sum());
  std::vector<Operator> operators;
  Position at = current().at;
  while (true) {
    if (const auto op = comparison_of(current())) {
      operators.push_back(*op);
    } else if (is_name("in")) {
      operators.push_back(Operator::In);
    } else if (is_name("not") && is(ahead(), TokenKind::Name, "in")) {
      take();
      operators.push_back(Operator::NotIn);
    } else {
      break;
    }
    if (operators.size() == 1) at = current().at;
    take();
    parts.push_back(sum());
  }
  if (operators.empty()) return std::move(parts.front());
  ExpressionPtr node = make(ExpressionKind::Compare, at, std::move(parts));
  node->operators = std::move(operators);
  return node;
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (is_operator("+") || is_operator("-")) {
    const Token op = take();
    left = make(ExpressionKind::Binary, op.at, parts_of(std::move(left), concatenation()));
    left->operators = {op.text == "+" ? Operator::Add : Operator::Subtract};
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  std::vector<ExpressionPtr> parts = parts_of(product());
  const Position at = current().at;
  while (skip_operator("~")) parts.push_back(product());
  if (parts.size() == 1) return std::move(parts.front());
  return make(ExpressionKind::Concat, at, std::move(parts));
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    const Token op = take();
    left = make(ExpressionKind::Binary, op.at, parts_of(std::move(left), power()));
    left->operators = {op.text == "*"    ? Operator::Multiply
                       : op.text == "/"  ? Operator::Divide
                       : op.text == "//" ? Operator::FloorDivide
                                         : Operator::Modulo};
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary();
  while (is_operator("**")) {
    const Position at = take().at;
    left = make(ExpressionKind::Binary, at, parts_of(std::move(left), unary()));
    left->operators = {Operator::Power};
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filter) {
  const Level level(guard_, current().at);
  ExpressionPtr node;
  if (is_operator("-") || is_operator("+")) {
    const Token op = take();
    node = make(op.text == "-" ? ExpressionKind::Negative : ExpressionKind::Positive, op.at,
                parts_of(unary(false)));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filtered(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary(bool with_namespace) {
  const Token& token = current();
  const Position at = token.at;
  switch (token.kind) {
    case TokenKind::Name:
      return name(with_namespace);
    case TokenKind::String:
      return string();
    case TokenKind::Integer:
    case TokenKind::Float: {
      ExpressionPtr node = make(ExpressionKind::Constant, at);
      node->value =
          token.kind == TokenKind::Integer ? Value(token.integer, kControl) : Value(token.real, kControl);
      take();
      return node;
    }
    default:
      break;
  }
  if (skip_operator("(")) {
    ExpressionPtr node = tuple(true, Ends::Plain, true);
    expect_operator(")");
    return node;
  }
  if (is_operator("[")) return list();
  if (is_operator("{")) return dict();
  unexpected("an expression");
}

ExpressionPtr ExpressionParser::name(bool with_namespace) {
  Token token = take();
  if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
    ExpressionPtr node = make(ExpressionKind::Constant, token.at);
    node->value = Value(token.text == "true" || token.text == "True", kControl);
    return node;
  }
  if (token.text == "none" || token.text == "None") return make(ExpressionKind::Constant, token.at);
  ExpressionPtr node = make(ExpressionKind::Name, token.at);
  if (with_namespace && skip_operator(".")) {
    node->kind = ExpressionKind::Namespaced;
    node->attribute = expect(TokenKind::Name, "an attribute").text;
  }
  node->id = id_of(token.text);
  node->name = std::move(token.text);
  return node;
}

ExpressionPtr ExpressionParser::string() {
  ExpressionPtr node = make(ExpressionKind::Constant, current().at);
  std::string text;
  while (current().kind == TokenKind::String) text += take().text;
  node->value = Value(std::move(text), kControl);
  return node;
}

ExpressionPtr ExpressionParser::list() {
  const Position at = take().at;
  std::vector<ExpressionPtr> items;
  while (!is_operator("]")) {
    if (!items.empty()) expect_operator(",");
    if (is_operator("]")) break;
    items.push_back(expression());
  }
  take();
  return make(ExpressionKind::List, at, std::move(items));
}

ExpressionPtr ExpressionParser::dict() {
  const Position at = take().at;
  std::vector<ExpressionPtr> items;
  while (!is_operator("}")) {
    if (!items.empty()) expect_operator(",");
    if (is_operator("}")) break;
    items.push_back(expression());
    expect_operator(":");
    items.push_back(expression());
  }
  take();
  return make(ExpressionKind::Dict, at, std::move(items));
}

bool ExpressionParser::ends_tuple(Ends ends) const {
  const Token& token = current();
  if (token.kind == TokenKind::PrintEnd || token.kind == TokenKind::BlockEnd || is_operator(")")) return true;
  return (ends == Ends::AtRecursive && is_name("recursive")) || (ends == Ends::AtIn && is_name("in"));
}

ExpressionPtr ExpressionParser::tuple(bool with_conditional, Ends ends, bool in_parentheses) {
  const Position at = current().at;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!ends_tuple(ends)) {
    items.push_back(expression(with_conditional));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !in_parentheses) unexpected("an expression");
  return make(ExpressionKind::Tuple, at, std::move(items));
}

ExpressionPtr ExpressionParser::target(Ends ends, bool with_namespace) {
  const Position at = current().at;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!ends_tuple(ends)) {
    items.push_back(primary(with_namespace));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.empty()) unexpected("a name");
  ExpressionPtr node =
      is_tuple ? make(ExpressionKind::Tuple, at, std::move(items)) : std::move(items.front());
  check_target(*node);
  return node;
}

void ExpressionParser::check_target(const Expression& target) {
  if (target.kind == ExpressionKind::Tuple) {
    for (const auto& part : target.parts) check_target(*part);
  } else if (target.kind != ExpressionKind::Name && target.kind != ExpressionKind::Namespaced) {
    fail(target.at, "only names and attributes of namespaces can be assigned to");
  } else if (target.kind == ExpressionKind::Name && target.name == "loop" && any_loops_ > 0) {
    fail(target.at, "loop cannot be assigned to inside a loop");
  }
}

ExpressionPtr ExpressionParser::name_target() {
  if (current().kind != TokenKind::Name) unexpected("a name");
  ExpressionPtr node = name(false);
  check_target(*node);
  return node;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr left) {
  while (true) {
    if (is_operator(".") || is_operator("[")) {
      left = subscript(std::move(left));
    } else if (is_operator("(")) {
      left = call(std::move(left));
    } else {
      return left;
    }
  }
}

ExpressionPtr ExpressionParser::filtered(ExpressionPtr left) {
  while (true) {
    if (is_operator("|")) {
      left = filters(std::move(left));
    } else if (is_name("is")) {
      left = test(std::move(left));
    } else if (is_operator("(")) {
      left = call(std::move(left));
    } else {
      return left;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr left) {
  const Token token = take();
  if (token.text == ".") return attribute(std::move(left), token.at);
  ExpressionPtr node = subscribed(std::move(left), token.at);
  expect_operator("]");
  return node;
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr left, Position at) {
  if (current().kind == TokenKind::Integer) {
    ExpressionPtr index = make(ExpressionKind::Constant, current().at);
    index->value = Value(take().integer, kControl);
    return make(ExpressionKind::Item, at, parts_of(std::move(left), std::move(index)));
  }
  ExpressionPtr node = make(ExpressionKind::Attribute, at, parts_of(std::move(left)));
  node->name = expect(TokenKind::Name, "a name or a number").text;
  return node;
}

ExpressionPtr ExpressionParser::subscribed(ExpressionPtr left, Position at) {
  if (is_operator("]"))
    return make(ExpressionKind::Item, at, parts_of(std::move(left), make(ExpressionKind::Tuple, at)));
  std::vector<ExpressionPtr> parts = parts_of(std::move(left));
  parts.push_back(is_operator(":") ? nullptr : expression());
  if (!is_operator(":")) {
    if (!is_operator(",")) return make(ExpressionKind::Item, at, std::move(parts));
    std::vector<ExpressionPtr> keys = parts_of(std::move(parts.back()));
    while (skip_operator(",")) keys.push_back(expression());
    parts.back() = make(ExpressionKind::Tuple, at, std::move(keys));
    return make(ExpressionKind::Item, at, std::move(parts));
  }
  while (parts.size() < 4) {
    const bool more = skip_operator(":");
    const bool empty = !more || is_operator(":") || is_operator("]") || is_operator(",");
    parts.push_back(empty ? nullptr : expression());
  }
  if (is_operator(",")) fail(current().at, "a slice cannot be part of a tuple of keys");
  return make(ExpressionKind::Slice, at, std::move(parts));
}

ExpressionPtr ExpressionParser::call(ExpressionPtr left) {
  const Position at = current().at;
  ExpressionPtr node = make(ExpressionKind::Call, at, parts_of(std::move(left)));
  node->arguments = arguments();
  return grown(std::move(node));
}

std::vector<CallArgument> ExpressionParser::arguments() {
  const Position at = current().at;
  expect_operator("(");
  std::vector<CallArgument> list;
  while (!is_operator(")")) {
    if (!list.empty()) expect_operator(",");
    if (is_operator(")")) break;
    list.push_back(argument(list, at));
  }
  take();
  return list;
}

CallArgument ExpressionParser::argument(const std::vector<CallArgument>& before, Position at) {
  using ArgumentKind = CallArgument::Kind;
  const auto last = before.empty() ? ArgumentKind::Positional : before.back().kind;
  const auto has = [&](ArgumentKind kind) {
    return std::any_of(before.begin(), before.end(), [&](const auto& b) { return b.kind == kind; });
  };
  const bool closed = last == ArgumentKind::SpreadNamed;
  if (is_operator("*") || is_operator("**")) {
    const bool named = take().text == "**";
    if (closed || (!named && has(ArgumentKind::Spread)))
      fail(at, "these arguments of a call are out of order");
    return {named ? ArgumentKind::SpreadNamed : ArgumentKind::Spread, {}, expression()};
  }
  if (current().kind == TokenKind::Name && is(ahead(), TokenKind::Operator, "=")) {
    if (closed) fail(at, "these arguments of a call are out of order");
    std::string name = take().text;
    take();
    const bool twice =
        std::any_of(before.begin(), before.end(), [&](const auto& b) { return b.name == name; });
    if (twice) fail(at, fmt::format("the argument {} is given twice", name));
    return {ArgumentKind::Named, std::move(name), expression()};
  }
  if (last != ArgumentKind::Positional) fail(at, "these arguments of a call are out of order");
  return {ArgumentKind::Positional, {}, expression()};
}

std::string ExpressionParser::dotted_name() {
  std::string name = expect(TokenKind::Name, "a name").text;
  while (skip_operator(".")) name += "." + expect(TokenKind::Name, "a name").text;
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr subject, bool inline_first) {
  while (inline_first || is_operator("|")) {
    if (!inline_first) take();
    inline_first = false;
    std::vector<ExpressionPtr> parts;
    parts.push_back(std::move(subject));
    subject = make(ExpressionKind::Filter, current().at, std::move(parts));
    subject->name = dotted_name();
    subject->builtin = find_filter(subject->name);
    if (is_operator("(")) subject->arguments = arguments();
    subject = grown(std::move(subject));
  }
  return subject;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr left) {
  const Position at = take().at;
  const bool negated = skip_name("not");
  ExpressionPtr node = make(ExpressionKind::Test, at, parts_of(std::move(left)));
  node->name = dotted_name();
  node->builtin = find_test(node->name);
  const TokenKind kind = current().kind;
  const bool argument_follows = kind == TokenKind::Name || kind == TokenKind::String ||
                                kind == TokenKind::Integer || kind == TokenKind::Float || is_operator("[") ||
                                is_operator("{");
  if (is_operator("(")) {
    node->arguments = arguments();
  } else if (argument_follows && !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) fail(current().at, "tests cannot be chained with is");
    node->arguments.push_back({CallArgument::Kind::Positional, {}, postfix(primary())});
  }
  node = grown(std::move(node));
  return negated ? make(ExpressionKind::Not, at, parts_of(std::move(node))) : std::move(node);
}

}  // namespace bora::jinja

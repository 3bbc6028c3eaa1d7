// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <array>

#include "bora/jinja/parser.h"

namespace bora::jinja {
namespace {

using StatementKind = Statement::Kind;
using TokenKind = Token::Kind;
using EndTags = std::initializer_list<std::string_view>;

constexpr std::array<std::string_view, 7> kAbsentTags = {"include", "import", "from",      "extends",
                                                         "block",   "do",     "autoescape"};

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body program() { return statements({}); }
  bool has_generation = false;

 private:
  Body statements(EndTags ends);
  /// From the end of the opening tag to an end tag, whose name it returns in `ended`.
  Body block(EndTags ends, std::string* ended = nullptr);
  Statement print();
  Statement statement();
  Statement if_statement(Position at);
  Statement for_statement(Position at);
  Statement set_statement(Position at);
  Statement macro(Position at);
  Statement call_block(Position at);
  Statement filter_block(Position at);
  Statement with_block(Position at);
  Statement generation(Position at);
  Statement print_statement(Position at);
  Statement loop_control(Position at, StatementKind kind);
  void signature(Statement& macro);
  /// The body of something that is called: loops around it cannot be left from within.
  Body called_body(EndTags ends);
  bool at_end_tag(EndTags ends) const;
  static Statement make_statement(StatementKind kind, Position at) {
    Statement node;
    node.kind = kind;
    node.at = at;
    return node;
  }
};

bool StatementParser::at_end_tag(EndTags ends) const {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view tag) { return is_name(tag); });
}

Body StatementParser::statements(EndTags ends) {
  const Level level(guard_, current().at);
  Body body;
  while (current().kind != TokenKind::End) {
    if (current().kind == TokenKind::Data) {
      body.statements.push_back(make_statement(StatementKind::Data, current().at));
      body.statements.back().text = Value(take().text, kControl);
    } else if (current().kind == TokenKind::PrintBegin) {
      body.statements.push_back(print());
    } else {
      expect(TokenKind::BlockBegin, "a tag");
      if (at_end_tag(ends)) return body;
      body.statements.push_back(statement());
      expect(TokenKind::BlockEnd, "%}");
    }
  }
  return body;
}

Body StatementParser::block(EndTags ends, std::string* ended) {
  const Position at = current().at;
  skip_operator(":");
  expect(TokenKind::BlockEnd, "%}");
  Body body = statements(ends);
  if (current().kind == TokenKind::End) {
    fail(at, fmt::format("this block does not end\nhint: close it with {{% {} %}}", *(ends.end() - 1)));
  }
  std::string tag = take().text;
  if (ended != nullptr) *ended = std::move(tag);
  return body;
}

Statement StatementParser::print() {
  Statement node = make_statement(StatementKind::Print, take().at);
  node.expressions.push_back(tuple(true));
  expect(TokenKind::PrintEnd, "}}");
  return node;
}

Statement StatementParser::statement() {
  const Token tag = expect(TokenKind::Name, "the name of a tag");
  if (tag.text == "if") return if_statement(tag.at);
  if (tag.text == "for") return for_statement(tag.at);
  if (tag.text == "set") return set_statement(tag.at);
  if (tag.text == "macro") return macro(tag.at);
  if (tag.text == "call") return call_block(tag.at);
  if (tag.text == "filter") return filter_block(tag.at);
  if (tag.text == "with") return with_block(tag.at);
  if (tag.text == "generation") return generation(tag.at);
  if (tag.text == "print") return print_statement(tag.at);
  if (tag.text == "break") return loop_control(tag.at, StatementKind::Break);
  if (tag.text == "continue") return loop_control(tag.at, StatementKind::Continue);
  if (std::find(kAbsentTags.begin(), kAbsentTags.end(), tag.text) != kAbsentTags.end()) {
    guard_.at = tag.at;
    guard_.stop(ErrorKind::Unsupported, fmt::format("Bora has no {{% {} %}}", tag.text));
  }
  fail(tag.at, fmt::format("there is no tag {}{}", tag.text,
                           tag.text.starts_with("end") ? ": it closes nothing here" : ""));
}

Statement StatementParser::if_statement(Position at) {
  Statement node = make_statement(StatementKind::If, at);
  std::string ended = "elif";
  while (ended == "elif") {
    node.expressions.push_back(tuple(false));
    node.bodies.push_back(block({"elif", "else", "endif"}, &ended));
  }
  if (ended == "else") node.bodies.push_back(block({"endif"}));
  return node;
}

Statement StatementParser::for_statement(Position at) {
  Statement node = make_statement(StatementKind::For, at);
  ++any_loops_;
  node.expressions.push_back(target(Ends::AtIn, false));
  expect_name("in");
  node.expressions.push_back(tuple(false, Ends::AtRecursive));
  node.expressions.push_back(skip_name("if") ? expression() : nullptr);
  node.recursive = skip_name("recursive");
  ++loops_;
  std::string ended;
  node.bodies.push_back(block({"else", "endfor"}, &ended));
  --loops_;
  if (ended == "else") node.bodies.push_back(block({"endfor"}));
  --any_loops_;
  return node;
}

Statement StatementParser::set_statement(Position at) {
  Statement node = make_statement(StatementKind::Set, at);
  node.expressions.push_back(target(Ends::Plain, true));
  if (skip_operator("=")) {
    node.expressions.push_back(tuple(true));
    return node;
  }
  node.kind = StatementKind::SetBlock;
  node.expressions.push_back(filters(nullptr));
  node.bodies.push_back(block({"endset"}));
  return node;
}

void StatementParser::signature(Statement& macro) {
  expect_operator("(");
  bool defaults = false;
  while (!is_operator(")")) {
    if (!macro.parameters.empty()) expect_operator(",");
    const ExpressionPtr name = name_target();
    macro.parameters.push_back(name->id);
    if (skip_operator("=")) {
      macro.expressions.push_back(expression());
      defaults = true;
    } else if (defaults) {
      fail(name->at,
           fmt::format("the parameter {} needs a default, as the one before it has one", name->name));
    }
  }
  take();
}

Body StatementParser::called_body(EndTags ends) {
  const int loops = std::exchange(loops_, 0);
  Body body = block(ends);
  loops_ = loops;
  return body;
}

Statement StatementParser::macro(Position at) {
  Statement node = make_statement(StatementKind::Macro, at);
  node.name = name_target()->id;
  signature(node);
  node.bodies.push_back(called_body({"endmacro"}));
  return node;
}

Statement StatementParser::call_block(Position at) {
  Statement node = make_statement(StatementKind::CallBlock, at);
  node.expressions.push_back(nullptr);
  if (is_operator("(")) signature(node);
  ExpressionPtr call = expression();
  if (call->kind != Expression::Kind::Call) fail(at, "a call block needs the call of a macro");
  node.expressions.front() = std::move(call);
  node.bodies.push_back(called_body({"endcall"}));
  return node;
}

Statement StatementParser::filter_block(Position at) {
  Statement node = make_statement(StatementKind::FilterBlock, at);
  node.expressions.push_back(filters(nullptr, true));
  node.bodies.push_back(block({"endfilter"}));
  return node;
}

Statement StatementParser::with_block(Position at) {
  Statement node = make_statement(StatementKind::With, at);
  while (current().kind != TokenKind::BlockEnd) {
    if (!node.expressions.empty()) expect_operator(",");
    // A tuple on the left would swallow the comma before the next name.
    node.expressions.push_back(target(Ends::Plain, false));
    expect_operator("=");
    node.expressions.push_back(expression());
  }
  node.bodies.push_back(block({"endwith"}));
  return node;
}

Statement StatementParser::generation(Position at) {
  Statement node = make_statement(StatementKind::Generation, at);
  node.bodies.push_back(called_body({"endgeneration"}));
  has_generation = true;
  return node;
}

Statement StatementParser::print_statement(Position at) {
  Statement node = make_statement(StatementKind::Print, at);
  while (current().kind != TokenKind::BlockEnd) {
    if (!node.expressions.empty()) expect_operator(",");
    node.expressions.push_back(expression());
  }
  return node;
}

Statement StatementParser::loop_control(Position at, StatementKind kind) {
  if (loops_ == 0) {
    fail(at, fmt::format("{} stands outside of a loop", kind == StatementKind::Break ? "break" : "continue"));
  }
  return make_statement(kind, at);
}

}  // namespace

std::shared_ptr<const Program> parse_program(std::string_view text, std::string_view name,
                                             const Limits& limits) {
  auto program = std::make_shared<Program>();
  program->name = name;
  Guard guard(name, limits);
  StatementParser parser(guard, lex(guard, text), *program);
  program->body = parser.program();
  program->has_generation = parser.has_generation;
  analyze_scopes(guard, *program);
  return program;
}

}  // namespace bora::jinja

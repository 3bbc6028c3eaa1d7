// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bora/jinja/value.h"

namespace bora::jinja {

struct Builtin;

/// A variable's place in Program::names.
using NameId = std::uint32_t;

enum class Operator : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArgument {
  enum class Kind : std::uint8_t { Positional, Named, Spread, SpreadNamed } kind;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  enum class Kind : std::uint8_t {
    Constant,     // value
    Name,         // id, name
    Namespaced,   // id, name.attribute: a target of set
    List,         // parts
    Tuple,        // parts
    Dict,         // parts: key, value, key, value ...
    Negative,     // parts[0]
    Positive,     // parts[0]
    Binary,       // parts[0] operators[0] parts[1]
    Concat,       // parts
    Compare,      // parts[0] operators[0] parts[1] operators[1] ...
    And,          // parts[0], parts[1]
    Or,           // parts[0], parts[1]
    Not,          // parts[0]
    Conditional,  // parts: test, then, else or null
    Attribute,    // parts[0].name
    Item,         // parts[0][parts[1]]
    Slice,        // parts[0][parts[1]:parts[2]:parts[3]], the last three may be null
    Call,         // parts[0](arguments)
    Filter,       // parts[0] | name(arguments); parts[0] null: the text of the block
    Test,         // parts[0] is name(arguments)
  };
  Kind kind;
  Position at;
  int height = 1;  ///< 1 + that of the highest part
  NameId id = 0;
  std::string name;
  std::string attribute;
  Value value;
  std::vector<Operator> operators;
  std::vector<ExpressionPtr> parts;
  std::vector<CallArgument> arguments;
  const Builtin* builtin = nullptr;  ///< of a filter or test; null: there is none of that name
};

struct Statement;

/// Statements that run in order. Where a body is a scope of its own, `unset` are the names it assigns without
/// reading them first: they hide variables of the conversation from the start (jinja2's rule).
struct Body {
  std::vector<Statement> statements;
  std::vector<NameId> unset;
};

struct Statement {
  enum class Kind : std::uint8_t {
    Data,         // text
    Print,        // expressions
    If,           // bodies[i] where expressions[i]; one body more is the else
    For,          // expressions: target, iterable, test or null; bodies: body, else
    Set,          // expressions: target, value
    SetBlock,     // expressions: target, filter or null; bodies[0]
    Macro,        // name, parameters, expressions: defaults of the last parameters; bodies[0]
    CallBlock,    // expressions[0] a call, then defaults; parameters; bodies[0]
    FilterBlock,  // expressions[0]; bodies[0]
    With,         // expressions: target, value, target, value ...; bodies[0]
    Generation,   // bodies[0]
    Break,
    Continue,
  };
  Kind kind;
  Position at;
  Value text;
  NameId name = 0;
  bool recursive = false;
  bool takes_caller = false, takes_varargs = false, takes_kwargs = false;
  std::vector<NameId> parameters;
  std::vector<ExpressionPtr> expressions;
  std::vector<Body> bodies;
};

/// A parsed template.
struct Program {
  std::string name;
  std::vector<std::string> names;
  Body body;
  bool has_generation = false;
};

/// Reads a template. Errors as of ChatTemplate::parse.
std::shared_ptr<const Program> parse_program(std::string_view text, std::string_view name,
                                             const Limits& limits);

/// Fills in what only a look at whole scopes tells: Body::unset and Statement::takes_*. Error: Corruption,
/// for a filter or test that does not exist where jinja2 would refuse it before rendering.
void analyze_scopes(Guard& guard, Program& program);

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// jinja2 decides before rendering where each name of a scope comes from. Most of that is plain lexical scope,
// which the evaluator finds by itself. What it could not find: a name that a scope assigns, never having read
// it before, is unset from the scope's start on, even where the conversation has a variable of that name and
// an inner scope reads it before the assignment. A name assigned in a branch only is not hidden so.
#include <map>
#include <set>

#include "bora/jinja/syntax.h"

namespace bora::jinja {
namespace {

enum class Load : std::uint8_t { Outer, Unset, Parameter };

struct Symbols {
  const Symbols* parent = nullptr;
  std::map<NameId, Load> known;
  std::set<NameId> stored;

  bool knows(NameId name) const { return known.contains(name) || (parent != nullptr && parent->knows(name)); }
  void load(NameId name) {
    if (!knows(name)) known[name] = Load::Outer;
  }
  void store(NameId name) {
    stored.insert(name);
    if (!known.contains(name)) {
      known[name] = parent != nullptr && parent->knows(name) ? Load::Outer : Load::Unset;
    }
  }
  void parameter(NameId name) {
    stored.insert(name);
    known[name] = Load::Parameter;
  }
};

template <class Visit>
void for_each_part(const Expression& node, const Visit& visit) {
  for (const auto& part : node.parts) {
    if (part != nullptr) visit(*part);
  }
  for (const auto& argument : node.arguments) visit(*argument.value);
}

void load_all(Symbols& symbols, const Expression& node) {
  if (node.kind == Expression::Kind::Name) symbols.load(node.id);
  for_each_part(node, [&](const Expression& part) { load_all(symbols, part); });
}

void load_all(Symbols& symbols, const ExpressionPtr& node) {
  if (node != nullptr) load_all(symbols, *node);
}

template <class Assign>
void for_each_target(const Expression& target, const Assign& assign) {
  if (target.kind != Expression::Kind::Tuple) return assign(target);
  for (const auto& part : target.parts) for_each_target(*part, assign);
}

void store_all(Symbols& symbols, const Expression& target) {
  for_each_target(target, [&](const Expression& name) {
    name.kind == Expression::Kind::Namespaced ? symbols.load(name.id) : symbols.store(name.id);
  });
}

void parameter_all(Symbols& symbols, const Expression& target) {
  for_each_target(target, [&](const Expression& name) { symbols.parameter(name.id); });
}

void scan(Symbols& symbols, const Statement& node);

void scan(Symbols& symbols, const Body& body) {
  for (const Statement& node : body.statements) scan(symbols, node);
}

void merge_branches(Symbols& symbols, std::initializer_list<const Symbols*> branches) {
  std::set<NameId> assigned;
  for (const Symbols* branch : branches) {
    for (NameId name : branch->stored) {
      if (!symbols.stored.contains(name)) assigned.insert(name);
    }
  }
  for (const Symbols* branch : branches) {
    for (const auto& [name, load] : branch->known) symbols.known[name] = load;
    symbols.stored.insert(branch->stored.begin(), branch->stored.end());
  }
  for (NameId name : assigned) symbols.known[name] = Load::Outer;
}

void scan_if(Symbols& symbols, const Statement& node) {
  load_all(symbols, node.expressions.front());
  Symbols then = symbols, elifs = symbols, otherwise = symbols;
  scan(then, node.bodies.front());
  for (std::size_t i = 1; i < node.expressions.size(); ++i) {
    load_all(elifs, node.expressions[i]);
    Symbols branch = elifs;
    scan(branch, node.bodies[i]);
    merge_branches(elifs, {&branch});
  }
  if (node.bodies.size() > node.expressions.size()) scan(otherwise, node.bodies.back());
  merge_branches(symbols, {&then, &elifs, &otherwise});
}

// What a statement does to the names of the scope it stands in; inner scopes are another matter.
void scan(Symbols& symbols, const Statement& node) {
  switch (node.kind) {
    case Statement::Kind::If:
      return scan_if(symbols, node);
    case Statement::Kind::For:
      return load_all(symbols, node.expressions[1]);
    case Statement::Kind::Set:
      load_all(symbols, node.expressions[1]);
      return store_all(symbols, *node.expressions[0]);
    case Statement::Kind::SetBlock:
      return store_all(symbols, *node.expressions[0]);
    case Statement::Kind::Macro:
      return symbols.store(node.name);
    case Statement::Kind::With:
      for (std::size_t i = 1; i < node.expressions.size(); i += 2) load_all(symbols, node.expressions[i]);
      return;
    case Statement::Kind::Print:
      for (const auto& expression : node.expressions) load_all(symbols, expression);
      return;
    case Statement::Kind::CallBlock:
    case Statement::Kind::FilterBlock:
      return load_all(symbols, node.expressions[0]);
    default:
      return;
  }
}

class Analysis {
 public:
  Analysis(Guard& guard, Program& program) : guard_(guard), program_(program) {}

  void run() {
    Symbols root;
    scan(root, program_.body);
    finish(root, program_.body, false);
  }

 private:
  /// Notes the unset names of a scope, then looks into the scopes within. `branch`: in an if, where unknown
  /// filters are errors only when reached.
  void finish(const Symbols& symbols, Body& body, bool branch);
  void visit(const Symbols& symbols, Body& body, bool branch);
  void visit(const Symbols& symbols, Statement& node, bool branch);
  void visit_macro(const Symbols& symbols, Statement& node);
  void visit_loop(const Symbols& symbols, Statement& node);
  void inner(const Symbols& symbols, Body& body, const Expression* targets = nullptr,
             const ExpressionPtr* also = nullptr);
  void check(const Expression& node, bool branch);

  Guard& guard_;
  Program& program_;
};

bool mentions(const Expression& node, std::string_view name) {
  if (node.kind == Expression::Kind::Name && node.name == name) return true;
  bool found = false;
  for_each_part(node, [&](const Expression& part) { found = found || mentions(part, name); });
  return found;
}

bool mentions(const Body& body, std::string_view name) {
  for (const Statement& node : body.statements) {
    for (const auto& expression : node.expressions) {
      if (expression != nullptr && mentions(*expression, name)) return true;
    }
    for (const Body& inner : node.bodies) {
      if (mentions(inner, name)) return true;
    }
  }
  return false;
}

void Analysis::check(const Expression& node, bool branch) {
  const bool soft = branch || node.kind == Expression::Kind::Conditional;
  const bool is_filter = node.kind == Expression::Kind::Filter;
  if ((is_filter || node.kind == Expression::Kind::Test) && node.builtin == nullptr && !soft) {
    guard_.at = node.at;
    guard_.stop(ErrorKind::Corruption,
                fmt::format("there is no {} {}", is_filter ? "filter" : "test", node.name));
  }
  for_each_part(node, [&](const Expression& part) { check(part, soft); });
}

// Whether an expression of the statement is evaluated in a branch's own scope, `branch` being the
// statement's.
bool soft(const Statement& node, std::size_t i, bool branch) {
  switch (node.kind) {
    case Statement::Kind::If:
      return true;
    case Statement::Kind::For:
      return branch && i < 2;
    case Statement::Kind::CallBlock:
      return branch && i == 0;
    case Statement::Kind::Macro:
    case Statement::Kind::SetBlock:
    case Statement::Kind::FilterBlock:
      return false;
    default:
      return branch;
  }
}

void Analysis::finish(const Symbols& symbols, Body& body, bool branch) {
  for (const auto& [name, load] : symbols.known) {
    if (load == Load::Unset) body.unset.push_back(name);
  }
  visit(symbols, body, branch);
}

void Analysis::visit(const Symbols& symbols, Body& body, bool branch) {
  for (Statement& node : body.statements) visit(symbols, node, branch);
}

void Analysis::inner(const Symbols& symbols, Body& body, const Expression* targets,
                     const ExpressionPtr* also) {
  Symbols own{&symbols, {}, {}};
  if (targets != nullptr) parameter_all(own, *targets);
  scan(own, body);
  if (also != nullptr) load_all(own, *also);
  finish(own, body, false);
}

void Analysis::visit_macro(const Symbols& symbols, Statement& node) {
  Symbols own{&symbols, {}, {}};
  for (NameId name : node.parameters) own.parameter(name);
  for (const auto& expression : node.expressions) load_all(own, expression);
  Body& body = node.bodies.front();
  node.takes_caller = mentions(body, "caller");
  node.takes_varargs = mentions(body, "varargs");
  node.takes_kwargs = mentions(body, "kwargs");
  scan(own, body);
  finish(own, body, false);
}

void Analysis::visit_loop(const Symbols& symbols, Statement& node) {
  inner(symbols, node.bodies[0], node.expressions[0].get());
  if (node.bodies.size() > 1) inner(symbols, node.bodies[1]);
}

void Analysis::visit(const Symbols& symbols, Statement& node, bool branch) {
  for (std::size_t i = 0; i < node.expressions.size(); ++i) {
    if (node.expressions[i] != nullptr) check(*node.expressions[i], soft(node, i, branch));
  }
  switch (node.kind) {
    case Statement::Kind::If:
      for (Body& body : node.bodies) visit(symbols, body, true);
      return;
    case Statement::Kind::For:
      return visit_loop(symbols, node);
    case Statement::Kind::Macro:
    case Statement::Kind::CallBlock:
    case Statement::Kind::Generation:
      return visit_macro(symbols, node);
    case Statement::Kind::SetBlock:
      return inner(symbols, node.bodies[0]);
    case Statement::Kind::FilterBlock:
      return inner(symbols, node.bodies[0], nullptr, &node.expressions[0]);
    case Statement::Kind::With: {
      Symbols own{&symbols, {}, {}};
      for (std::size_t i = 0; i < node.expressions.size(); i += 2) parameter_all(own, *node.expressions[i]);
      scan(own, node.bodies[0]);
      return finish(own, node.bodies[0], false);
    }
    default:
      return;
  }
}

}  // namespace

void analyze_scopes(Guard& guard, Program& program) { Analysis(guard, program).run(); }

}  // namespace bora::jinja

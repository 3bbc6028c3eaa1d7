// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>

#include "bora/jinja/loop.h"
#include "bora/jinja/machine.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using StatementKind = Statement::Kind;

class Macro : public Object {
 public:
  Macro(Machine& machine, const Statement& node, std::string name, ScopePtr closure)
      : machine_(machine), node_(node), name_(std::move(name)), closure_(std::move(closure)) {}
  std::string_view type() const override { return "Macro"; }
  bool callable() const override { return true; }
  Value call(Guard&, Arguments&& arguments) override {
    return machine_.call_macro(node_, closure_, std::move(arguments));
  }
  std::optional<Text> print(Guard&) override { return Text("<Macro " + name_ + ">", kUnknown); }
  std::optional<Value> attribute(Guard&, const std::string& name) override {
    return name == "name" ? std::optional(Value(name_, kUnknown)) : std::nullopt;
  }

 private:
  Machine& machine_;
  const Statement& node_;
  std::string name_;
  ScopePtr closure_;
};

// Lets go of a loop's items when the loop ends, however it ends.
class LoopEnd {
 public:
  explicit LoopEnd(Loop& loop) : loop_(loop) {}
  ~LoopEnd() { loop_.finish(); }
  LoopEnd(const LoopEnd&) = delete;
  LoopEnd& operator=(const LoopEnd&) = delete;

 private:
  Loop& loop_;
};

template <class Next>
class NextOf : public Iterator {
 public:
  explicit NextOf(Next next) : next_(std::move(next)) {}
  bool next(Value& out) override { return next_(out); }

 private:
  Next next_;
};

}  // namespace

Machine::~Machine() {
  for (const auto& names : namespaces_) names->clear();
}

template <class Run>
Text Machine::capture(const Run& body) {
  Text text;
  struct Restore {
    Text*& out;
    Text* before;
    ~Restore() { out = before; }
  } restore{out_, std::exchange(out_, &text)};
  body();
  return text;
}

void Machine::write(const Value& value) {
  if (value.is(Value::Kind::String)) {
    charge_growth(out_->size(), value.text().size());
    out_->append(value.text());
    return;
  }
  const Text text = to_text(*this, value);
  charge_growth(out_->size(), text.size());
  out_->append(text);
}

Text Machine::run() {
  return capture([&] {
    const InnerScope root(nullptr, &program_.body);
    execute(program_.body, root.get());
  });
}

Machine::Flow Machine::execute(const Body& body, const ScopePtr& scope) {
  for (const Statement& node : body.statements) {
    const Flow flow = execute(node, scope);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Machine::Flow Machine::execute(const Statement& node, const ScopePtr& scope) {
  const Level level(*this, node.at);
  charge();
  switch (node.kind) {
    case StatementKind::Data:
      write(node.text);
      return Flow::Next;
    case StatementKind::Print:
      for (const auto& expression : node.expressions) write(evaluate(*expression, scope));
      return Flow::Next;
    case StatementKind::If:
      return execute_if(node, scope);
    case StatementKind::For:
      return execute_loop(node, scope, evaluate(*node.expressions[1], scope), 0);
    case StatementKind::Set:
      return execute_set(node, scope);
    case StatementKind::SetBlock:
      return execute_set_block(node, scope);
    case StatementKind::Macro: {
      const std::string& name = program_.names[node.name];
      scope->set(node.name, Value(std::make_shared<Macro>(*this, node, string_repr(name), scope)));
      return Flow::Next;
    }
    case StatementKind::CallBlock:
      return execute_call_block(node, scope);
    case StatementKind::FilterBlock:
      return execute_filter_block(node, scope);
    case StatementKind::With:
      return execute_with(node, scope);
    case StatementKind::Generation:
      return execute_generation(node, scope);
    case StatementKind::Break:
      return Flow::Break;
    case StatementKind::Continue:
      return Flow::Continue;
  }
  return Flow::Next;
}

Machine::Flow Machine::execute_if(const Statement& node, const ScopePtr& scope) {
  for (std::size_t i = 0; i < node.expressions.size(); ++i) {
    if (truth(*this, evaluate(*node.expressions[i], scope))) return execute(node.bodies[i], scope);
  }
  return node.bodies.size() > node.expressions.size() ? execute(node.bodies.back(), scope) : Flow::Next;
}

std::unique_ptr<Iterator> Machine::filtered(const Statement& loop, std::unique_ptr<Iterator> source,
                                            const ScopePtr& scope) {
  const auto next = [this, &loop, scope, from = std::shared_ptr<Iterator>(std::move(source))](Value& out) {
    while (from->next(out)) {
      const InnerScope inner(scope, nullptr);
      assign(*loop.expressions[0], out, inner.get());
      if (truth(*this, evaluate(*loop.expressions[2], inner.get()))) return true;
    }
    return false;
  };
  return std::make_unique<NextOf<decltype(next)>>(next);
}

Machine::Flow Machine::execute_loop(const Statement& node, const ScopePtr& scope, const Value& iterable,
                                    std::int64_t round_depth) {
  const bool has_test = node.expressions[2] != nullptr;
  auto source = iterate(*this, iterable);
  if (has_test) source = filtered(node, std::move(source), scope);
  Loop::Again again;
  if (node.recursive) {
    again = [this, &node, scope, round_depth](const Value& items) {
      return loop_again(node, scope, items, round_depth + 1);
    };
  }
  const auto loop =
      std::make_shared<Loop>(*this, std::move(source), has_test ? std::nullopt : length_of(*this, iterable),
                             iterable.depth(), round_depth, std::move(again));
  const LoopEnd end(*loop);
  bool completed = false;  // of any round, as jinja2 has it: else also follows a break in the first
  while (loop->advance()) {
    charge();
    const InnerScope round(scope, &node.bodies[0]);
    if (loop_) round.get()->set(*loop_, Value(std::shared_ptr<Object>(loop)));
    assign(*node.expressions[0], loop->current(), round.get());
    const Flow flow = execute(node.bodies[0], round.get());
    if (flow == Flow::Break) break;
    completed = completed || flow == Flow::Next;
  }
  if (completed || node.bodies.size() < 2) return Flow::Next;
  const InnerScope otherwise(scope, &node.bodies[1]);
  return execute(node.bodies[1], otherwise.get());
}

Value Machine::loop_again(const Statement& loop, const ScopePtr& scope, const Value& iterable,
                          std::int64_t round_depth) {
  const Level level(*this, at);
  return Value(capture([&] { execute_loop(loop, scope, iterable, round_depth); }));
}

void Machine::assign(const Expression& target, const Value& value, const ScopePtr& scope) {
  if (target.kind == Expression::Kind::Name) return scope->set(target.id, value);
  if (target.kind == Expression::Kind::Namespaced) {
    const Value holder = evaluate(target, scope);
    auto* names = holder.is(Value::Kind::Object) ? dynamic_cast<Namespace*>(&holder.object()) : nullptr;
    if (names == nullptr) {
      fail("{}.{} cannot be set: {} is {}, not a namespace\nhint: {{% set {} = namespace() %}}", target.name,
           target.attribute, target.name, holder.is(Value::Kind::Undefined) ? "undefined" : type_name(holder),
           target.name);
    }
    return names->set(*this, target.attribute, value);
  }
  const std::vector<Value> items = items_of(*this, value);
  if (items.size() != target.parts.size()) {
    fail("{} values cannot be assigned to {} names", items.size(), target.parts.size());
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i], scope);
}

Machine::Flow Machine::execute_set(const Statement& node, const ScopePtr& scope) {
  const Value value = evaluate(*node.expressions[1], scope);
  assign(*node.expressions[0], value, scope);
  return Flow::Next;
}

Machine::Flow Machine::execute_set_block(const Statement& node, const ScopePtr& scope) {
  const InnerScope inner(scope, &node.bodies[0]);
  Flow flow = Flow::Next;
  Value text(capture([&] { flow = execute(node.bodies[0], inner.get()); }));
  if (flow != Flow::Next) return flow;
  if (node.expressions[1] != nullptr) text = apply_chain(*node.expressions[1], text, inner.get());
  assign(*node.expressions[0], text, scope);
  return Flow::Next;
}

Machine::Flow Machine::execute_filter_block(const Statement& node, const ScopePtr& scope) {
  const InnerScope inner(scope, &node.bodies[0]);
  Flow flow = Flow::Next;
  const Value text(capture([&] { flow = execute(node.bodies[0], inner.get()); }));
  if (flow != Flow::Next) return flow;
  write(apply_chain(*node.expressions[0], text, inner.get()));
  return Flow::Next;
}

Value Machine::apply_chain(const Expression& filter, const Value& text, const ScopePtr& scope) {
  const Level level(*this, filter.at);
  const Expression* before = filter.parts[0].get();
  return apply(filter, before == nullptr ? text : apply_chain(*before, text, scope), scope);
}

Machine::Flow Machine::execute_with(const Statement& node, const ScopePtr& scope) {
  const InnerScope inner(scope, &node.bodies[0]);
  for (std::size_t i = 0; i < node.expressions.size(); i += 2) {
    assign(*node.expressions[i], evaluate(*node.expressions[i + 1], scope), inner.get());
  }
  return execute(node.bodies[0], inner.get());
}

Machine::Flow Machine::execute_call_block(const Statement& node, const ScopePtr& scope) {
  const Expression& expression = *node.expressions[0];
  const Value callee = evaluate(*expression.parts[0], scope);
  Arguments given = arguments(expression, scope);
  given.named.emplace_back("caller", Value(std::make_shared<Macro>(*this, node, "anonymous", scope)));
  write(call(*this, callee, std::move(given)));
  return Flow::Next;
}

Machine::Flow Machine::execute_generation(const Statement& node, const ScopePtr& scope) {
  const InnerScope inner(scope, &node.bodies[0]);
  const std::size_t begin = out_->size();
  execute(node.bodies[0], inner.get());
  out_->mark(begin, kAssistant);
  return Flow::Next;
}

Value Machine::call_macro(const Statement& macro, const ScopePtr& closure, Arguments&& arguments) {
  const Level level(*this, at);
  const InnerScope inner(closure, &macro.bodies[0]);
  bind(macro, inner.get(), std::move(arguments));
  return Value(capture([&] { execute(macro.bodies[0], inner.get()); }));
}

void Machine::bind(const Statement& macro, const ScopePtr& scope, Arguments&& arguments) {
  const std::size_t count = macro.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    const NameId parameter = macro.parameters[i];
    if (i < arguments.positional.size()) {
      scope->set(parameter, std::move(arguments.positional[i]));
      continue;
    }
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& n) { return n.first == program_.names[parameter]; });
    const bool given = named != arguments.named.end();
    scope->set(parameter, given ? std::move(named->second) : Value::missing());
    if (given) arguments.named.erase(named);
  }
  bind_rest(macro, scope, std::move(arguments));
  // A call block keeps its call in front of the defaults.
  const std::size_t first = macro.kind == StatementKind::CallBlock ? 1 : 0;
  const std::size_t defaults = macro.expressions.size() - first;
  for (std::size_t i = 0; i < count; ++i) {
    const NameId parameter = macro.parameters[i];
    if (!scope->find(parameter)->is(Value::Kind::Missing)) continue;
    const bool has_default = i + defaults >= count;
    scope->set(parameter, has_default ? evaluate(*macro.expressions[first + i + defaults - count], scope)
                                      : Value::undefined(fmt::format("parameter {} was not given",
                                                                     program_.names[parameter])));
  }
}

void Machine::bind_rest(const Statement& macro, const ScopePtr& scope, Arguments&& arguments) {
  const std::string& name = macro.kind == StatementKind::Macro ? program_.names[macro.name] : "caller";
  const auto is_parameter = [&](const std::optional<NameId>& id) {
    return id && std::find(macro.parameters.begin(), macro.parameters.end(), *id) != macro.parameters.end();
  };
  if (macro.takes_caller && !is_parameter(caller_)) {
    const auto given = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [](const auto& n) { return n.first == "caller"; });
    const bool found = given != arguments.named.end();
    scope->set(*caller_,
               found ? given->second : Value::undefined("the macro was called without a call block"));
    if (found) arguments.named.erase(given);
  }
  if (macro.takes_kwargs && !is_parameter(kwargs_)) {
    std::vector<std::pair<Value, Value>> rest;
    for (auto& [key, value] : arguments.named) rest.emplace_back(Value(key, kUnknown), std::move(value));
    scope->set(*kwargs_, dict_of(*this, std::move(rest)));
  } else if (!arguments.named.empty()) {
    fail("the macro {} has no parameter {}", name, arguments.named.front().first);
  }
  const std::size_t count = macro.parameters.size();
  const std::size_t taken = std::min(count, arguments.positional.size());
  if (macro.takes_varargs && !is_parameter(varargs_)) {
    arguments.positional.erase(arguments.positional.begin(),
                               arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken));
    scope->set(*varargs_, tuple_of(*this, std::move(arguments.positional)));
  } else if (arguments.positional.size() > count) {
    fail("the macro {} takes at most {} arguments but got {}", name, count, arguments.positional.size());
  }
}

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/machine.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using ExpressionKind = Expression::Kind;

}  // namespace

void Scope::set(NameId name, Value value) {
  for (auto& [known, slot] : values) {
    if (known == name) {
      slot = std::move(value);
      return;
    }
  }
  values.emplace_back(name, std::move(value));
}

const Value* Scope::find(NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [known, value] : scope->values) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

// Today's date would make other training data of the same records every day.
constexpr std::string_view kNoDate =
    ": the template writes the date, and nobody has said which\nhint: a fixed one, for example "
    "format.chat_date: 2024-07-26";

Value Machine::evaluate_name(const Expression& node, const Scope& scope) {
  const Value* found = scope.find(node.id);
  if (found == nullptr) found = &variables_[node.id];
  if (found->is(Value::Kind::Missing)) {
    const std::string_view why = node.name == "strftime_now" ? kNoDate : "";
    return Value::undefined(fmt::format("{} is undefined{}", node.name, why));
  }
  return *found;
}

std::vector<Value> Machine::evaluate_all(const Expression& node, const ScopePtr& scope) {
  std::vector<Value> values;
  values.reserve(node.parts.size());
  for (const auto& part : node.parts) values.push_back(evaluate(*part, scope));
  return values;
}

Value Machine::evaluate_dict(const Expression& node, const ScopePtr& scope) {
  std::vector<std::pair<Value, Value>> entries;
  for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) {
    Value key = evaluate(*node.parts[i], scope);
    entries.emplace_back(std::move(key), evaluate(*node.parts[i + 1], scope));
  }
  return dict_of(*this, std::move(entries));
}

Value Machine::evaluate_compare(const Expression& node, const ScopePtr& scope) {
  Value left = evaluate(*node.parts[0], scope);
  for (std::size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.parts[i + 1], scope);
    if (!compare(*this, node.operators[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Machine::evaluate_conditional(const Expression& node, const ScopePtr& scope) {
  if (truth(*this, evaluate(*node.parts[0], scope))) return evaluate(*node.parts[1], scope);
  if (node.parts[2] != nullptr) return evaluate(*node.parts[2], scope);
  return Value::undefined("this condition is false and has no else");
}

Value Machine::evaluate_slice(const Expression& node, const ScopePtr& scope) {
  const Value whole = evaluate(*node.parts[0], scope);
  std::optional<Value> bounds[3];
  const Value* given[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    if (node.parts[i + 1] == nullptr) continue;
    bounds[i] = evaluate(*node.parts[i + 1], scope);
    require_defined(*this, *bounds[i]);
    given[i] = &*bounds[i];
  }
  return slice_of(*this, whole, given[0], given[1], given[2]);
}

Value Machine::evaluate_concat(const Expression& node, const ScopePtr& scope) {
  Text out;
  for (const auto& part : node.parts) {
    const Text text = to_text(*this, evaluate(*part, scope));
    charge_growth(out.size(), text.size());
    out.append(text);
  }
  return Value(std::move(out));
}

Arguments Machine::arguments(const Expression& node, const ScopePtr& scope) {
  Arguments out;
  for (const CallArgument& argument : node.arguments) {
    Value value = evaluate(*argument.value, scope);
    switch (argument.kind) {
      case CallArgument::Kind::Positional:
        out.positional.push_back(std::move(value));
        break;
      case CallArgument::Kind::Named:
        out.named.emplace_back(argument.name, std::move(value));
        break;
      case CallArgument::Kind::Spread:
        for (Value& item : items_of(*this, value)) out.positional.push_back(std::move(item));
        break;
      case CallArgument::Kind::SpreadNamed:
        require_defined(*this, value);
        if (!value.is(Value::Kind::Dict)) fail("** needs a dict, not {}", type_name(value));
        for (const auto& [key, item] : value.dict().entries) {
          if (!key.is(Value::Kind::String)) fail("** needs a dict whose keys are strings");
          out.named.emplace_back(key.bytes(), item);
        }
    }
  }
  return out;
}

// A filter or a test.
Value Machine::apply(const Expression& node, const Value& subject, const ScopePtr& scope) {
  if (node.builtin == nullptr) {
    fail("there is no {} {}", node.kind == ExpressionKind::Filter ? "filter" : "test", node.name);
  }
  charge();
  return node.builtin->run(*this, subject, arguments(node, scope));
}

Value Machine::evaluate(const Expression& node, const ScopePtr& scope) {
  const Level level(*this, node.at);
  charge();
  switch (node.kind) {
    case ExpressionKind::Constant:
      return node.value;
    case ExpressionKind::Namespaced:
    case ExpressionKind::Name:
      return evaluate_name(node, *scope);
    case ExpressionKind::List:
      return list_of(*this, evaluate_all(node, scope));
    case ExpressionKind::Tuple:
      return tuple_of(*this, evaluate_all(node, scope));
    case ExpressionKind::Dict:
      return evaluate_dict(node, scope);
    case ExpressionKind::Negative:
      return negated(*this, evaluate(*node.parts[0], scope), true);
    case ExpressionKind::Positive:
      return negated(*this, evaluate(*node.parts[0], scope), false);
    case ExpressionKind::Binary: {
      const Value left = evaluate(*node.parts[0], scope);
      return binary(*this, node.operators[0], left, evaluate(*node.parts[1], scope));
    }
    case ExpressionKind::Concat:
      return evaluate_concat(node, scope);
    case ExpressionKind::Compare:
      return evaluate_compare(node, scope);
    case ExpressionKind::And:
    case ExpressionKind::Or: {
      Value left = evaluate(*node.parts[0], scope);
      return truth(*this, left) == (node.kind == ExpressionKind::Or) ? left : evaluate(*node.parts[1], scope);
    }
    case ExpressionKind::Not:
      return Value(!truth(*this, evaluate(*node.parts[0], scope)));
    case ExpressionKind::Conditional:
      return evaluate_conditional(node, scope);
    case ExpressionKind::Attribute:
      return attribute_of(*this, evaluate(*node.parts[0], scope), node.name);
    case ExpressionKind::Item: {
      const Value whole = evaluate(*node.parts[0], scope);
      return item_of(*this, whole, evaluate(*node.parts[1], scope));
    }
    case ExpressionKind::Slice:
      return evaluate_slice(node, scope);
    case ExpressionKind::Call: {
      const Value callee = evaluate(*node.parts[0], scope);
      return call(*this, callee, arguments(node, scope));
    }
    case ExpressionKind::Filter:
    case ExpressionKind::Test:
      return apply(node, evaluate(*node.parts[0], scope), scope);
  }
  return Value();
}

}  // namespace bora::jinja

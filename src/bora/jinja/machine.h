// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/jinja/objects.h"
#include "bora/jinja/syntax.h"

namespace bora::jinja {

/// The variables of a template, a loop's round, a macro's call, ... Functions keep the scope they were made
/// in; it is emptied when it ends, so that no two keep each other alive.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  void set(NameId name, Value value);
  const Value* find(NameId name) const;

  std::shared_ptr<Scope> parent;
  std::vector<std::pair<NameId, Value>> values;
};
using ScopePtr = std::shared_ptr<Scope>;

/// Runs one program once.
class Machine : public Guard {
 public:
  Machine(const Program& program, const Limits& limits) : Guard(program.name, limits), program_(program) {}
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Sets a variable that the program may read; later calls win.
  void define(const std::string& name, Value value);
  /// Makes range, namespace, raise_exception ... known, and strftime_now if `now` is.
  void define_globals(const std::optional<std::int64_t>& now);
  Text run();

  // For the objects that call back: loops and macros.
  Value call_macro(const Statement& macro, const ScopePtr& closure, Arguments&& arguments);
  Value loop_again(const Statement& loop, const ScopePtr& scope, const Value& iterable,
                   std::int64_t round_depth);

 private:
  enum class Flow : std::uint8_t { Next, Break, Continue };

  Flow execute(const Body& body, const ScopePtr& scope);
  Flow execute(const Statement& node, const ScopePtr& scope);
  Flow execute_if(const Statement& node, const ScopePtr& scope);
  Flow execute_loop(const Statement& node, const ScopePtr& scope, const Value& iterable,
                    std::int64_t round_depth);
  Flow execute_set(const Statement& node, const ScopePtr& scope);
  Flow execute_set_block(const Statement& node, const ScopePtr& scope);
  Flow execute_filter_block(const Statement& node, const ScopePtr& scope);
  Flow execute_with(const Statement& node, const ScopePtr& scope);
  Flow execute_call_block(const Statement& node, const ScopePtr& scope);
  Flow execute_generation(const Statement& node, const ScopePtr& scope);
  void bind(const Statement& macro, const ScopePtr& scope, Arguments&& arguments);
  void bind_rest(const Statement& macro, const ScopePtr& scope, Arguments&& arguments);
  void assign(const Expression& target, const Value& value, const ScopePtr& scope);
  void write(const Value& value);
  /// What `body` writes, instead of writing it.
  template <class Run>
  Text capture(const Run& body);
  std::unique_ptr<Iterator> filtered(const Statement& loop, std::unique_ptr<Iterator> source,
                                     const ScopePtr& scope);

  Value evaluate(const Expression& node, const ScopePtr& scope);
  Value evaluate_name(const Expression& node, const Scope& scope);
  Value evaluate_compare(const Expression& node, const ScopePtr& scope);
  Value evaluate_conditional(const Expression& node, const ScopePtr& scope);
  Value evaluate_slice(const Expression& node, const ScopePtr& scope);
  Value evaluate_concat(const Expression& node, const ScopePtr& scope);
  Value evaluate_dict(const Expression& node, const ScopePtr& scope);
  Value apply(const Expression& node, const Value& subject, const ScopePtr& scope);
  /// A chain of filters whose first has no subject but the text of a block.
  Value apply_chain(const Expression& filter, const Value& text, const ScopePtr& scope);
  std::vector<Value> evaluate_all(const Expression& node, const ScopePtr& scope);
  Arguments arguments(const Expression& node, const ScopePtr& scope);

  Value make_namespace(Arguments&& arguments);
  std::optional<NameId> id_of(std::string_view name) const;

  const Program& program_;
  std::vector<Value> variables_;  // by name; Missing where there is none
  Text* out_ = nullptr;
  std::optional<NameId> loop_, caller_, varargs_, kwargs_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;  // emptied at the end: they can hold each other
};

/// A scope that is emptied when this ends.
class InnerScope {
 public:
  InnerScope(const ScopePtr& outer, const Body* body) : scope_(std::make_shared<Scope>(outer)) {
    if (body == nullptr) return;
    for (NameId name : body->unset) scope_->set(name, Value::missing());
  }
  ~InnerScope() { scope_->values.clear(); }
  InnerScope(const InnerScope&) = delete;
  InnerScope& operator=(const InnerScope&) = delete;
  const ScopePtr& get() const { return scope_; }

 private:
  ScopePtr scope_;
};

/// The clock's reading as `format` asks: strftime of C, with English names and no zone.
std::string format_time(const Guard& guard, std::string_view format, std::int64_t seconds);

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>

#include "bora/jinja/machine.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kLongestRange = 100'000;  // that of jinja2's sandbox

Value function(Function::Body body) { return Value(std::make_shared<Function>(std::move(body))); }

Value range(Guard& guard, Arguments&& arguments) {
  const std::size_t given = arguments.positional.size();
  const Bound bound(guard, "range", std::move(arguments), {"start", "stop", "step"}, 1);
  if (given == 0) guard.fail("range takes no named arguments");
  const std::int64_t start = given == 1 ? 0 : bound.integer(0, 0);
  const std::int64_t stop = given == 1 ? bound.integer(0, 0) : bound.integer(1, 0),
                     step = bound.integer(2, 1);
  if (step == 0) guard.fail("range: the step cannot be zero");
  Origin origin = kControl;
  for (std::size_t i = 0; i < given; ++i) origin &= bound[i]->origin();
  const auto made = std::make_shared<Range>(start, stop, step, origin);
  if (made->length(guard) > kLongestRange) guard.fail("range: more than {} numbers", kLongestRange);
  return Value(made);
}

std::vector<std::pair<Value, Value>> pairs(Guard& guard, std::string_view who, Arguments&& arguments) {
  if (arguments.positional.size() > 1) guard.fail("{} takes at most one positional argument", who);
  std::vector<std::pair<Value, Value>> entries;
  for (const Value& from : arguments.positional) {
    if (from.is(Kind::Dict)) {
      entries = from.dict().entries;
      continue;
    }
    for (const Value& pair : items_of(guard, from)) {
      std::vector<Value> two = items_of(guard, pair);
      if (two.size() != 2) guard.fail("{} needs pairs, not {} values", who, two.size());
      entries.emplace_back(std::move(two[0]), std::move(two[1]));
    }
  }
  for (auto& [name, value] : arguments.named) entries.emplace_back(Value(name, kControl), std::move(value));
  return entries;
}

Value dict(Guard& guard, Arguments&& arguments) {
  return dict_of(guard, pairs(guard, "dict", std::move(arguments)));
}

Value joiner(Guard& guard, Arguments&& arguments) {
  const Bound bound(guard, "joiner", std::move(arguments), {"sep"});
  const Value separator = bound[0] != nullptr ? *bound[0] : Value(", ", kControl);
  auto made = std::make_shared<Function>(
      [separator, used = false](Guard&, Arguments&&) mutable {
        return std::exchange(used, true) ? separator : Value("", kControl);
      },
      "Joiner");
  made->depth = nested(guard, separator.depth());
  return Value(made);
}

/// cycler(...): next(), current and reset().
class Cycler : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(Value items) : items_(std::move(items)) { depth = items_.depth(); }
  std::string_view type() const override { return "Cycler"; }
  std::optional<Value> attribute(Guard&, const std::string& name) override {
    if (name == "current") return items_.items()[at_];
    if (name != "next" && name != "reset") return std::nullopt;
    auto step = std::make_shared<Function>(
        [self = shared_from_this(), reset = name == "reset"](Guard&, Arguments&&) {
          const std::size_t before = self->at_;
          self->at_ = reset ? 0 : (before + 1) % self->items_.items().size();
          return reset ? Value() : self->items_.items()[before];
        },
        "method");
    step->depth = depth + 1;
    return Value(step);
  }

 private:
  Value items_;
  std::size_t at_ = 0;
};

Value cycler(Guard& guard, Arguments&& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty())
    guard.fail("cycler needs the items to cycle through");
  return Value(std::make_shared<Cycler>(tuple_of(guard, std::move(arguments.positional))));
}

Value raise_exception(Guard& guard, Arguments&& arguments) {
  const Bound bound(guard, "raise_exception", std::move(arguments), {"message"}, 1);
  guard.fail("the template refuses this conversation: {}", to_text(guard, *bound[0]).view());
}

Value lipsum(Guard& guard, Arguments&&) {
  guard.stop(ErrorKind::Unsupported, "lipsum makes random text, which Bora does not");
}

}  // namespace

std::optional<NameId> Machine::id_of(std::string_view name) const {
  const auto at_name = std::find(program_.names.begin(), program_.names.end(), name);
  if (at_name == program_.names.end()) return std::nullopt;
  return static_cast<NameId>(at_name - program_.names.begin());
}

void Machine::define(const std::string& name, Value value) {
  variables_.resize(program_.names.size(), Value::missing());
  if (const auto id = id_of(name)) variables_[*id] = std::move(value);
}

Value Machine::make_namespace(Arguments&& arguments) {
  charge();
  std::vector<std::pair<std::string, Value>> values;
  const Value merged = dict_of(*this, pairs(*this, "namespace", std::move(arguments)));
  for (const auto& [key, value] : merged.dict().entries) {
    if (!key.is(Kind::String)) fail("namespace needs names that are strings");
    values.emplace_back(key.bytes(), value);
  }
  namespaces_.push_back(std::make_shared<Namespace>(std::move(values)));
  return Value(std::shared_ptr<Object>(namespaces_.back()));
}

void Machine::define_globals(const std::optional<std::int64_t>& now) {
  loop_ = id_of("loop");
  caller_ = id_of("caller");
  varargs_ = id_of("varargs");
  kwargs_ = id_of("kwargs");
  define("range", function(range));
  define("dict", function(dict));
  define("joiner", function(joiner));
  define("cycler", function(cycler));
  define("lipsum", function(lipsum));
  define("raise_exception", function(raise_exception));
  define("namespace",
         function([this](Guard&, Arguments&& arguments) { return make_namespace(std::move(arguments)); }));
  if (!now) return;
  define("strftime_now", function([seconds = *now](Guard& guard, Arguments&& arguments) {
           const Bound bound(guard, "strftime_now", std::move(arguments), {"format"}, 1);
           const Text& format = bound.text(0);
           return Value(format_time(guard, format.view(), seconds), format.summary());
         }));
}

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/jinja/builtins.h"
#include "bora/jinja/value.h"

namespace bora::jinja {

/// A method together with the value it was looked up on.
class Method : public Object {
 public:
  Method(Guard& guard, const Builtin& builtin, Value self) : builtin_(builtin), self_(std::move(self)) {
    depth = nested(guard, self_.depth());
  }
  std::string_view type() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Value call(Guard& guard, Arguments&& arguments) override {
    return builtin_.run(guard, self_, std::move(arguments));
  }

 private:
  const Builtin& builtin_;
  Value self_;
};

/// A function of the environment: raise_exception, namespace, ...
class Function : public Object {
 public:
  using Body = std::function<Value(Guard&, Arguments&&)>;
  explicit Function(Body body, std::string_view type = "function") : body_(std::move(body)), type_(type) {}
  std::string_view type() const override { return type_; }
  bool callable() const override { return true; }
  Value call(Guard& guard, Arguments&& arguments) override { return body_(guard, std::move(arguments)); }

 private:
  Body body_;
  std::string_view type_;
};

/// range(start, stop, step).
class Range : public Object {
 public:
  Range(std::int64_t start, std::int64_t stop, std::int64_t step, Origin origin);
  std::string_view type() const override { return "range"; }
  std::optional<Value> item(Guard&, const Value& key) override;
  std::optional<std::size_t> length(Guard&) override { return count_; }
  std::size_t length() const { return count_; }
  Value start() const { return Value(start_, origin_); }
  Value stop() const { return Value(stop_, origin_); }
  Value step() const { return Value(step_, origin_); }
  std::unique_ptr<Iterator> iterate(Guard&, const std::shared_ptr<Object>& self) override;
  std::optional<Text> print(Guard&) override;
  bool equals(Guard&, const Object& other) override;
  Value at(std::size_t i) const { return Value(start_ + static_cast<std::int64_t>(i) * step_, origin_); }
  /// The elements start, start + step, ... of this one, `count` of them.
  std::shared_ptr<Range> slice(std::int64_t start, std::int64_t stop, std::int64_t step) const;

 private:
  std::int64_t start_, stop_, step_;
  std::size_t count_ = 0;
  Origin origin_;
};

/// dict.items(), dict.keys(), dict.values().
class DictView : public Object {
 public:
  enum class Part : std::uint8_t { Items, Keys, Values };
  DictView(Guard& guard, std::shared_ptr<Dict> dict, Part part);
  std::string_view type() const override;
  std::optional<std::size_t> length(Guard&) override { return dict_->entries.size(); }
  std::unique_ptr<Iterator> iterate(Guard& guard, const std::shared_ptr<Object>& self) override;
  std::optional<Text> print(Guard&) override;
  Value at(Guard& guard, std::size_t i) const;

 private:
  std::shared_ptr<Dict> dict_;
  Part part_;
};

/// What lazy filters return: it yields each item once, to whoever asks first.
class Generator : public Object {
 public:
  Generator(Guard& guard, std::unique_ptr<Iterator> source, int source_depth);
  std::string_view type() const override { return "generator"; }
  std::unique_ptr<Iterator> iterate(Guard&, const std::shared_ptr<Object>& self) override;

 private:
  std::unique_ptr<Iterator> source_;
};

/// A generator whose items `next` makes; `depth` is that of the deepest value it holds.
Value generate(Guard& guard, int depth, std::function<bool(Value&)> next);

/// namespace(...): the one thing that templates can change.
class Namespace : public Object {
 public:
  explicit Namespace(std::vector<std::pair<std::string, Value>> values) : values_(std::move(values)) {}
  std::string_view type() const override { return "Namespace"; }
  std::optional<Value> attribute(Guard&, const std::string& name) override;
  std::optional<Text> print(Guard&) override;
  void set(Guard& guard, const std::string& name, Value value);
  void clear() { values_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace bora::jinja

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/jinja/value.h"

namespace bora::jinja {

/// A filter (`subject | name(...)`) or a test (`subject is name(...)`).
struct Builtin {
  std::string_view name;
  Value (*run)(Guard& guard, const Value& subject, Arguments&& arguments);
};

/// Those that Bora has, or null. They behave as in jinja2 3.1 (jinja2.filters, jinja2.tests), tojson as in
/// `transformers`.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);

// Parts of the table.
std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();

/// The arguments of a call sorted to the names of a signature.
class Bound {
 public:
  /// `names` in order, of which the first `required` must be there. `who` asks, in errors.
  Bound(Guard& guard, std::string_view who, Arguments&& arguments,
        std::initializer_list<std::string_view> names, std::size_t required = 0);

  /// The argument, or null.
  const Value* operator[](std::size_t i) const { return values_[i] ? &*values_[i] : nullptr; }
  /// The argument if there is one that is not none.
  const Value* unless_none(std::size_t i) const {
    return values_[i] && !values_[i]->is(Value::Kind::None) ? &*values_[i] : nullptr;
  }
  /// Truth of an argument, false without it.
  bool flag(std::size_t i) const;
  /// A whole number; an error for anything else.
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
  /// A string; an error for anything else.
  const Text& text(std::size_t i) const;

 private:
  Guard& guard_;
  std::string_view who_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

/// Looks up "a.b.0" as jinja2's attribute arguments do: parts that are numbers as indices.
class Path {
 public:
  Path(Guard& guard, const Value& path);
  Value of(Guard& guard, Value value) const;

 private:
  std::vector<Value> parts_;
};

}  // namespace bora::jinja

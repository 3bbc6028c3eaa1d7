// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>

#include "bora/jinja/syntax.h"
#include "bora/jinja/value.h"

namespace bora::jinja {

/// left op right, for arithmetic and comparisons, as Python has it. Errors: types that do not go together,
/// division by zero, integers beyond 64 bits.
Value binary(Guard& guard, Operator op, const Value& left, const Value& right);
bool compare(Guard& guard, Operator op, const Value& left, const Value& right);
Value negated(Guard& guard, const Value& value, bool negate);

/// `value.name` and `value[key]`: methods before entries, and entries before methods. What is not there is
/// undefined, as is what the sandbox forbids; on an undefined value it is an error.
Value attribute_of(Guard& guard, const Value& value, const std::string& name);
Value item_of(Guard& guard, const Value& value, const Value& key);
/// `value[start:stop:step]`; null where a part is left out.
Value slice_of(Guard& guard, const Value& value, const Value* start, const Value* stop, const Value* step);

Value call(Guard& guard, const Value& callee, Arguments&& arguments);

/// `format % values` and format.format(...).
Value percent_format(Guard& guard, const Text& format, const Value& values);
Value brace_format(Guard& guard, const Text& format, const Arguments& arguments);

/// `text` as an operand of markup: escaped unless it is markup itself.
Text as_markup(Guard& guard, const Value& value);
/// A method of strings by name, or nothing.
std::optional<Value> string_method(Guard& guard, const Value& self, const std::string& name);
std::optional<Value> container_method(Guard& guard, const Value& self, const std::string& name);

/// `text` n times.
Text repeated(Guard& guard, const Text& text, std::int64_t times);
/// The whole of `text` rewritten by its bytes; what comes of it is control text only if all of it was.
Value rewritten(Guard& guard, const Text& text, std::string (*rewrite)(std::string_view));

// jinja2's and Python's functions on strings, shared by filters and methods.
Text stripped(Guard& guard, const Text& text, const Value* characters, bool left, bool right);
Text replaced(Guard& guard, const Text& text, const Text& from, const Text& to, std::int64_t count);
Text joined(Guard& guard, const Text& separator, const std::vector<Value>& items);
std::vector<Text> lines_of(Guard& guard, const Text& text, bool keep_ends = false);

}  // namespace bora::jinja

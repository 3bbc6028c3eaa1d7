// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/builtins.h"

#include <algorithm>

#include "bora/base/text.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/string.h"

namespace bora::jinja {

const Builtin* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    const auto at =
        std::find_if(table.begin(), table.end(), [&](const Builtin& b) { return b.name == name; });
    if (at != table.end()) return &*at;
  }
  return nullptr;
}

Bound::Bound(Guard& guard, std::string_view who, Arguments&& arguments,
             std::initializer_list<std::string_view> names, std::size_t required)
    : guard_(guard), who_(who), names_(names), values_(names.size()) {
  if (arguments.positional.size() > names_.size()) {
    guard.fail("{} takes at most {} arguments but got {}", who, names_.size(), arguments.positional.size());
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = std::move(arguments.positional[i]);
  for (auto& [name, value] : arguments.named) {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) guard.fail("{} has no parameter {}", who, name);
    auto& slot = values_[static_cast<std::size_t>(at - names_.begin())];
    if (slot) guard.fail("{} gets its parameter {} twice", who, name);
    slot = std::move(value);
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!values_[i]) guard.fail("{} needs its parameter {}", who, names_[i]);
  }
}

bool Bound::flag(std::size_t i) const { return values_[i] && truth(guard_, *values_[i]); }

std::int64_t Bound::integer(std::size_t i, std::int64_t otherwise) const {
  if (!values_[i]) return otherwise;
  require_defined(guard_, *values_[i]);
  if (!values_[i]->is_whole()) {
    guard_.fail("{}: {} should be an integer but is {}", who_, names_[i], type_name(*values_[i]));
  }
  return values_[i]->integer();
}

const Text& Bound::text(std::size_t i) const {
  require_defined(guard_, *values_[i]);
  if (!values_[i]->is(Value::Kind::String)) {
    guard_.fail("{}: {} should be a string but is {}", who_, names_[i], type_name(*values_[i]));
  }
  return values_[i]->text();
}

Path::Path(Guard& guard, const Value& path) {
  if (path.is(Value::Kind::None)) return;
  if (!path.is(Value::Kind::String)) {
    parts_.push_back(path);
    return;
  }
  guard.charge_bytes(path.text().size());
  for (const std::string& part : split(path.bytes(), '.')) {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    const ParsedInteger index = number ? parse_integer(part, 10) : ParsedInteger{};
    const bool fine = index.outcome == ParsedInteger::Outcome::Fine;
    parts_.push_back(fine ? Value(index.value) : Value(part, kUnknown));
  }
}

Value Path::of(Guard& guard, Value value) const {
  for (const Value& part : parts_) value = item_of(guard, value, part);
  return value;
}

}  // namespace bora::jinja

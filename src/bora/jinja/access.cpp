// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <array>

#include "bora/jinja/objects.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

std::string_view owner(const Value& value) { return value.is(Kind::None) ? "none" : type_name(value); }

Value absent(const Value& value, std::string_view what, std::string_view name) {
  return Value::undefined(fmt::format("{} has no {} {}", owner(value), what, name));
}

Value get(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "dict.get", std::move(arguments), {"key", "default"}, 1);
  if (const Value* found = find(guard, self.dict(), *bound[0])) return *found;
  return bound[1] != nullptr ? *bound[1] : Value();
}

template <DictView::Part part>
Value view(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "a dict's view", std::move(arguments), {});
  return Value(std::make_shared<DictView>(guard, self.shared_dict(), part));
}

Value copy(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "copy", std::move(arguments), {});
  return self;
}

Value count_items(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "count", std::move(arguments), {"value"}, 1);
  return Value(std::count_if(self.items().begin(), self.items().end(),
                             [&](const Value& item) { return equal(guard, item, *bound[0]); }));
}

Value index(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "index", std::move(arguments), {"value"}, 1);
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    if (equal(guard, self.items()[i], *bound[0])) return Value(static_cast<std::int64_t>(i));
  }
  guard.fail("{} does not hold the value that index() asks for", type_name(self));
}

/// The place of `value` in a range, or its length.
std::size_t place_in(Guard& guard, const Range& range, const Value& value) {
  const std::size_t count = range.length();
  std::size_t i = 0;
  while (i < count && !equal(guard, range.at(i), value)) ++i;
  return i;
}

const Range& range_of(const Value& self) { return dynamic_cast<const Range&>(self.object()); }

Value range_count(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "range.count", std::move(arguments), {"value"}, 1);
  const bool found = place_in(guard, range_of(self), *bound[0]) < range_of(self).length();
  return Value(std::int64_t{found});
}

Value range_index(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "range.index", std::move(arguments), {"value"}, 1);
  const std::size_t place = place_in(guard, range_of(self), *bound[0]);
  if (place == range_of(self).length()) guard.fail("range does not hold the value that index() asks for");
  return Value(static_cast<std::int64_t>(place));
}

constexpr std::array kRangeMethods = {Builtin{"count", range_count}, Builtin{"index", range_index}};

constexpr std::array kDictMethods = {
    Builtin{"get", get},
    Builtin{"items", view<DictView::Part::Items>},
    Builtin{"copy", copy},
    Builtin{"keys", view<DictView::Part::Keys>},
    Builtin{"values", view<DictView::Part::Values>},
};
constexpr std::array kListMethods = {Builtin{"count", count_items}, Builtin{"index", index},
                                     Builtin{"copy", copy}};

// What would change a value: the sandbox says no.
constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Value forbidden(const Value& value, std::string_view name) {
  return Value::undefined(
      fmt::format("the attribute {} of {} is unsafe: templates may not change what they are given", name,
                  type_name(value)));
}

bool is_internal(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

std::optional<Value> range_attribute(Guard& guard, const Value& value, const std::string& name) {
  const Range& range = range_of(value);
  if (name == "start") return range.start();
  if (name == "stop") return range.stop();
  if (name == "step") return range.step();
  for (const Builtin& builtin : kRangeMethods) {
    if (builtin.name == name) return Value(std::make_shared<Method>(guard, builtin, value));
  }
  return std::nullopt;
}

// What `value.name` is in Python, before any entry of that name.
std::optional<Value> python_attribute(Guard& guard, const Value& value, const std::string& name) {
  if (is_internal(name)) return forbidden(value, name);
  switch (value.kind()) {
    case Kind::String:
      return string_method(guard, value, name);
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
      return container_method(guard, value, name);
    case Kind::Object:
      return dynamic_cast<const Range*>(&value.object()) != nullptr ? range_attribute(guard, value, name)
                                                                    : value.object().attribute(guard, name);
    default:
      return std::nullopt;
  }
}

std::optional<Value> indexed(Guard& guard, const Value& value, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(*length_of(guard, value));
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  const auto i = static_cast<std::size_t>(index);
  if (value.is_sequence()) return value.items()[i];
  const std::string& bytes = value.bytes();
  const std::size_t begin = static_cast<std::size_t>(count) == bytes.size() ? i : offset_of(bytes, i);
  return Value(value.text().slice(begin, begin + bora::utf8_length(bytes[begin])));
}

std::optional<Value> entry(Guard& guard, const Value& value, const Value& key) {
  if (value.is(Kind::Object)) return value.object().item(guard, key);
  if (value.is(Kind::Dict)) {
    const Value* found = hashable(key) ? find(guard, value.dict(), key) : nullptr;
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }
  if ((value.is_sequence() || value.is(Kind::String)) && key.is_whole())
    return indexed(guard, value, key.integer());
  return std::nullopt;
}

// start, stop, step as Python's slice.indices() has them.
struct Indices {
  std::int64_t start, stop, step;
};

std::int64_t part(Guard& guard, const Value* value, std::int64_t otherwise) {
  if (value == nullptr || value->is(Kind::None)) return otherwise;
  if (!value->is_whole()) guard.fail("slices need integers, not {}", type_name(*value));
  return value->integer();
}

Indices indices(Guard& guard, std::int64_t length, const Value* start, const Value* stop, const Value* step) {
  Indices out{};
  out.step = part(guard, step, 1);
  if (out.step == 0) guard.fail("the step of a slice cannot be zero");
  const bool forward = out.step > 0;
  const std::int64_t low = forward ? 0 : -1, high = forward ? length : length - 1;
  const auto clamp = [&](std::int64_t i) { return std::clamp(i < 0 ? i + length : i, low, high); };
  out.start =
      start == nullptr || start->is(Kind::None) ? (forward ? low : high) : clamp(part(guard, start, 0));
  out.stop = stop == nullptr || stop->is(Kind::None) ? (forward ? high : low) : clamp(part(guard, stop, 0));
  return out;
}

template <class Take>
void for_each_index(const Indices& at, const Take& take) {
  // Steps beyond the length would overflow.
  for (std::int64_t i = at.start; at.step > 0 ? i < at.stop : i > at.stop;) {
    take(static_cast<std::size_t>(i));
    if (__builtin_add_overflow(i, at.step, &i)) return;
  }
}

Text slice_text(Guard& guard, const Text& text, const Indices& at) {
  const std::string& bytes = text.bytes();
  guard.charge_bytes(bytes.size());
  if (at.step == 1) {
    if (at.start >= at.stop) return text.slice(0, 0);
    const std::size_t begin = offset_of(bytes, static_cast<std::size_t>(at.start));
    const auto count = static_cast<std::size_t>(at.stop - at.start);
    return text.slice(begin, begin + offset_of(std::string_view(bytes).substr(begin), count));
  }
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < bytes.size(); i += bora::utf8_length(bytes[i])) offsets.push_back(i);
  guard.charge(offsets.size());
  Text out;
  out.markup = text.markup;
  for_each_index(at, [&](std::size_t i) {
    out.append(text, offsets[i], offsets[i] + bora::utf8_length(bytes[offsets[i]]));
  });
  return out;
}

}  // namespace

std::optional<Value> container_method(Guard& guard, const Value& self, const std::string& name) {
  const bool is_dict = self.is(Kind::Dict);
  const bool changes =
      is_dict ? is_one_of(name, kDictChanges) : self.is(Kind::List) && is_one_of(name, kListChanges);
  if (changes) return forbidden(self, name);
  const auto* begin = is_dict ? kDictMethods.data() : kListMethods.data();
  const auto* end =
      begin + (is_dict ? kDictMethods.size() : kListMethods.size() - (self.is(Kind::Tuple) ? 1 : 0));
  const auto* at = std::find_if(begin, end, [&](const Builtin& method) { return method.name == name; });
  if (at == end) return std::nullopt;
  return Value(std::make_shared<Method>(guard, *at, self));
}

Value attribute_of(Guard& guard, const Value& value, const std::string& name) {
  guard.charge();
  if (is_internal(name)) return forbidden(value, name);
  require_defined(guard, value);
  if (auto attribute = python_attribute(guard, value, name)) return *std::move(attribute);
  if (value.is(Kind::Dict)) {
    if (const Value* found = find(guard, value.dict(), name)) return *found;
  }
  return absent(value, "attribute", name);
}

Value item_of(Guard& guard, const Value& value, const Value& key) {
  guard.charge();
  require_defined(guard, value);
  if (auto item = entry(guard, value, key)) return *std::move(item);
  if (key.is(Kind::String)) {
    if (auto attribute = python_attribute(guard, value, key.bytes())) return *std::move(attribute);
    return absent(value, "entry", key.bytes());
  }
  return absent(value, "entry", repr(guard, key).view());
}

Value slice_of(Guard& guard, const Value& value, const Value* start, const Value* stop, const Value* step) {
  guard.charge();
  require_defined(guard, value);
  const auto* range = value.is(Kind::Object) ? dynamic_cast<const Range*>(&value.object()) : nullptr;
  if (!value.is_sequence() && !value.is(Kind::String) && range == nullptr) {
    guard.fail("a value of type {} cannot be sliced", type_name(value));
  }
  const Indices at = indices(guard, static_cast<std::int64_t>(*length_of(guard, value)), start, stop, step);
  if (value.is(Kind::String)) return Value(slice_text(guard, value.text(), at));
  if (range != nullptr) return Value(range->slice(at.start, at.stop, at.step));
  std::vector<Value> items;
  for_each_index(at, [&](std::size_t i) { items.push_back(value.items()[i]); });
  return value.is(Kind::List) ? list_of(guard, std::move(items)) : tuple_of(guard, std::move(items));
}

Value call(Guard& guard, const Value& callee, Arguments&& arguments) {
  guard.charge();
  require_defined(guard, callee);
  if (!callee.is(Kind::Object)) guard.fail("a {} cannot be called", type_name(callee));
  // The object may drop the last reference to itself.
  const auto keeper = callee.shared_object();
  return keeper->call(guard, std::move(arguments));
}

}  // namespace bora::jinja

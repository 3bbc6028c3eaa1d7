// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

class Characters : public Iterator {
 public:
  Characters(Guard& guard, Value text) : guard_(guard), text_(std::move(text)) {}
  bool next(Value& out) override {
    const Text& text = text_.text();
    if (at_ >= text.size()) return false;
    guard_.charge();
    const std::size_t end = at_ + bora::utf8_length(text.bytes()[at_]);
    Text character;  // no markup, even of markup
    character.append(text, at_, end);
    out = Value(std::move(character));
    at_ = end;
    return true;
  }

 private:
  Guard& guard_;
  Value text_;
  std::size_t at_ = 0;
};

class Items : public Iterator {
 public:
  Items(Guard& guard, std::shared_ptr<List> list) : guard_(guard), list_(std::move(list)) {}
  bool next(Value& out) override {
    if (list_ == nullptr || at_ >= list_->items.size()) return false;
    guard_.charge();
    out = list_->items[at_++];
    return true;
  }

 private:
  Guard& guard_;
  std::shared_ptr<List> list_;
  std::size_t at_ = 0;
};

class Keys : public Iterator {
 public:
  Keys(Guard& guard, std::shared_ptr<Dict> dict) : guard_(guard), dict_(std::move(dict)) {}
  bool next(Value& out) override {
    if (at_ >= dict_->entries.size()) return false;
    guard_.charge();
    out = dict_->entries[at_++].first;
    return true;
  }

 private:
  Guard& guard_;
  std::shared_ptr<Dict> dict_;
  std::size_t at_ = 0;
};

// An integer and a double compared exactly, as Python does: -1, 0, 1, or 2 for NaN.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) return (a.integer() > b.integer()) - (a.integer() < b.integer());
  if (!a.is_whole() && !b.is_whole()) {
    if (std::isnan(a.real()) || std::isnan(b.real())) return 2;
    return (a.real() > b.real()) - (a.real() < b.real());
  }
  if (!a.is_whole()) {
    const int other = compare_numbers(b, a);
    return other == 2 ? 2 : -other;
  }
  const double y = b.real();
  if (std::isnan(y)) return 2;
  if (y >= 0x1p63) return -1;
  if (y < -0x1p63) return 1;
  const double whole = std::floor(y);
  const auto integer = static_cast<std::int64_t>(whole);
  if (a.integer() != integer) return a.integer() > integer ? 1 : -1;
  return whole < y ? -1 : 0;
}

bool equal_dicts(Guard& guard, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = find(guard, b, entry.first);
    return other != nullptr && equal(guard, entry.second, *other);
  });
}

bool equal_items(Guard& guard, const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](const auto& x, const auto& y) { return equal(guard, x, y); });
}

bool less_items(Guard& guard, const std::vector<Value>& a, const std::vector<Value>& b,
                std::string_view sign) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!equal(guard, a[i], b[i])) return less(guard, a[i], b[i], sign);
  }
  return a.size() < b.size();
}

int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

std::shared_ptr<List> make_list(Guard& guard, std::vector<Value> items) {
  guard.charge(1 + items.size() / 4);
  auto list = std::make_shared<List>();
  list->depth = nested(guard, deepest(items));
  list->items = std::move(items);
  return list;
}

}  // namespace

Value Value::missing() {
  Value value;
  value.kind_ = Kind::Missing;
  return value;
}

Value Value::undefined(std::string why) {
  Value value;
  value.kind_ = Kind::Undefined;
  value.data_ = std::make_shared<std::string>(std::move(why));
  return value;
}

bool Value::same(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::None:
      return true;
    case Kind::Bool:
      return as_truth == other.as_truth;
    case Kind::Int:
      return as_integer == other.as_integer;
    case Kind::Float:
      return as_number == other.as_number;
    default:
      return data_ == other.data_;
  }
}

int Value::depth() const {
  switch (kind_) {
    case Kind::List:
    case Kind::Tuple:
      return static_cast<const List*>(data_.get())->depth;
    case Kind::Dict:
      return dict().depth;
    case Kind::Object:
      return object().depth;
    default:
      return 0;
  }
}

int nested(const Guard& guard, int depth) {
  if (depth >= guard.limits().nesting) {
    guard.fail("lists and dicts nest deeper than {} levels", guard.limits().nesting);
  }
  return depth + 1;
}

Value list_of(Guard& guard, std::vector<Value> items) {
  Value value;
  value.kind_ = Kind::List;
  value.data_ = make_list(guard, std::move(items));
  return value;
}

Value tuple_of(Guard& guard, std::vector<Value> items) {
  Value value;
  value.kind_ = Kind::Tuple;
  value.data_ = make_list(guard, std::move(items));
  return value;
}

// The entries' elements are moved from.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Value dict_of(Guard& guard, std::vector<std::pair<Value, Value>> entries) {
  guard.charge(1 + entries.size() / 4);
  auto dict = std::make_shared<Dict>();
  int depth = 0;
  for (auto& [key, value] : entries) {
    depth = std::max({depth, key.depth(), value.depth()});
    if (const Value* at = find(guard, *dict, key)) {
      *const_cast<Value*>(at) = std::move(value);
    } else {
      dict->entries.emplace_back(std::move(key), std::move(value));
    }
  }
  dict->depth = nested(guard, depth);
  Value out;
  out.kind_ = Kind::Dict;
  out.data_ = std::move(dict);
  return out;
}

Value Object::call(Guard& guard, Arguments&&) { guard.fail("a {} cannot be called", type()); }

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::Undefined:
      return "Undefined";
    case Kind::None:
      return "NoneType";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return value.text().markup ? "Markup" : "str";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return "tuple";
    case Kind::Dict:
      return "dict";
    case Kind::Object:
      return value.object().type();
  }
  return "";
}

void require_defined(const Guard& guard, const Value& value) {
  if (value.is(Kind::Undefined)) guard.fail("{}", value.why());
}

bool truth(Guard& guard, const Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
      return value.boolean();
    case Kind::Int:
      return value.integer() != 0;
    case Kind::Float:
      return value.real() != 0;
    case Kind::Object:
      return value.object().length(guard).value_or(1) != 0;
    case Kind::Missing:
    case Kind::Undefined:
    case Kind::None:
      return false;
    case Kind::String:
      return !value.text().empty();
    case Kind::List:
    case Kind::Tuple:
      return !value.items().empty();
    case Kind::Dict:
      return !value.dict().entries.empty();
  }
  return false;
}

std::optional<std::size_t> length_of(Guard& guard, const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return 0;
    case Kind::String:
      guard.charge_bytes(value.text().size());
      return code_points(value.bytes());
    case Kind::List:
    case Kind::Tuple:
      return value.items().size();
    case Kind::Dict:
      return value.dict().entries.size();
    case Kind::Object:
      return value.object().length(guard);
    default:
      return std::nullopt;
  }
}

std::unique_ptr<Iterator> iterate_or_null(Guard& guard, const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return std::make_unique<Items>(guard, nullptr);
    case Kind::String:
      return std::make_unique<Characters>(guard, value);
    case Kind::List:
    case Kind::Tuple:
      return std::make_unique<Items>(guard, value.shared_items());
    case Kind::Dict:
      return std::make_unique<Keys>(guard, value.shared_dict());
    case Kind::Object:
      return value.object().iterate(guard, value.shared_object());
    default:
      return nullptr;
  }
}

std::unique_ptr<Iterator> iterate(Guard& guard, const Value& value) {
  auto iterator = iterate_or_null(guard, value);
  if (iterator == nullptr) guard.fail("a value of type {} cannot be iterated", type_name(value));
  return iterator;
}

std::vector<Value> items_of(Guard& guard, const Value& value) {
  if (value.is_sequence()) {
    guard.charge(1 + value.items().size() / 4);
    return value.items();
  }
  std::vector<Value> items;
  const auto iterator = iterate(guard, value);
  for (Value item; iterator->next(item);) items.push_back(std::move(item));
  return items;
}

bool equal(Guard& guard, const Value& a, const Value& b) {
  guard.charge();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::String:
      guard.charge_bytes(std::min(a.text().size(), b.text().size()));
      return a.bytes() == b.bytes();
    case Kind::List:
    case Kind::Tuple:
      return equal_items(guard, a.items(), b.items());
    case Kind::Dict:
      return equal_dicts(guard, a.dict(), b.dict());
    case Kind::Object:
      return a.object().equals(guard, b.object());
    default:
      return true;  // None, and Undefined, which equals its like
  }
}

bool less(Guard& guard, const Value& a, const Value& b, std::string_view sign) {
  guard.charge();
  require_defined(guard, a);
  require_defined(guard, b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.kind() == b.kind()) {
    // UTF-8 sorts as its code points do.
    if (a.is(Kind::String)) return a.bytes() < b.bytes();
    if (a.is_sequence()) return less_items(guard, a.items(), b.items(), sign);
  }
  guard.fail("'{}' has no meaning between {} and {}", sign, type_name(a), type_name(b));
}

bool contains(Guard& guard, const Value& container, const Value& item) {
  if (container.is(Kind::String)) {
    if (!item.is(Kind::String)) {
      require_defined(guard, item);
      guard.fail("'in' a string needs a string on its left, not {}", type_name(item));
    }
    guard.charge_bytes(container.text().size());
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  if (container.is(Kind::Dict)) return find(guard, container.dict(), item) != nullptr;
  const auto iterator = iterate(guard, container);
  for (Value other; iterator->next(other);) {
    if (other.same(item) || equal(guard, other, item)) return true;
  }
  return false;
}

bool hashable(const Value& value) {
  if (value.is(Kind::Tuple)) return std::all_of(value.items().begin(), value.items().end(), hashable);
  return !value.is(Kind::List) && !value.is(Kind::Dict);
}

const Value* find(Guard& guard, const Dict& dict, const Value& key) {
  if (key.is(Kind::String)) return find(guard, dict, key.bytes());
  if (!hashable(key)) guard.fail("a {} cannot be a key", type_name(key));
  for (const auto& [other, value] : dict.entries) {
    if (equal(guard, other, key)) return &value;
  }
  return nullptr;
}

const Value* find(Guard& guard, const Dict& dict, std::string_view key) {
  guard.charge(1 + dict.entries.size() / 8);
  for (const auto& [other, value] : dict.entries) {
    if (other.is(Kind::String) && other.bytes() == key) return &value;
  }
  return nullptr;
}

}  // namespace bora::jinja

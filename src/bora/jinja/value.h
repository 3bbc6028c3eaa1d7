// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/jinja/guard.h"
#include "bora/jinja/text.h"

namespace bora::jinja {

class Object;
class Value;

/// Items of a list or a tuple. `depth`: 1 + that of its deepest item.
struct List {
  std::vector<Value> items;
  int depth = 1;
};

/// Entries in the order of their keys' first writing; keys are unlike as Python has it (1 == 1.0 == True).
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
};

/// A Python value as templates see it. Immutable but for objects; copies share.
class Value {
 public:
  enum class Kind : std::uint8_t {
    Missing,  ///< a name that a scope declares but has not yet set; never leaves a scope
    Undefined,
    None,
    Bool,
    Int,
    Float,
    String,
    List,
    Tuple,
    Dict,
    Object
  };

  Value() = default;
  explicit Value(bool value, Origin origin = kUnknown) : kind_(Kind::Bool), origin_(origin) {
    as_truth = value;
  }
  explicit Value(std::int64_t value, Origin origin = kUnknown) : kind_(Kind::Int), origin_(origin) {
    as_integer = value;
  }
  explicit Value(double value, Origin origin = kUnknown) : kind_(Kind::Float), origin_(origin) {
    as_number = value;
  }
  explicit Value(Text text) : kind_(Kind::String), data_(std::make_shared<Text>(std::move(text))) {}
  Value(std::string bytes, Origin origin) : Value(Text(std::move(bytes), origin)) {}
  Value(const char* bytes, Origin origin) : Value(std::string(bytes), origin) {}
  explicit Value(const char*) = delete;  // it would become a bool
  explicit Value(std::shared_ptr<Object> object) : kind_(Kind::Object), data_(std::move(object)) {}

  static Value missing();
  /// `why` is the message of the error that using it makes.
  static Value undefined(std::string why);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return kind_ == Kind::Bool || kind_ == Kind::Int || kind_ == Kind::Float; }
  bool is_whole() const { return kind_ == Kind::Bool || kind_ == Kind::Int; }
  bool is_sequence() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }

  bool boolean() const { return as_truth; }
  /// Bool or Int.
  std::int64_t integer() const {
    return kind_ == Kind::Bool ? static_cast<std::int64_t>(as_truth) : as_integer;
  }
  /// Any number.
  double real() const { return kind_ == Kind::Float ? as_number : static_cast<double>(integer()); }
  const Text& text() const { return *static_cast<const Text*>(data_.get()); }
  const std::string& bytes() const { return text().bytes(); }
  const std::vector<Value>& items() const { return static_cast<const List*>(data_.get())->items; }
  const Dict& dict() const { return *static_cast<const Dict*>(data_.get()); }
  Object& object() const { return *static_cast<Object*>(data_.get()); }
  /// Why it is undefined.
  const std::string& why() const { return *static_cast<const std::string*>(data_.get()); }
  std::shared_ptr<List> shared_items() const { return std::static_pointer_cast<List>(data_); }
  std::shared_ptr<Dict> shared_dict() const { return std::static_pointer_cast<Dict>(data_); }
  std::shared_ptr<Object> shared_object() const { return std::static_pointer_cast<Object>(data_); }

  /// kControl if whatever this prints as is known to be the template author's.
  Origin origin() const { return kind_ == Kind::String ? text().summary() : origin_; }
  /// The same in memory, as Python's `is`.
  bool same(const Value& other) const;
  /// How deep containers nest in it.
  int depth() const;

 private:
  friend Value list_of(Guard&, std::vector<Value>);
  friend Value tuple_of(Guard&, std::vector<Value>);
  friend Value dict_of(Guard&, std::vector<std::pair<Value, Value>>);

  Kind kind_ = Kind::None;
  Origin origin_ = kUnknown;
  union {
    bool as_truth;
    std::int64_t as_integer = 0;
    double as_number;
  };
  std::shared_ptr<void> data_;
};

/// Containers; nesting beyond the limit is an error. dict_of: later entries win over earlier of the same key.
Value list_of(Guard& guard, std::vector<Value> items);
Value tuple_of(Guard& guard, std::vector<Value> items);
Value dict_of(Guard& guard, std::vector<std::pair<Value, Value>> entries);
/// 1 + `depth`, or an error if that is beyond the limit.
int nested(const Guard& guard, int depth);

/// What iterating a value yields, item by item.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool next(Value& out) = 0;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Whatever has methods of its own. The defaults are those of a plain Python object.
class Object {
 public:
  virtual ~Object() = default;
  /// Python's name of the type.
  virtual std::string_view type() const = 0;
  virtual std::optional<Value> attribute(Guard&, const std::string& /*name*/) { return std::nullopt; }
  /// `self[key]` where that works.
  virtual std::optional<Value> item(Guard&, const Value& /*key*/) { return std::nullopt; }
  virtual std::optional<std::size_t> length(Guard&) { return std::nullopt; }
  /// Null: it cannot be iterated. The iterator shares ownership of `self`, which is this object.
  virtual std::unique_ptr<Iterator> iterate(Guard&, const std::shared_ptr<Object>& /*self*/) {
    return nullptr;
  }
  virtual bool callable() const { return false; }
  virtual Value call(Guard& guard, Arguments&& arguments);
  /// Its repr, or nothing: it would show an address.
  virtual std::optional<Text> print(Guard&) { return std::nullopt; }
  virtual bool equals(Guard&, const Object& other) { return this == &other; }

  int depth = 0;
};

/// Python's name of the type: str, int, dict, ...
std::string_view type_name(const Value& value);
/// Error if `value` is undefined; otherwise nothing.
void require_defined(const Guard& guard, const Value& value);

bool truth(Guard& guard, const Value& value);
/// len(value), or nothing where Python has none.
std::optional<std::size_t> length_of(Guard& guard, const Value& value);
/// iter(value), or null.
std::unique_ptr<Iterator> iterate_or_null(Guard& guard, const Value& value);
/// iter(value); an error if it is not iterable.
std::unique_ptr<Iterator> iterate(Guard& guard, const Value& value);
/// list(value).
std::vector<Value> items_of(Guard& guard, const Value& value);

bool equal(Guard& guard, const Value& a, const Value& b);
/// a < b, an error between types that have no order. `sign` names the operator in errors.
bool less(Guard& guard, const Value& a, const Value& b, std::string_view sign = "<");
/// `item in container`.
bool contains(Guard& guard, const Value& container, const Value& item);
/// The entry of `key`, or null. Error: a key that cannot be hashed.
const Value* find(Guard& guard, const Dict& dict, const Value& key);
const Value* find(Guard& guard, const Dict& dict, std::string_view key);
bool hashable(const Value& value);

}  // namespace bora::jinja

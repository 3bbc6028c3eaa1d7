// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {
namespace {

// Reads the text and leaves behind how far it has been read: the parser tells its listener no positions.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// Builds the value from the parser's events. (The library's own builder looks each new key up among all keys
// before it, which takes seconds for the vocabulary of a tokenizer, and keeps the last of two equal keys.)
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Builder(std::string_view text, std::string_view name, int max_depth)
      : furthest(text.data()), text_(text), name_(name), max_depth_(max_depth) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(std::move(value)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& value) {
    if (!open_.back().keys.insert(value).second) {
      stop(start_of_string(), fmt::format("duplicate key \"{}\" in one object", value));
    }
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception...] parse error at line 1, column 2: syntax error while parsing value - unexpected
    // ..."
    std::string_view what = error.what();
    for (std::string_view front : {"] ", "column ", ": ", "syntax error while parsing "}) {
      const auto at = what.find(front);
      if (at != std::string_view::npos) what.remove_prefix(at + front.size());
    }
    stop(std::min(position > 0 ? position - 1 : 0, text_.size()), fmt::format("malformed JSON: {}", what));
  }

  [[noreturn]] void stop(std::size_t at, const std::string& what) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    fail(ErrorKind::Corruption, "{}: line {}, column {}: {}", name_, line, column, what);
  }

  Json result;
  const char* furthest;

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  Json* place(Json&& value) {
    if (open_.empty()) {
      result = std::move(value);
      return &result;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return &parent.get_ref<Json::object_t&>().emplace_back(std::move(key_), std::move(value)).second;
  }
  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      stop(read_so_far() - 1, fmt::format("nested deeper than {} levels", max_depth_));
    }
    open_.push_back({place(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t read_so_far() const { return static_cast<std::size_t>(furthest - text_.data()); }

  // The opening quote of the string that ends where the parser stands.
  std::size_t start_of_string() const {
    const std::size_t closing = read_so_far() - 1;
    for (std::size_t at = closing; at-- > 0;) {
      if (text_[at] != '"') continue;
      std::size_t backslashes = 0;
      while (backslashes < at && text_[at - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) return at;
    }
    return 0;
  }

  std::string_view text_, name_;
  int max_depth_;
  std::vector<Open> open_;
  std::string key_;
};

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump();
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const double number = value.is_number() ? value.get<double>() : 0.5;
  return std::floor(number) == number && std::fabs(number) <= 0x1p53
             ? std::optional(static_cast<std::int64_t>(number))
             : std::nullopt;
}

template <class T>
std::optional<T> convert(const Json& value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return whole_number(value);
  } else {
    const bool fits = std::is_same_v<T, bool>     ? value.is_boolean()
                      : std::is_same_v<T, double> ? value.is_number()
                                                  : value.is_string();
    return fits ? std::optional(value.get<T>()) : std::nullopt;
  }
}

const Json* find(const Json& object, std::string_view key, std::string_view name) {
  if (!object.is_object()) {
    fail(ErrorKind::Corruption, "{}: should be an object with {} but is {}", name, key, shown(object));
  }
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

template <class T>
T typed(const Json& value, std::string_view key, std::string_view name) {
  if (auto converted = convert<T>(value)) return *std::move(converted);
  fail(ErrorKind::Corruption, "{}: {} should be {} but is {}", name, key, type_name<T>(), shown(value));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, int max_depth) {
  Builder builder(text, name, max_depth);
  // The parser takes a zero byte for the end, whatever follows it.
  if (const auto zero = text.find('\0'); zero != text.npos) builder.stop(zero, "malformed JSON: a zero byte");
  const Cursor begin(text.data(), &builder.furthest), end(text.data() + text.size(), &builder.furthest);
  Json::sax_parse(begin, end, &builder);
  return std::move(builder.result);
}

template <class T>
T json_get(const Json& object, std::string_view key, std::string_view name) {
  if (const Json* value = find(object, key, name)) return typed<T>(*value, key, name);
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  fail(ErrorKind::Corruption, "{}: {} is missing{}", name, key, did_you_mean(key, keys));
}

template <class T>
T json_get(const Json& object, std::string_view key, std::string_view name, const T& otherwise) {
  const Json* value = find(object, key, name);
  return value == nullptr || value->is_null() ? otherwise : typed<T>(*value, key, name);
}

template bool json_get(const Json&, std::string_view, std::string_view);
template std::int64_t json_get(const Json&, std::string_view, std::string_view);
template double json_get(const Json&, std::string_view, std::string_view);
template std::string json_get(const Json&, std::string_view, std::string_view);
template bool json_get(const Json&, std::string_view, std::string_view, const bool&);
template std::int64_t json_get(const Json&, std::string_view, std::string_view, const std::int64_t&);
template double json_get(const Json&, std::string_view, std::string_view, const double&);
template std::string json_get(const Json&, std::string_view, std::string_view, const std::string&);

}  // namespace bora

template class nlohmann::basic_json<nlohmann::ordered_map>;

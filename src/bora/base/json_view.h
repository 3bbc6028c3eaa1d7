// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora {

/// A JSON document of any size in one piece of memory (simdjson's DOM): a vocabulary has too many keys for a
/// tree of small objects.
class JsonDocument {
 public:
  /// Errors: Corruption on malformed text or nesting deeper than 64.
  JsonDocument(std::string_view text, std::string name);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  class JsonView root() const;

 private:
  friend class JsonView;
  struct State;
  std::unique_ptr<State> state_;
};

/// A value inside a JsonDocument, which must outlive it, and where it stands. All errors are Corruption and
/// read "tokenizer.json: model.merges[7] should be a string but is 3".
class JsonView {
 public:
  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  std::string_view string() const;
  std::int64_t integer() const;
  bool boolean() const;
  double number() const;

  /// A member that is there and not null.
  std::optional<JsonView> find(std::string_view key) const;
  /// The same; an error if there is none.
  JsonView at(std::string_view key) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  std::string string(std::string_view key, std::string_view otherwise) const;

  std::size_t size() const;  ///< of an array or object
  void each_item(const std::function<void(const JsonView&)>& visit) const;
  void each_member(const std::function<void(std::string_view key, const JsonView&)>& visit) const;

  /// The value as JSON without white space.
  std::string json() const;
  /// "tokenizer.json: model.merges[7]"
  std::string where() const;
  /// Throws Corruption "WHERE PROBLEM".
  [[noreturn]] void bad(std::string_view problem) const;

 private:
  friend class JsonDocument;
  struct Raw {  // simdjson's element, kept out of this header
    const void* document = nullptr;
    std::size_t index = 0;
  };
  static constexpr std::size_t kMember = static_cast<std::size_t>(-1), kRoot = kMember - 1;
  using Path = std::shared_ptr<const std::string>;
  JsonView(Raw raw, const std::string* name, Path parent, std::string_view key, std::size_t index = kMember)
      : raw_(raw), name_(name), parent_(std::move(parent)), key_(key), index_(index) {}
  Path path() const;
  [[noreturn]] void wrong_type(std::string_view wanted) const;

  Raw raw_;
  const std::string* name_;
  // The path is put together for messages alone: of a vocabulary's 100,000 entries none may need it.
  Path parent_;
  std::string_view key_;  // of a member
  std::size_t index_;     // of an item, or one of the above
};

/// Appends "text" in JSON's quotes.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);
/// The same for messages: of a long text, its first 60 bytes or so, then "..." after the quotes.
std::string json_excerpt(std::string_view text);

}  // namespace bora

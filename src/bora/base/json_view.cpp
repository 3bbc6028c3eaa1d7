// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/json_view.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <cstring>

#include "bora/base/error.h"

namespace bora {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxDocument = std::size_t{1} << 30;

using Element = simdjson::dom::element;

/// What messages show of a value: enough to find it, never a whole vocabulary.
std::string excerpt(const Element& element) {
  std::string text = simdjson::minify(element);
  if (text.size() > 40) {
    std::size_t cut = 37;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    text = text.substr(0, cut) + "...";
  }
  return text;
}

}  // namespace

struct JsonDocument::State {
  std::string name;
  simdjson::dom::parser parser;
  Element root;
};

namespace {

template <class Raw>
Element element_of(const Raw& raw) {
  static_assert(sizeof(Raw) == sizeof(Element) && std::is_trivially_copyable_v<Element>);
  Element element;
  std::memcpy(static_cast<void*>(&element), &raw, sizeof(raw));
  return element;
}

template <class Raw>
Raw raw_of(const Element& element) {
  Raw raw;
  std::memcpy(&raw, static_cast<const void*>(&element), sizeof(raw));
  return raw;
}

std::string member_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string name) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  if (text.size() > kMaxDocument) {
    fail(ErrorKind::Unsupported, "{}: {} bytes of JSON; at most {} are read", state_->name, text.size(),
         kMaxDocument);
  }
  auto error = state_->parser.allocate(std::max<std::size_t>(text.size(), 64), kMaxDepth);
  if (!error) error = state_->parser.parse(text.data(), text.size()).get(state_->root);
  if (error) fail(ErrorKind::Corruption, "{}: not JSON: {}", state_->name, simdjson::error_message(error));
}

JsonDocument::~JsonDocument() = default;

JsonView JsonDocument::root() const {
  return {raw_of<JsonView::Raw>(state_->root), &state_->name, std::make_shared<const std::string>(), "",
          JsonView::kRoot};
}

JsonView::Path JsonView::path() const {
  if (index_ == kRoot) return parent_;
  return std::make_shared<const std::string>(index_ == kMember ? member_path(*parent_, key_)
                                                               : fmt::format("{}[{}]", *parent_, index_));
}

bool JsonView::is_null() const { return element_of(raw_).is_null(); }
bool JsonView::is_string() const { return element_of(raw_).is_string(); }
bool JsonView::is_array() const { return element_of(raw_).is_array(); }
bool JsonView::is_object() const { return element_of(raw_).is_object(); }

std::string_view JsonView::string() const {
  std::string_view value;
  if (element_of(raw_).get(value)) wrong_type("a string");
  return value;
}

std::int64_t JsonView::integer() const {
  std::int64_t value = 0;
  if (element_of(raw_).get(value)) wrong_type("an integer");
  return value;
}

bool JsonView::boolean() const {
  bool value = false;
  if (element_of(raw_).get(value)) wrong_type("true or false");
  return value;
}

double JsonView::number() const {
  double value = 0;
  if (element_of(raw_).get(value)) wrong_type("a number");
  return value;
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  simdjson::dom::object object;
  if (element_of(raw_).get(object)) wrong_type("an object");
  Element found;
  if (object.at_key(key).get(found) || found.is_null()) return std::nullopt;
  auto path_there = std::make_shared<const std::string>(member_path(*path(), key));
  return JsonView(raw_of<Raw>(found), name_, std::move(path_there), "", kRoot);
}

JsonView JsonView::at(std::string_view key) const {
  auto found = find(key);
  if (!found) fail(ErrorKind::Corruption, "{}: {} is missing", *name_, member_path(*path(), key));
  return *found;
}

bool JsonView::boolean(std::string_view key, bool otherwise) const {
  const auto found = find(key);
  return found ? found->boolean() : otherwise;
}

std::int64_t JsonView::integer(std::string_view key, std::int64_t otherwise) const {
  const auto found = find(key);
  return found ? found->integer() : otherwise;
}

std::string JsonView::string(std::string_view key, std::string_view otherwise) const {
  const auto found = find(key);
  return std::string(found ? found->string() : otherwise);
}

std::size_t JsonView::size() const {
  std::size_t n = 0;  // simdjson's own count saturates at 2^24 - 1
  if (is_object())
    each_member([&](std::string_view, const JsonView&) { ++n; });
  else
    each_item([&](const JsonView&) { ++n; });
  return n;
}

void JsonView::each_item(const std::function<void(const JsonView&)>& visit) const {
  simdjson::dom::array array;
  if (element_of(raw_).get(array)) wrong_type("an array");
  std::size_t i = 0;
  JsonView view(raw_, name_, path(), "", 0);
  for (const Element item : array) {
    view.raw_ = raw_of<Raw>(item);
    view.index_ = i++;
    visit(view);
  }
}

void JsonView::each_member(const std::function<void(std::string_view, const JsonView&)>& visit) const {
  simdjson::dom::object object;
  if (element_of(raw_).get(object)) wrong_type("an object");
  JsonView view(raw_, name_, path(), "");
  for (const auto member : object) {
    view.raw_ = raw_of<Raw>(member.value);
    view.key_ = member.key;
    visit(member.key, view);
  }
}

std::string JsonView::json() const { return simdjson::minify(element_of(raw_)); }

std::string JsonView::where() const {
  const Path p = path();
  return p->empty() ? *name_ : fmt::format("{}: {}", *name_, *p);
}

void JsonView::bad(std::string_view problem) const { fail(ErrorKind::Corruption, "{} {}", where(), problem); }

void JsonView::wrong_type(std::string_view wanted) const {
  bad(fmt::format("should be {} but is {}", wanted, excerpt(element_of(raw_))));
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) continue;
    out.append(text, done, i - done);
    done = i + 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  out.append(text, done);
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_excerpt(std::string_view text) {
  std::size_t cut = 60;
  if (text.size() <= cut) return json_string(text);
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return json_string(text.substr(0, cut)) + "...";
}

}  // namespace bora

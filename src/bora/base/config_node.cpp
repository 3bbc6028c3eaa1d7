// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {

ConfigTree::Node ConfigTree::Node::scalar(std::string text, bool is_string) {
  Node node;
  node.kind = Kind::Scalar;
  node.text = std::move(text);
  node.is_string = is_string;
  return node;
}

namespace config {
namespace {

// 1_000_000 as in Python and YAML 1.1: an underscore stands between two digits.
std::string without_underscores(std::string_view text) {
  std::string out;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_' || i == 0 || !digit(i - 1) || !digit(i + 1)) out += text[i];
  }
  return out;
}

// A float that is written with an exponent needs a point for readers of YAML 1.1 (Python's): 1.0e-05.
Node from_digits(std::string text) {
  const auto exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return Node::scalar(std::move(text));
}

template <class Float>
Node from_float(Float value) {
  if (std::isnan(value)) return Node::scalar(".nan");
  if (std::isinf(value)) return Node::scalar(value > 0 ? ".inf" : "-.inf");
  return from_digits(fmt::format("{}", value));
}

Node* mutable_child(Node& node, std::string_view name) {
  return const_cast<Node*>(config::child(node, name));
}

[[noreturn]] void cannot_descend(std::string_view dotted, std::string_view upto, const Node& node) {
  if (node.kind == Node::Kind::List) {
    fail(ErrorKind::Config, "--{}: {} is a list of {} ({}): its items are 0 to {}", dotted, upto,
         node.children.size(), location(node), static_cast<std::int64_t>(node.children.size()) - 1);
  }
  fail(ErrorKind::Config, "--{}: {} is {} ({}), not a map", dotted, upto, shown(node), location(node));
}

// The existing key that is the longest front part of `rest`, or its first part.
std::string_view next_part(const Node& node, std::string_view rest) {
  for (std::size_t end = rest.size(); end != std::string_view::npos && end > 0;
       end = rest.rfind('.', end - 1)) {
    if (child(node, rest.substr(0, end)) != nullptr) return rest.substr(0, end);
  }
  return rest.substr(0, rest.find('.'));
}

}  // namespace

std::string location(const Node& node) {
  const std::string& file = node.file ? *node.file : std::string();
  return node.line > 0 ? fmt::format("{}:{}", file, node.line) : file;
}

std::string clipped(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) return std::string(text);
  text = text.substr(0, kLongest);
  if (const auto broken = invalid_utf8(text)) text = text.substr(0, *broken);
  return std::string(text) + "...";
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Null:
      return "null";
    case Node::Kind::List:
      return "a list";
    case Node::Kind::Map:
      return "a map";
    case Node::Kind::Scalar:
      break;
  }
  const bool bare = !node.is_string && (to_number(node) || to_bool(node));
  return bare ? clipped(node.text) : fmt::format("\"{}\"", clipped(node.text));
}

const Node* child(const Node& node, std::string_view name) {
  if (node.kind == Node::Kind::List) {
    const auto index = parse_int(name);
    const bool inside = index && *index >= 0 && *index < static_cast<std::int64_t>(node.children.size());
    return inside ? &node.children[static_cast<std::size_t>(*index)] : nullptr;
  }
  if (node.kind != Node::Kind::Map) return nullptr;
  for (const Node& c : node.children) {
    if (c.key == name) return &c;
  }
  return nullptr;
}

const Node* find(const Node& node, std::string_view dotted) {
  if (dotted.empty()) return &node;
  const std::string_view part = next_part(node, dotted);
  const Node* next = child(node, part);
  if (next == nullptr || part.size() == dotted.size()) return next;
  return find(*next, dotted.substr(part.size() + 1));
}

void merge_over(Node& base, Node&& over) {
  if (base.kind != Node::Kind::Map || over.kind != Node::Kind::Map) {
    over.key = base.key;
    base = std::move(over);
    return;
  }
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(base.children.size());
  base.children.reserve(base.children.size() + over.children.size());  // keeps the keys where they are
  for (std::size_t i = 0; i < base.children.size(); ++i) places.emplace(base.children[i].key, i);
  for (Node& c : over.children) {
    const auto place = places.find(c.key);
    if (place == places.end())
      base.children.push_back(std::move(c));
    else
      merge_over(base.children[place->second], std::move(c));
  }
}

void replace(Node& root, std::string_view dotted, Node&& value) {
  Node* at = &root;
  for (std::string_view rest = dotted;;) {
    if (at->kind == Node::Kind::Null) at->kind = Node::Kind::Map;
    const std::string_view part = next_part(*at, rest);
    if (part.empty()) fail(ErrorKind::Config, "--{}: a part of the key is empty", dotted);
    Node* next = mutable_child(*at, part);
    if (next == nullptr) {
      if (at->kind != Node::Kind::Map) {
        const auto upto = static_cast<std::size_t>(rest.data() - dotted.data());
        cannot_descend(dotted, upto == 0 ? "the configuration" : dotted.substr(0, upto - 1), *at);
      }
      Node fresh;
      fresh.key = part;
      fresh.file = value.file;
      next = &at->children.emplace_back(std::move(fresh));
    }
    at = next;
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  value.key = at->key;
  *at = std::move(value);
}

bool is_null(const Node& node) { return node.kind == Node::Kind::Null; }

std::optional<bool> to_bool(const Node& node) {
  if (node.kind != Node::Kind::Scalar) return std::nullopt;
  for (const char* word : {"true", "True", "TRUE"}) {
    if (node.text == word) return true;
  }
  for (const char* word : {"false", "False", "FALSE"}) {
    if (node.text == word) return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> to_integer(const Node& node) {
  if (node.kind != Node::Kind::Scalar) return std::nullopt;
  const std::string text = without_underscores(node.text);
  if (const auto whole = parse_int(text)) return whole;
  const auto number = parse_double(text);
  constexpr double kExact = 0x1p53;
  if (!number || std::fabs(*number) > kExact || std::floor(*number) != *number) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> to_number(const Node& node) {
  if (node.kind != Node::Kind::Scalar) return std::nullopt;
  if (node.text == ".inf") return std::numeric_limits<double>::infinity();
  if (node.text == "-.inf") return -std::numeric_limits<double>::infinity();
  return parse_double(without_underscores(node.text));
}

std::optional<double> to_duration(const Node& node) {
  return node.kind == Node::Kind::Scalar ? parse_duration(node.text) : std::nullopt;
}

Node from_number(double value) { return from_float(value); }
Node from_number(float value) { return from_float(value); }

Node from_duration(double seconds) {
  for (const auto& [unit, letter] : {std::pair{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}) {
    const double count = seconds / unit;
    if (seconds > 0 && count == std::floor(count) && count < 1e9) {
      return Node::scalar(fmt::format("{}{}", static_cast<std::int64_t>(count), letter));
    }
  }
  return from_number(seconds);
}

}  // namespace config
}  // namespace bora

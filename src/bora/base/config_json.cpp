// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bora/base/binder_state.h"

namespace bora {
namespace {

using config::Node;

Node node_of(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return Node::scalar(value.get<std::string>(), true);
  if (!value.is_structured()) return Node::scalar(value.dump());
  Node out;
  out.kind = value.is_array() ? Node::Kind::List : Node::Kind::Map;
  for (const auto& item : value.items()) {
    out.children.push_back(node_of(item.value()));
    if (value.is_object()) out.children.back().key = item.key();
  }
  return out;
}

Json json_of(const Node& node) {
  if (config::is_null(node)) return nullptr;
  if (node.kind == Node::Kind::Scalar) {
    if (node.is_string) return node.text;
    if (const auto truth = config::to_bool(node)) return *truth;
    if (const auto whole = config::to_integer(node)) return *whole;
    if (const auto number = config::to_number(node)) return *number;
    return node.text;
  }
  Json out = node.kind == Node::Kind::List ? Json::array() : Json::object();
  for (const Node& child : node.children) {
    if (node.kind == Node::Kind::List)
      out.push_back(json_of(child));
    else
      out[child.key] = json_of(child);
  }
  return out;
}

std::string_view named_there(std::string_view key, const KeyNames& names) {
  for (const auto& [ours, theirs] : names)
    if (ours == key) return theirs;
  return key;
}

// In YAML "4" may be a number; in JSON it is none.
std::optional<ConfigProblem> text_in_place_of(const Node& read, const Json& value, const std::string& name) {
  if (value.is_array() && read.kind == Node::Kind::List && read.children.size() == value.size()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (auto problem = text_in_place_of(read.children[i], value[i], name)) return problem;
    }
  }
  if (!value.is_string() || read.is_string || config::is_null(read)) return {};
  if (!config::to_number(read) && !config::to_bool(read)) return {};
  return ConfigProblem{"", name,
                       fmt::format("should be {} but is {}",
                                   config::to_bool(read) ? "true or false" : "a number", value.dump())};
}

}  // namespace

std::vector<ConfigProblem> read_json(const Json& object, BindTarget target, const KeyNames& names) {
  Node root;
  root.kind = Node::Kind::Map;
  for (const auto& key : config::known_keys(target)) {
    if (key.find('.') != std::string::npos) continue;
    const auto found = object.find(named_there(key, names));
    if (found != object.end()) config::replace(root, key, node_of(*found));
  }
  auto problems = config::problems_of(root, target, names);
  for (const Node& read : config::written(target).children) {
    const std::string name(named_there(read.key, names));
    const auto found = object.find(name);
    if (found == object.end()) continue;
    auto problem = text_in_place_of(read, *found, name);
    const auto same = [&](const ConfigProblem& p) { return p.key.starts_with(problem->key); };
    if (problem && std::none_of(problems.begin(), problems.end(), same))
      problems.push_back(std::move(*problem));
  }
  return problems;
}

Json write_json(BindTarget from, const KeyNames& names) {
  Json out = Json::object();
  for (const Node& child : config::written(from).children)
    out[std::string(named_there(child.key, names))] = json_of(child);
  return out;
}

}  // namespace bora

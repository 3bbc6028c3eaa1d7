// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_changes.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "bora/base/config_node.h"

namespace bora {
namespace {

using config::Node;
using Values = std::vector<std::pair<std::string, std::string>>;  // key and value, in the order of the file

void flatten(const Node& node, const std::string& path, Values& out) {
  if (node.kind != Node::Kind::Map || (node.children.empty() && !path.empty())) {
    if (!path.empty()) out.emplace_back(path, config::to_inline_yaml(node));
    return;
  }
  for (const auto& child : node.children)
    flatten(child, path.empty() ? child.key : path + "." + child.key, out);
}

Values flat(const ConfigTree& tree) {
  Values out;
  flatten(tree.root(), "", out);
  return out;
}

constexpr const char* kNone = "none";

std::string of(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() || found->second == "null" ? kNone : found->second;
}

ConfigTree tree_of(BindTarget values) {
  ConfigTree tree;
  tree.merge_text(write_config(values), "the values");
  return tree;
}

}  // namespace

std::vector<ConfigChange> config_changes(const ConfigTree& before, const ConfigTree& after) {
  const auto old_values = flat(before), new_values = flat(after);
  const std::map<std::string, std::string> old_by_key(old_values.begin(), old_values.end());
  const std::map<std::string, std::string> new_by_key(new_values.begin(), new_values.end());
  std::vector<ConfigChange> out;
  // An empty map or list beside one with something in it: what is in it is the difference.
  using ByKey = std::map<std::string, std::string>;
  const auto is_filled_by = [](const ByKey& empty, const ByKey& other, const std::string& key) {
    const auto value = of(empty, key);
    const auto below = other.lower_bound(key + ".");
    return (value == "{}" || value == "[]") && below != other.end() && below->first.starts_with(key + ".");
  };
  const auto compare = [&](const std::string& key) {
    if (is_filled_by(old_by_key, new_by_key, key) || is_filled_by(new_by_key, old_by_key, key)) return;
    ConfigChange change{key, of(old_by_key, key), of(new_by_key, key)};
    if (change.before != change.after) out.push_back(std::move(change));
  };
  for (const auto& [key, value] : new_values) compare(key);
  for (const auto& [key, value] : old_values)
    if (!new_by_key.contains(key)) compare(key);
  return out;
}

std::vector<ConfigChange> config_changes(BindTarget before, BindTarget after) {
  return config_changes(tree_of(before), tree_of(after));
}

std::string shown(const ConfigChange& change) {
  return fmt::format("{}: {} -> {}", change.key, change.before, change.after);
}

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/config.h"
#include "bora/base/config_node.h"
#include "bora/base/config_yaml.h"
#include "bora/base/file.h"

namespace bora {
namespace {

void merge(ConfigTree::Node& root, ConfigTree::Node&& over) {
  if (over.kind == ConfigTree::Node::Kind::Null && root.file) return;  // an empty file says nothing
  config::merge_over(root, std::move(over));
}

}  // namespace

ConfigTree::ConfigTree() : root_(std::make_unique<Node>()) {}
ConfigTree::~ConfigTree() = default;
ConfigTree::ConfigTree(ConfigTree&& other) noexcept = default;
ConfigTree& ConfigTree::operator=(ConfigTree&&) noexcept = default;
ConfigTree::ConfigTree(const ConfigTree& other) : root_(std::make_unique<Node>(*other.root_)) {}
ConfigTree& ConfigTree::operator=(const ConfigTree& other) {
  if (this != &other) root_ = std::make_unique<Node>(*other.root_);
  return *this;
}

void ConfigTree::merge_file(const std::string& path) { merge(*root_, config::parse_yaml_file(path)); }

void ConfigTree::merge_text(std::string_view yaml, const std::string& name) {
  merge(*root_, config::parse_yaml(yaml, name, parent_path(name)));
}

void ConfigTree::override_value(std::string_view dotted_key, std::string_view value) {
  config::replace(*root_, dotted_key, config::parse_yaml_value(value, fmt::format("--{}", dotted_key)));
}

bool ConfigTree::empty() const {
  return root_->kind == Node::Kind::Null || (root_->kind == Node::Kind::Map && root_->children.empty());
}

std::string ConfigTree::yaml() const { return empty() ? "{}\n" : config::to_yaml(*root_); }

bool ConfigTree::has(std::string_view dotted_key) const {
  return config::find(*root_, dotted_key) != nullptr;
}

std::optional<std::string> ConfigTree::scalar(std::string_view dotted_key) const {
  const Node* node = config::find(*root_, dotted_key);
  if (node == nullptr || node->kind != Node::Kind::Scalar) return std::nullopt;
  return node->text;
}

std::string ConfigTree::where(std::string_view dotted_key) const {
  for (;;) {
    if (const Node* node = config::find(*root_, dotted_key)) return config::location(*node);
    const auto dot = dotted_key.rfind('.');
    dotted_key = dotted_key.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
}

}  // namespace bora

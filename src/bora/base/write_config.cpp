// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/binder_state.h"
#include "bora/base/config.h"
#include "bora/base/secrets.h"

namespace bora {
namespace {

using config::Node;

Binder::State bound(Binder::Mode mode, BindTarget target) {
  Binder::State state(mode);
  state.out.emplace_back();
  state.out.back().node.kind = Node::Kind::Map;
  Binder binder(state);
  target.bind(target.object, binder);
  return state;
}

// One cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", cell(text)); }

using Rewrite = std::string (*)(std::string_view);

void rewrite_all(Node& node, Rewrite rewrite) {
  node.key = rewrite(node.key);
  node.text = rewrite(node.text);
  for (Node& child : node.children) rewrite_all(child, rewrite);
}

std::string yaml_with(BindTarget target, Rewrite rewrite) {
  auto state = bound(Binder::Mode::Write, target);
  Node& root = state.out.back().node;
  rewrite_all(root, rewrite);
  return config::to_yaml(root);
}

}  // namespace

std::string write_config(BindTarget target) { return yaml_with(target, redact); }

std::string config_identity(BindTarget target) { return yaml_with(target, without_credentials); }

Node config::written(BindTarget target) {
  return std::move(bound(Binder::Mode::Write, target).out.back().node);
}

std::string describe_config(BindTarget target) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& row : bound(Binder::Mode::Describe, target).rows) {
    table +=
        fmt::format("| {} | {} | {} | {} |\n", code(row.key), cell(row.type), code(row.value), cell(row.doc));
  }
  return table;
}

std::vector<std::string> config::known_keys(BindTarget target) {
  std::vector<std::string> keys;
  for (auto& row : bound(Binder::Mode::Describe, target).rows) {
    const bool repeated = row.key.find("[]") != std::string::npos || row.key.find('<') != std::string::npos;
    if (!repeated) keys.push_back(std::move(row.key));
  }
  return keys;
}

}  // namespace bora

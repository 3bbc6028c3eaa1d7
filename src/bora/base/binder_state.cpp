// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/binder_state.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/meant_value.h"

namespace bora {

using config::Node;

const Node* Binder::State::look(std::string_view name) const {
  const ReadFrame& frame = frames.back();
  if (frame.single && name == "0") return frame.node;
  return config::find(*frame.node, name);
}

const Node* Binder::State::ask(std::string_view name) {
  const ReadFrame& frame = frames.back();
  if (frame.single && name == "0") return frame.node;
  if (frame.node->kind == Node::Kind::Map) {
    auto& names = asked[frame.node];
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return config::child(*frame.node, name);
}

const Node* Binder::State::take(std::string_view name) {
  const Node* node = ask(name);
  if (node != nullptr) used.insert(node);
  return node;
}

const Node* Binder::State::take_value(std::string_view name) {
  const Node* node = take(name);
  return node != nullptr && node->kind == Node::Kind::Null && key_names == nullptr ? nullptr : node;
}

std::string Binder::State::path_of(std::string_view name) const {
  const ReadFrame& frame = frames.back();
  if (name.empty() || (frame.single && name == "0")) return frame.path;
  std::string path = frame.path.empty() ? std::string(name) : fmt::format("{}.{}", frame.path, name);
  if (key_names != nullptr) {
    for (const auto& [key, shown] : *key_names)
      if (key == path) return std::string(shown);
  }
  return path;
}

void Binder::State::add_problem(const Node& at, std::string key, std::string message) {
  PlacedProblem next{
      {config::location(at), std::move(key), std::move(message)}, at.file ? *at.file : "", at.line};
  const bool known = std::any_of(problems.begin(), problems.end(), [&](const PlacedProblem& old) {
    return old.problem.where == next.problem.where && old.problem.key == next.problem.key &&
           old.problem.message == next.problem.message;
  });
  if (!known) problems.push_back(std::move(next));
}

void Binder::State::wrong_type(std::string_view name, const Node& node, std::string_view wanted) {
  const auto kind = wanted == "true or false"           ? std::optional(ValueKind::Bool)
                    : wanted == "an integer"            ? std::optional(ValueKind::Integer)
                    : wanted == "a number"              ? std::optional(ValueKind::Number)
                    : wanted.starts_with("a duration ") ? std::optional(ValueKind::Duration)
                                                        : std::nullopt;
  const bool is_text = kind && node.kind == Node::Kind::Scalar;
  const auto meant = is_text ? meant_value(node.text, *kind) : std::nullopt;
  add_problem(node, path_of(name),
              fmt::format("should be {} but is {}{}", wanted, config::shown(node),
                          meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

bool Binder::State::descend(std::string_view name, bool list) {
  const Node* node = ask(name);
  if (node == nullptr) return false;
  const bool fits = node->kind == (list ? Node::Kind::List : Node::Kind::Map);
  const bool single = list && !fits && node->kind != Node::Kind::Null;
  if (fits || single) {
    if (fits) entered.insert(node);
    frames.push_back({node, path_of(name), single});
    return true;
  }
  used.insert(node);
  const bool is_left_out = node->kind == Node::Kind::Null && (!list || key_names == nullptr);
  if (!is_left_out) wrong_type(name, *node, list ? "a list" : "a map");
  return false;
}

std::string Binder::State::out_path(std::string_view name) const {
  const std::string& path = out.back().path;
  if (name.empty()) return path;
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::optional<std::size_t> Binder::State::add_row(std::string_view name, std::string type, std::string value,
                                                  std::string_view doc) {
  if (mode != Mode::Describe || out.back().silent) return std::nullopt;
  rows.push_back({out_path(name), std::move(type), absent > 0 ? "" : std::move(value), std::string(doc)});
  return rows.size() - 1;
}

void Binder::State::put(std::string_view name, Node&& value, std::string type, std::string_view doc) {
  if (mode == Mode::Describe) add_row(name, std::move(type), config::to_inline_yaml(value), doc);
  Node& parent = out.back().node;
  if (parent.kind == Node::Kind::Map) value.key = name;
  parent.children.push_back(std::move(value));
}

void Binder::State::begin(std::string_view name, bool list, std::string type, std::string_view doc) {
  const auto row = add_row(name, std::move(type), "", doc);
  // The items of a list or map are its default, not keys of their own.
  const bool section = row && rows[*row].type == "section";
  WriteFrame frame{Node{}, out_path(name), out.back().silent || !section, section ? std::nullopt : row};
  frame.node.kind = list ? Node::Kind::List : Node::Kind::Map;
  frame.node.key = name;
  out.push_back(std::move(frame));
}

void Binder::State::end() {
  WriteFrame done = std::move(out.back());
  out.pop_back();
  if (done.row && absent == 0) rows[*done.row].value = config::to_inline_yaml(done.node);
  out.back().node.children.push_back(std::move(done.node));
}

}  // namespace bora

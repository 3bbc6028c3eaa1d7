// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config_node.h"

namespace bora {

/// What a Binder works on. Reading walks a tree; writing and describing build one, describing also rows of a
/// table.
struct Binder::State {
  using Node = ConfigTree::Node;

  explicit State(Mode which) : mode(which) {}

  Mode mode;

  // ---- reading ----
  struct ReadFrame {
    const Node* node;
    std::string path;
    bool single = false;  ///< a value that stands for a list of one: item 0 is `node` itself
  };
  struct PlacedProblem {
    ConfigProblem problem;
    std::string file;
    int line = 0;
  };
  std::vector<ReadFrame> frames;
  std::set<const Node*> used;     ///< bound as a whole
  std::set<const Node*> entered;  ///< their keys were bound one by one
  std::set<const Node*> muted;    ///< the kind of struct is unknown, so nothing can be said about its keys
  std::map<const Node*, std::vector<std::string>> asked;  ///< the valid keys, in the order of bind()
  std::vector<PlacedProblem> problems;
  std::vector<PlacedProblem> ignored;
  const KeyNames* key_names = nullptr;  ///< what keys are called elsewhere, where the values came from

  /// Notes that `name` is a valid key here; the value, or null.
  const Node* ask(std::string_view name);
  /// The same for a value that is bound as a whole.
  const Node* take(std::string_view name);
  /// The same where a null, which leaves the default, counts as nothing. (Elsewhere than in configurations of
  /// ours it is a value, and a wrong one.)
  const Node* take_value(std::string_view name);
  /// Looks without noting anything.
  const Node* look(std::string_view name) const;
  std::string path_of(std::string_view name) const;
  void add_problem(const Node& at, std::string key, std::string message);
  /// "should be an integer but is "abc"".
  void wrong_type(std::string_view name, const Node& node, std::string_view wanted);
  bool descend(std::string_view name, bool list);

  // ---- writing and describing ----
  struct WriteFrame {
    Node node;
    std::string path;
    bool silent = false;  ///< its fields are no rows of their own
    std::optional<std::size_t> row = {};
  };
  struct Row {
    std::string key, type, value, doc;
  };
  std::vector<WriteFrame> out;
  std::vector<Row> rows;
  int absent = 0;  ///< inside a value that is absent by default: rows show no defaults

  void put(std::string_view name, Node&& value, std::string type, std::string_view doc);
  void begin(std::string_view name, bool list, std::string type, std::string_view doc);
  void end();
  std::string out_path(std::string_view name) const;
  std::optional<std::size_t> add_row(std::string_view name, std::string type, std::string value,
                                     std::string_view doc);
};

namespace config {

/// Full paths of every key that `target` knows, found by describing it.
std::vector<std::string> known_keys(BindTarget target);
/// What reading `root` into `target` complains of, in order; keys are called as `names` says.
std::vector<ConfigProblem> problems_of(const ConfigTree::Node& root, BindTarget target,
                                       const KeyNames& names);
/// The tree that write_config turns into text.
ConfigTree::Node written(BindTarget target);

}  // namespace config
}  // namespace bora

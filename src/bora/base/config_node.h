// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"

namespace bora {

/// One value of a configuration and where it stands.
struct ConfigTree::Node {
  enum class Kind { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  std::string key;             ///< its name in the map that holds it
  std::string text;            ///< of a scalar
  bool is_string = false;      ///< quoted in YAML, or bound to a string: "12" is not 12
  std::vector<Node> children;  ///< of a list or map, in order; keys of a map are distinct
  std::shared_ptr<const std::string> file;
  int line = 0;  ///< of its key, or of itself in a list; from 1; 0: an override, which has no lines

  static Node scalar(std::string text, bool is_string = false);
};

namespace config {

using Node = ConfigTree::Node;

/// "my.yaml:7", or "--trainer.seed" for an override.
std::string location(const Node& node);
/// For messages: `"abc"`, `16`, `null`, `a map`, `a list`.
std::string shown(const Node& node);
/// At most 40 characters of a scalar's text.
std::string clipped(std::string_view text);

/// A map's value by key, or a list's by number; null if there is none.
const Node* child(const Node& node, std::string_view name);
/// The value at a dotted path ("" is the node itself). Keys that contain dots are found too.
const Node* find(const Node& node, std::string_view dotted);
/// `over` wins: maps key by key, anything else replaced.
void merge_over(Node& base, Node&& over);
/// Puts `value` at a dotted path, making maps on the way. Config error where the path leads through something
/// else.
void replace(Node& root, std::string_view dotted, Node&& value);

/// Null: ~, null, or nothing. (Quoted, they are strings.)
bool is_null(const Node& node);
std::optional<bool> to_bool(const Node& node);             ///< true, false; True, TRUE, ...
std::optional<std::int64_t> to_integer(const Node& node);  ///< 16, -1, 1e3, 4.0, 1_000_000
std::optional<double> to_number(const Node& node);         ///< 0.1, 1E-3, 6, .inf, -.inf
std::optional<double> to_duration(const Node& node);       ///< seconds

Node from_number(double value);
Node from_number(float value);
Node from_duration(double seconds);  ///< "15m" where that is exact

/// YAML text that parse_yaml reads back to the same tree: block style, lists of short scalars on one line.
std::string to_yaml(const Node& node);
/// One line, for tables: "[a, b]", "0.1".
std::string to_inline_yaml(const Node& node);

}  // namespace config
}  // namespace bora

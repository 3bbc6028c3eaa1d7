// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "bora/base/binder_state.h"
#include "bora/base/config.h"
#include "bora/base/foreign_keys.h"
#include "bora/base/text.h"

namespace bora {
namespace {

using config::Node;

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Of some names one of which this is the beginning or the end: "layers" of num_layers.
std::optional<std::string> holding(const std::string& part, std::span<const std::string> names) {
  constexpr std::size_t kShortest = 4;  // "type" is a part of too many
  if (part.size() <= kShortest) return std::nullopt;
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.ends_with("_" + part) || name.starts_with(part + "_");
  });
  return found == names.end() ? std::nullopt : std::optional(*found);
}

// A known key elsewhere in the tree with this name, or nearly this name: for keys in the wrong section. Short words are near
// to others by chance: nope to rope.
std::optional<std::string> elsewhere(const std::string& name, const std::string& full,
                                     std::vector<std::string> known) {
  std::erase(known, full);
  std::vector<std::string> names;
  for (const auto& path : known) names.push_back(last_part(path));
  constexpr std::size_t kShort = 4;
  auto near = nearest(name, names);  // an equal name has distance 0 and wins
  if (near && *near != name && name.size() <= kShort) near.reset();
  if (!near) near = holding(name, names);
  if (!near) return std::nullopt;
  return known[static_cast<std::size_t>(std::find(names.begin(), names.end(), *near) - names.begin())];
}

// "model: {type: ...}" for "model.type".
std::string in_blocks(const std::string& path) {
  const auto parts = split(path, '.');
  std::string out = "...";
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    out = part == parts.rbegin() ? fmt::format("{}: {}", *part, out) : fmt::format("{}: {{{}}}", *part, out);
  return out;
}

std::string valid_here(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  if (names.empty()) return "unknown key; none is valid here";
  const std::span<const std::string> shown(names.data(), std::min(kMost, names.size()));
  const std::string more = names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
  return fmt::format("unknown key; valid here: {}{}", join(shown), more);
}

// {num_train_steps: 1,000} is a 1 and a key 000: "num_train_steps: 1000".
std::optional<std::string> number_with_comma(const Node& parent, const Node& child) {
  const bool is_part = child.kind == Node::Kind::Null && child.key.size() == 3 && parse_int(child.key) &&
                       child.key.find_first_of("+-") == std::string::npos;
  if (!is_part) return std::nullopt;
  const auto is_before = [&](const Node& other) {
    return other.kind == Node::Kind::Scalar && parse_int(other.text) && other.file == child.file &&
           other.line == child.line;
  };
  const auto before = std::find_if(parent.children.begin(), parent.children.end(), is_before);
  if (before == parent.children.end()) return std::nullopt;
  return fmt::format("{}: {}{}", before->key, before->text, child.key);
}

class UnknownKeys {
 public:
  UnknownKeys(Binder::State& state, BindTarget target) : state_(state), target_(target) {}

  void visit(const Node& node, const std::string& path) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const Node& child = node.children[i];
      const bool is_list = node.kind == Node::Kind::List;
      const std::string name = is_list ? std::to_string(i) : child.key;
      const std::string full = path.empty() ? name : path + "." + name;
      if (state_.entered.contains(&child))
        visit(child, full);
      else if (!is_list && !state_.used.contains(&child) && !state_.muted.contains(&node))
        report(node, child, path, full);
    }
  }

 private:
  void report(const Node& parent, const Node& child, const std::string& path, const std::string& full) {
    if (const auto number = number_with_comma(parent, child))
      return state_.add_problem(
          child, full,
          fmt::format("unknown key; a comma ends a value: numbers are written without, {}", *number));
    const auto& siblings = state_.asked[&parent];
    if (std::find(siblings.begin(), siblings.end(), child.key) != siblings.end()) {
      const bool shape = child.kind == Node::Kind::List || child.kind == Node::Kind::Map;
      return state_.add_problem(child, full,
                                shape ? fmt::format("cannot be {} here", config::shown(child))
                                      : "not used together with the other keys here");
    }
    std::optional<std::string> better;
    if (child.key.find('.') != std::string::npos &&
        std::find(known().begin(), known().end(), full) != known().end())
      return state_.add_problem(child, full,
                                fmt::format("unknown key; blocks stand in each other: {}", in_blocks(full)));
    auto near = nearest(child.key, siblings);
    if (!near) near = holding(child.key, siblings);
    if (const auto meant = named_elsewhere(child.key, path))
      better = *meant;
    else if (near)
      better = path.empty() ? *near : path + "." + *near;
    else
      better = elsewhere(child.key, full, known());
    state_.add_problem(child, full,
                       better ? fmt::format("unknown key; did you mean {}?", *better) : valid_here(siblings));
  }

  // What others call a key, at the top or in the key's own block.
  std::optional<std::string> named_elsewhere(const std::string& name, const std::string& path) {
    const auto* meant = foreign_key(name);
    if (meant == nullptr) return std::nullopt;
    const auto key = std::string(meant->key);
    const auto block = key.substr(0, key.rfind('.'));
    if (!path.empty() && path != block) return std::nullopt;
    const auto is_it = [&](const std::string& other) { return other == key || other.starts_with(key + "."); };
    if (std::none_of(known().begin(), known().end(), is_it)) return std::nullopt;
    return key;
  }

  // Described at the first unknown key only: most configurations have none.
  const std::vector<std::string>& known() {
    if (!known_) known_ = config::known_keys(target_);
    return *known_;
  }

  Binder::State& state_;
  BindTarget target_;
  std::optional<std::vector<std::string>> known_;
};

std::vector<ConfigProblem> in_order(std::vector<Binder::State::PlacedProblem> placed) {
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.line == 0, a.file, a.line) < std::tuple(b.line == 0, b.file, b.line);
  });
  std::vector<ConfigProblem> problems;
  for (auto& p : placed) problems.push_back(std::move(p.problem));
  return problems;
}

Binder::State read(const Node& root, BindTarget target, const KeyNames* names = nullptr) {
  Binder::State state(Binder::Mode::Read);
  state.key_names = names;
  state.frames.push_back({&root, ""});
  if (root.kind != Node::Kind::Map && root.kind != Node::Kind::Null) {
    state.add_problem(root, "",
                      fmt::format("should be a map but is {}; a configuration is made of lines `key: value`",
                                  config::shown(root)));
    return state;
  }
  Binder binder(state);
  target.bind(target.object, binder);
  return state;
}

}  // namespace

std::vector<ConfigProblem> read_config(const ConfigTree& tree, BindTarget target) {
  auto state = read(tree.root(), target);
  if (tree.root().kind == Node::Kind::Map) UnknownKeys(state, target).visit(tree.root(), "");
  return in_order(std::move(state.problems));
}

std::vector<ConfigProblem> config::problems_of(const Node& root, BindTarget target, const KeyNames& names) {
  return in_order(read(root, target, &names).problems);
}

std::vector<ConfigProblem> value_problems(BindTarget from, BindTarget fresh, const KeyNames& names) {
  return config::problems_of(config::written(from), fresh, names);
}

std::vector<ConfigProblem> ignored_keys(const ConfigTree& tree, BindTarget target) {
  return in_order(read(tree.root(), target).ignored);
}

}  // namespace bora

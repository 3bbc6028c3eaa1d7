// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "bora/base/binder_state.h"
#include "bora/base/config.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"

namespace bora {

using config::Node;

namespace {

// 1e400: a number, but none of floating point.
bool is_beyond_all_numbers(const Node& node) {
  if (node.kind != Node::Kind::Scalar || node.text.find_first_of("0123456789") == std::string::npos)
    return false;
  char* end = nullptr;
  return std::isinf(std::strtod(node.text.c_str(), &end)) && *end == '\0';
}

}  // namespace

Binder::Mode Binder::mode() const { return state_.mode; }

void Binder::bind_value(std::string_view name, bool& value, const Range*, std::string_view doc) {
  if (!reading()) return state_.put(name, Node::scalar(value ? "true" : "false"), type_words<bool>(), doc);
  if (const Node* node = state_.take_value(name)) {
    if (const auto read = config::to_bool(*node))
      value = *read;
    else
      state_.wrong_type(name, *node, "true or false");
  }
}

void Binder::integer(std::string_view name, std::int64_t& value, const Range& range, RangeProblem check,
                     std::string_view doc) {
  if (!reading()) {
    return state_.put(name, Node::scalar(fmt::format("{}", value)),
                      type_words<std::int64_t>() + range_words(&range), doc);
  }
  const Node* node = state_.take_value(name);
  if (node == nullptr) return;
  const auto read = config::to_integer(*node);
  // 1e30 is no integer of ours, but too large is what is wrong with it
  const auto number = read ? std::optional(static_cast<double>(*read)) : config::to_number(*node);
  const bool whole = number && std::floor(*number) == *number;
  const auto wrong = whole ? (range.*check)(*number) : std::nullopt;
  if (wrong)
    problem(name, *wrong);
  else if (read)
    value = *read;
  else
    state_.wrong_type(name, *node, "an integer");
}

void Binder::bind_value(std::string_view name, double& value, const Range* range, std::string_view doc) {
  if (!reading())
    return state_.put(name, config::from_number(value), type_words<double>() + range_words(range), doc);
  const Node* node = state_.take_value(name);
  if (node == nullptr) return;
  const auto read = config::to_number(*node);
  if (!read && is_beyond_all_numbers(*node))
    return problem(name, fmt::format("must be {}; at most {:.3g} can be computed with", range->words(),
                                     std::numeric_limits<double>::max()));
  if (!read) return state_.wrong_type(name, *node, "a number");
  if (const auto wrong = range->problem<double>(*read)) return problem(name, *wrong);
  value = *read;
}

void Binder::bind_value(std::string_view name, float& value, const Range* range, std::string_view doc) {
  if (!reading())
    return state_.put(name, config::from_number(value), type_words<float>() + range_words(range), doc);
  Range narrow = *range;
  narrow.least = std::max(narrow.least, static_cast<double>(std::numeric_limits<float>::lowest()));
  narrow.most = std::min(narrow.most, static_cast<double>(std::numeric_limits<float>::max()));
  double wide = value;
  bind_value(name, wide, &narrow, doc);
  value = static_cast<float>(wide);
}

void Binder::bind_value(std::string_view name, std::string& value, const Range*, std::string_view doc) {
  if (!reading()) return state_.put(name, Node::scalar(value, true), type_words<std::string>(), doc);
  const Node* node = state_.take_value(name);
  if (node == nullptr) return;
  if (node->kind != Node::Kind::Scalar) return state_.wrong_type(name, *node, "a string");
  if (is_redacted(node->text)) {
    return problem(name,
                   fmt::format("was recorded without what may be secret in its URL ({}); give the whole "
                               "value again, here or on the command line",
                               kLeftOut));
  }
  value = node->text;
}

void Binder::bind_value(std::string_view name, Duration& value, const Range* range, std::string_view doc) {
  if (!reading()) {
    return state_.put(name, config::from_duration(value.seconds), type_words<Duration>() + range_words(range),
                      doc);
  }
  if (const Node* node = state_.take_value(name)) {
    const auto read = config::to_duration(*node);
    if (!read)
      state_.wrong_type(name, *node, "a duration such as 90s, 15m, 2h or 1d");
    else if (!range->allows(*read))
      problem(name, fmt::format("must be {} seconds", range->words()));
    else
      value.seconds = *read;
  }
}

void Binder::bind_value(std::string_view name, ByteSize& value, const Range*, std::string_view doc) {
  if (!reading())
    return state_.put(name, Node::scalar(exact_bytes(value.bytes)), type_words<ByteSize>(), doc);
  if (const Node* node = state_.take_value(name)) {
    const auto read = node->kind == Node::Kind::Scalar ? parse_bytes(node->text) : std::nullopt;
    if (read)
      value.bytes = *read;
    else
      state_.wrong_type(name, *node, "a size such as 512MB, 1.5GB or 64KiB");
  }
}

void Binder::choice(std::string_view name, std::string& value, const std::vector<std::string>& allowed,
                    std::string_view doc) {
  const std::string words = join(allowed);
  if (!reading()) return state_.put(name, Node::scalar(value, true), fmt::format("one of {}", words), doc);
  const Node* node = state_.take_value(name);
  if (node == nullptr) return;
  for (const auto& word : allowed) {
    if (node->kind == Node::Kind::Scalar && node->text == word) {
      value = word;
      return;
    }
  }
  if (name == "type") state_.muted.insert(state_.frames.back().node);
  if (node->kind != Node::Kind::Scalar)
    return state_.wrong_type(name, *node, fmt::format("one of {}", words));
  const auto near = nearest(node->text, allowed);
  problem(name, fmt::format("not one of {}{}", words, near ? fmt::format("; did you mean {}?", *near) : ""));
}

void Binder::ignored(std::string_view name, std::string_view why) {
  if (mode() == Mode::Describe) state_.add_row(name, "anything", "", fmt::format("not used: {}", why));
  if (!reading()) return;
  if (const Node* node = state_.take(name)) {
    state_.ignored.push_back(
        {{config::location(*node), path(name), std::string(why)}, node->file ? *node->file : "", node->line});
  }
}

bool Binder::present(std::string_view name) const { return reading() && state_.ask(name) != nullptr; }
bool Binder::overridden(std::string_view name) const {
  const Node* node = reading() ? state_.ask(name) : nullptr;
  return node != nullptr && node->file && node->line == 0;
}
bool Binder::is_null(std::string_view name) const {
  const Node* node = reading() ? state_.ask(name) : nullptr;
  return node != nullptr && node->kind == Node::Kind::Null;
}
bool Binder::is_map(std::string_view name) const {
  const Node* node = reading() ? state_.ask(name) : nullptr;
  return node != nullptr && node->kind == Node::Kind::Map;
}
bool Binder::is_list(std::string_view name) const {
  const Node* node = reading() ? state_.ask(name) : nullptr;
  return node != nullptr && node->kind == Node::Kind::List;
}
std::optional<std::string> Binder::text(std::string_view name) const {
  const Node* node = reading() ? state_.ask(name) : nullptr;
  if (node == nullptr || node->kind != Node::Kind::Scalar) return std::nullopt;
  return node->text;
}
void Binder::mark_used(std::string_view name) {
  if (reading()) state_.take(name);
}

bool Binder::enter_typed(std::string_view name, std::string_view doc, const std::string& type, bool list) {
  if (reading()) return state_.descend(name, list);
  state_.begin(name, list, type, doc);
  return true;
}
bool Binder::enter(std::string_view name, std::string_view doc) {
  return enter_typed(name, doc, "section", false);
}
bool Binder::enter_list(std::string_view name, std::string_view doc) {
  return enter_typed(name, doc, "list", true);
}

std::size_t Binder::list_size() const {
  if (!reading()) return 0;
  const auto& frame = state_.frames.back();
  return frame.single ? 1 : frame.node->children.size();
}

std::vector<std::string> Binder::keys() const {
  std::vector<std::string> names;
  if (!reading()) return names;
  for (const Node& child : state_.frames.back().node->children) names.push_back(child.key);
  return names;
}

void Binder::leave() {
  if (reading())
    state_.frames.pop_back();
  else
    state_.end();
}

void Binder::problem(std::string_view name, std::string message) {
  if (!reading()) return;
  const Node* node = state_.look(name);
  const bool has_value = node != nullptr && node->kind == Node::Kind::Scalar && !name.empty();
  const std::string value = has_value ? fmt::format(" = {}", config::clipped(node->text)) : "";
  state_.add_problem(node != nullptr ? *node : *state_.frames.back().node, path(name) + value,
                     std::move(message));
}

bool Binder::sound(std::initializer_list<std::string_view> names) const {
  if (!reading()) return false;
  return std::none_of(state_.problems.begin(), state_.problems.end(), [&](const auto& placed) {
    const std::string& key = placed.problem.key;  // with " = value" where there is one
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      const std::string full = path(name);
      return key == full || key.starts_with(full + " = ");
    });
  });
}

std::string Binder::path(std::string_view name) const {
  return reading() ? state_.path_of(name) : state_.out_path(name);
}

void Binder::write_null(std::string_view name) { state_.put(name, Node{}, "", ""); }

// A struct that holds itself would be described without end.
constexpr std::size_t kDeepestDescription = 12;

bool Binder::enter_item(std::string_view suffix) {
  if (mode() != Mode::Describe || state_.out.size() > kDeepestDescription) return false;
  const auto& list = state_.out.back();
  const bool silent = state_.out.at(state_.out.size() - 2).silent;
  state_.out.push_back({Node{}, list.path + std::string(suffix), silent});
  return true;
}
void Binder::leave_item() { state_.out.pop_back(); }

bool Binder::enter_absent(std::string_view name) {
  if (state_.out.size() > kDeepestDescription) return false;
  if (state_.out.back().silent) {  // part of a default, not a key
    write_null(name);
    return false;
  }
  ++state_.absent;
  return true;
}
void Binder::leave_absent() { --state_.absent; }

}  // namespace bora

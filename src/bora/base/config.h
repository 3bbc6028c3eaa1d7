// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/config_tree.h"
#include "bora/base/config_types.h"
#include "bora/base/range.h"

namespace bora {

/// Configuration files: YAML as in Levanter, with `!include path`, dotted overrides, and every mistake
/// reported at once with file:line.
///
/// A configuration is a struct with one function that names each field once:
///
///     struct CheckpointerConfig {
///       std::string base_path = "checkpoints/";
///       Duration save_interval{900};
///       std::vector<KeepConfig> keep;
///       void bind(Binder& b) {
///         b.field("base_path", base_path, "where runs keep their checkpoints");
///         b.field("save_interval", save_interval, kNonNegative, "time between temporary checkpoints");
///         b.field("keep", keep, "permanent checkpoints: every N steps, until a step");
///       }
///     };
///
/// The same function reads (YAML to struct), writes (resolved configuration), and documents
/// (docs/reference/config).
///
/// Values are checked where they are bound. A number cannot be bound without the range that it must be in
/// (range.h); what several keys must be together is a line below them: `if (heads % kv != 0)
/// b.problem("num_kv_heads", "must divide ...")`.

/// Visits the fields of configuration structs. Three modes: read a tree, write YAML, describe for
/// documentation.
class Binder {
 public:
  enum class Mode { Read, Write, Describe };
  Mode mode() const;
  bool reading() const { return mode() == Mode::Read; }

  /// One key of the current struct: bool, string, a number of bytes, a struct of its own ("model:" with
  /// nothing after it counts as absent), or optionals, lists and maps of them. A null (~) leaves an optional
  /// empty and the rest at its default; a value that is no list counts as a list of one (as in Levanter);
  /// maps keep the order of the file.
  template <class T>
    requires(!kHoldsNumbers<T>)
  void field(std::string_view name, T& value, std::string_view doc = {}) {
    bind_value(name, value, nullptr, doc);
  }
  /// The same for numbers, durations (their seconds), and optionals, lists and maps of them: each must be in
  /// `range`. Whole numbers are also written as 1e3 or 1_000, and end at 2^53 where the range has no end.
  template <class T>
    requires kHoldsNumbers<T>
  void field(std::string_view name, T& value, const Range& range, std::string_view doc = {}) {
    bind_value(name, value, &range, doc);
  }
  /// One word out of a fixed set.
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& allowed,
              std::string_view doc = {});
  /// A key that Levanter knows and Bora reads without using it (hub ids, accelerator settings). Accepts
  /// anything; `why` is shown by --dry_run when the key is present.
  void ignored(std::string_view name, std::string_view why);

  // For values with several spellings (a bool or a policy, an int or a schedule), look first, then bind.
  // These look at the configuration that is read; otherwise nothing is present.
  bool present(std::string_view name) const;
  bool overridden(std::string_view name) const;  ///< its value is of a --key=value, or within one
  bool is_null(std::string_view name) const;
  bool is_map(std::string_view name) const;
  bool is_list(std::string_view name) const;
  /// The scalar's text, whatever its type.
  std::optional<std::string> text(std::string_view name) const;
  void mark_used(std::string_view name);
  /// Descends into name (false: absent, or a problem that has been reported); pair with leave().
  bool enter(std::string_view name, std::string_view doc = {});
  bool enter_list(std::string_view name, std::string_view doc = {});
  std::size_t list_size() const;          ///< of the list entered last
  std::vector<std::string> keys() const;  ///< of the map entered last
  void leave();

  /// Reports a problem of the field `name` (dotted: deeper) in the current struct (reading only); binding
  /// goes on.
  void problem(std::string_view name, std::string message);
  /// While reading: nothing has been reported of these keys of the current struct, so that what they must be
  /// together can be checked. (A value that was refused keeps its default.)
  bool sound(std::initializer_list<std::string_view> names) const;
  /// "trainer.checkpointer" for messages.
  std::string path(std::string_view name = {}) const;

  struct State;
  explicit Binder(State& state) : state_(state) {}

 private:
  void bind_value(std::string_view name, bool& value, const Range*, std::string_view doc);
  void bind_value(std::string_view name, double& value, const Range* range, std::string_view doc);
  void bind_value(std::string_view name, float& value, const Range* range, std::string_view doc);
  void bind_value(std::string_view name, std::string& value, const Range*, std::string_view doc);
  void bind_value(std::string_view name, Duration& value, const Range* range, std::string_view doc);
  void bind_value(std::string_view name, ByteSize& value, const Range*, std::string_view doc);
  using RangeProblem = std::optional<std::string> (Range::*)(double) const;
  void integer(std::string_view name, std::int64_t& value, const Range& range, RangeProblem check,
               std::string_view doc);
  template <std::integral T>
  void bind_value(std::string_view name, T& value, const Range* range, std::string_view doc) {
    auto wide = static_cast<std::int64_t>(value);
    integer(name, wide, *range, &Range::problem<T>, doc);
    value = static_cast<T>(wide);
  }
  template <Bindable T>
  void bind_value(std::string_view name, T& value, const Range*, std::string_view doc) {
    if (!enter(name, doc)) return;
    value.bind(*this);
    leave();
  }
  template <class T>
  void bind_value(std::string_view name, std::optional<T>& value, const Range* range, std::string_view doc) {
    if (reading()) {
      if (!present(name)) return;
      if (is_null(name)) {
        mark_used(name);
        value.reset();
        return;
      }
      if (!value) value.emplace();
    }
    if (value)
      bind_value(name, *value, range, doc);
    else if (mode() == Mode::Write)
      write_null(name);
    else
      describe_absent<T>(name, range, doc);
  }
  template <class T>
  void bind_value(std::string_view name, std::vector<T>& value, const Range* range, std::string_view doc) {
    if (!enter_typed(name, doc, type_words<std::vector<T>>() + range_words(range, true), true)) return;
    if (reading()) value = std::vector<T>(list_size());
    for (std::size_t i = 0; i < value.size(); ++i) bind_value(std::to_string(i), value[i], range, {});
    describe_item<T>("[]");
    leave();
  }
  template <class T>
  void bind_value(std::string_view name, std::vector<std::pair<std::string, T>>& value, const Range* range,
                  std::string_view doc) {
    const auto type = type_words<std::vector<std::pair<std::string, T>>>() + range_words(range, true);
    if (!enter_typed(name, doc, type, false)) return;
    if (reading()) {
      value.clear();
      for (auto& key : keys()) value.emplace_back(std::move(key), T{});
    }
    for (auto& [key, item] : value) bind_value(key, item, range, {});
    describe_item<T>(".<name>");
    leave();
  }
  bool enter_typed(std::string_view name, std::string_view doc, const std::string& type, bool list);
  void write_null(std::string_view name);

  // Documentation: the keys of one element of a list or map, and of what is absent by default.
  bool enter_item(std::string_view suffix);
  void leave_item();
  bool enter_absent(std::string_view name);
  void leave_absent();
  template <class T>
  void describe_item(std::string_view suffix) {
    if constexpr (Bindable<T>) {
      if (!enter_item(suffix)) return;
      T item{};
      item.bind(*this);
      leave_item();
    }
  }
  template <class T>
  void describe_absent(std::string_view name, const Range* range, std::string_view doc) {
    if (!enter_absent(name)) return;
    T item{};
    bind_value(name, item, range, doc);
    leave_absent();
  }
  State& state_;
};

/// Type-erased reference to a Bindable, so that the readers below are no templates.
struct BindTarget {
  void* object;
  void (*bind)(void*, Binder&);
  template <Bindable T>
  BindTarget(T& t) : object(&t), bind([](void* o, Binder& b) { static_cast<T*>(o)->bind(b); }) {}  // NOLINT
};

/// Reads the whole tree; returns every problem, sorted by file and line, overrides last. The target holds
/// defaults where there are problems. Keys that nobody asked for are problems, with the nearest valid key.
std::vector<ConfigProblem> read_config(const ConfigTree& tree, BindTarget target);
/// Keys and what they are called elsewhere.
using KeyNames = std::vector<std::pair<std::string_view, std::string_view>>;
/// What reading the values of `from` into `fresh`, of the same type, complains of: for values that came from
/// elsewhere, where keys have other names.
std::vector<ConfigProblem> value_problems(BindTarget from, BindTarget fresh, const KeyNames& names);
/// Keys that were present but are not used by Bora, with the reason. Reads `target` as read_config does.
std::vector<ConfigProblem> ignored_keys(const ConfigTree& tree, BindTarget target);
/// The resolved configuration as YAML for people and records: redacted (secrets.h). read_config of it gives
/// the same values, and a problem for each one of which something was left out.
std::string write_config(BindTarget target);
/// Another text for every other configuration, but not for links that were signed anew
/// (without_credentials). To be hashed: never shown or written.
std::string config_identity(BindTarget target);
/// A Markdown table: key, type, default, meaning.
std::string describe_config(BindTarget target);

/// The message of experience.md: "my.yaml has 3 problems; nothing was started." and aligned lines.
std::string format_problems(const std::string& file, const std::vector<ConfigProblem>& problems);

}  // namespace bora

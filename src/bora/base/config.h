// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/config_types.h"

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
///         b.field("save_interval", save_interval, "time between temporary checkpoints");
///         b.field("keep", keep, "permanent checkpoints: every N steps, until a step");
///       }
///     };
///
/// The same function reads (YAML to struct), writes (resolved configuration), and documents
/// (docs/reference/config).
///
/// Values are checked where they are bound: `if (heads % kv != 0) b.problem("num_kv_heads", "must divide
/// ...")`.

/// One problem in a configuration.
struct ConfigProblem {
  std::string where;    ///< "my.yaml:7", or "--trainer.x" for an override
  std::string key;      ///< "trainer.train_batchsize", or "model.num_kv_heads = 5" with the value
  std::string message;  ///< "unknown key; did you mean trainer.train_batch_size?"
};

/// A parsed tree of configuration values that remembers where each came from.
class ConfigTree {
 public:
  ConfigTree();
  ~ConfigTree();
  ConfigTree(ConfigTree&&) noexcept;
  ConfigTree& operator=(ConfigTree&&) noexcept;
  ConfigTree(const ConfigTree&);
  ConfigTree& operator=(const ConfigTree&);

  /// Reads one file and merges it over what is there: maps key by key, anything else replaced. `!include
  /// path` stands for any value and is relative to the including file; anchors, aliases and merge keys (`<<`)
  /// work. An empty file changes nothing. Errors (syntax, a key given twice, an unknown tag, a missing file,
  /// an include cycle, a file over 4 MB, nesting over 64, more than a million values) are Config errors with
  /// file:line.
  void merge_file(const std::string& path);
  /// The same for text that is already here; includes are relative to the folder of `name`.
  void merge_text(std::string_view yaml, const std::string& name);
  /// "trainer.train_batch_size", "16": the value is parsed as YAML and replaces what was there, maps and
  /// lists too; a dotted key reaches into lists by number. Problems with it are placed at
  /// "--trainer.train_batch_size".
  void override_value(std::string_view dotted_key, std::string_view value);

  bool empty() const;
  /// The node as YAML text (for the run record and for tests).
  std::string yaml() const;
  bool has(std::string_view dotted_key) const;
  std::optional<std::string> scalar(std::string_view dotted_key) const;
  /// "file:line" of a key, or of its nearest existing parent.
  std::string where(std::string_view dotted_key) const;

  struct Node;
  const Node& root() const { return *root_; }

 private:
  std::unique_ptr<Node> root_;
};

/// Visits the fields of configuration structs. Three modes: read a tree, write YAML, describe for
/// documentation.
class Binder {
 public:
  enum class Mode { Read, Write, Describe };
  Mode mode() const;
  bool reading() const { return mode() == Mode::Read; }

  // Scalars and containers. A null (~) in YAML leaves an optional empty and is an error for the rest.
  void field(std::string_view name, bool& value, std::string_view doc = {});
  void field(std::string_view name, double& value, std::string_view doc = {});
  void field(std::string_view name, float& value, std::string_view doc = {});
  void field(std::string_view name, std::string& value, std::string_view doc = {});
  void field(std::string_view name, Duration& value, std::string_view doc = {});
  /// Whole numbers, also written as 1e3 or 1_000; what does not fit T is a problem.
  template <std::integral T>
  void field(std::string_view name, T& value, std::string_view doc = {}) {
    constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
    auto wide = static_cast<std::int64_t>(value);
    integer(name, wide, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
            std::cmp_less(kLargest, std::numeric_limits<T>::max())
                ? kLargest
                : static_cast<std::int64_t>(std::numeric_limits<T>::max()),
            doc);
    value = static_cast<T>(wide);
  }

  /// A nested struct. A name with nothing after it ("model:") counts as absent.
  template <Bindable T>
  void field(std::string_view name, T& value, std::string_view doc = {}) {
    if (!enter(name, doc)) return;
    value.bind(*this);
    leave();
  }
  /// Absent: as before. Null: empty.
  template <class T>
  void field(std::string_view name, std::optional<T>& value, std::string_view doc = {}) {
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
      field(name, *value, doc);
    else if (mode() == Mode::Write)
      write_null(name);
    else
      describe_absent<T>(name, doc);
  }
  /// A list; a single value that is not a list counts as a list of one (as in Levanter).
  template <class T>
  void field(std::string_view name, std::vector<T>& value, std::string_view doc = {}) {
    if (!enter_typed(name, doc, type_words<std::vector<T>>(), true)) return;
    if (reading()) value = std::vector<T>(list_size());
    for (std::size_t i = 0; i < value.size(); ++i) field(std::to_string(i), value[i], {});
    describe_item<T>("[]");
    leave();
  }
  /// A map from free names, in the order of the file.
  template <class T>
  void field(std::string_view name, std::vector<std::pair<std::string, T>>& value,
             std::string_view doc = {}) {
    if (!enter_typed(name, doc, type_words<std::vector<std::pair<std::string, T>>>(), false)) return;
    if (reading()) {
      value.clear();
      for (auto& key : keys()) value.emplace_back(std::move(key), T{});
    }
    for (auto& [key, item] : value) field(key, item, {});
    describe_item<T>(".<name>");
    leave();
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
  /// "trainer.checkpointer" for messages.
  std::string path(std::string_view name = {}) const;

  struct State;
  explicit Binder(State& state) : state_(state) {}

 private:
  void integer(std::string_view name, std::int64_t& value, std::int64_t least, std::int64_t most,
               std::string_view doc);
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
  void describe_absent(std::string_view name, std::string_view doc) {
    if (!enter_absent(name)) return;
    T item{};
    field(name, item, doc);
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
/// Keys that were present but are not used by Bora, with the reason. Reads `target` as read_config does.
std::vector<ConfigProblem> ignored_keys(const ConfigTree& tree, BindTarget target);
/// The resolved configuration as YAML; read_config of it gives the same values.
std::string write_config(BindTarget target);
/// A Markdown table: key, type, default, meaning.
std::string describe_config(BindTarget target);

/// The message of experience.md: "my.yaml has 3 problems; nothing was started." and aligned lines.
std::string format_problems(const std::string& file, const std::vector<ConfigProblem>& problems);

}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bora {

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

}  // namespace bora

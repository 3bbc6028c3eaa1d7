// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/error.h"

namespace bora::run {

/// What a start would fail of, while it is looked for: each problem has one line, and is told once.
class ProblemList {
 public:
  ProblemList(const ConfigTree& tree, std::vector<ConfigProblem>& problems)
      : tree_(tree), problems_(problems) {}

  void add(ConfigProblem problem);
  void add(const std::string& key, std::string message);
  /// The words of an error; where they begin with a key of the configuration, they are that one's.
  void add_error(const std::string& key, const std::string& text);
  /// An error of `look` is a problem of `key`.
  template <class Body>
  void of(const std::string& key, Body&& look) {
    try {
      look();
    } catch (const Error& e) {
      add_error(key, e);
    }
  }
  std::size_t size() const { return problems_.size(); }

 private:
  void add_error(const std::string& key, const Error& e);

  const ConfigTree& tree_;
  std::vector<ConfigProblem>& problems_;
};

}  // namespace bora::run

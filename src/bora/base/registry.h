// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {

/// Things that a configuration chooses by name, in the order in which they were added: one list for each kind
/// (model types, optimizers, ...), filled by ordinary calls before it is read, by Bora and by a user's own
/// program alike. Adding is for one thread.
template <class T>
class Registry {
 public:
  /// `kind` stands in errors: "model type".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// InvalidArgument for a name that is there already.
  void add(std::string name, T entry) {
    if (find(name) != nullptr)
      fail(ErrorKind::InvalidArgument, "{} {} is registered twice\nhint: give one of them another name",
           kind_, name);
    entries_.emplace_back(std::move(name), std::move(entry));
  }

  /// Null for an unknown name.
  const T* find(std::string_view name) const {
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == name; });
    return at == entries_.end() ? nullptr : &at->second;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : entries_) out.push_back(entry.first);
    return out;
  }

  /// What is to be said of an unknown name: "lama is not known; did you mean `llama`?; available: ...", or "mamba is not
  /// built yet; available: ..." of one that is like no other.
  std::string unknown(std::string_view name) const {
    const auto known = names();
    const auto near = did_you_mean(name, known);
    return fmt::format("{} is not {}{}; available: {}", name, near.empty() ? "built yet" : "known", near,
                       join(known));
  }

 private:
  std::string kind_;
  std::vector<std::pair<std::string, T>> entries_;
};

}  // namespace bora

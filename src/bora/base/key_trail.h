// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bora/base/key.h"

namespace bora {

/// While it lives, this thread notes how keys come from one another, so that what was computed with one key can be
/// computed again with another one. The innermost counts.
class KeyTrail {
 public:
  KeyTrail();
  ~KeyTrail();
  KeyTrail(const KeyTrail&) = delete;
  KeyTrail& operator=(const KeyTrail&) = delete;

  /// A key's way from a root: the root by number or name, and so on.
  struct Way {
    struct Fold {
      std::uint64_t domain, data;
    };
    bool from_root = false;  ///< else the key does not depend on it
    Key fixed = {};          ///< then: the key
    std::vector<Fold> folds = {};

    Key from(Key root) const;
  };
  Way way(const Key& root, const Key& key) const;

  void note(const Key& from, const Key& to, Way::Fold fold);  ///< by Key::fold

 private:
  struct Step {
    Key from;
    Way::Fold fold;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Step> steps_;
  KeyTrail* before_;
};

}  // namespace bora

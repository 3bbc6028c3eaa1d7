// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/base/config.h"

namespace bora {

/// A value that two configurations do not share: "optimizer.learning_rate", "0.001", "0.003". "none" stands
/// for a key that one of them has not.
struct ConfigChange {
  std::string key, before, after;
};

/// Every value that differs, in the order of `after`, then those that only `before` has. Maps are compared key
/// by key, lists as a whole. Meant for resolved configurations (write_config): spellings count.
std::vector<ConfigChange> config_changes(const ConfigTree& before, const ConfigTree& after);
/// The same of two objects' values, as they are written.
std::vector<ConfigChange> config_changes(BindTarget before, BindTarget after);

/// "optimizer.learning_rate: 0.001 -> 0.003".
std::string shown(const ConfigChange& change);

}  // namespace bora

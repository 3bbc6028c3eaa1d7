// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Choosing parameters and modules by their paths.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora {

/// Whether `path` ("layers.0.mlp.up_proj.weight") or a module around it is what `pattern` says, in which *
/// stands for any characters, dots too, and ? for one: "layers.*.mlp" selects all of every layer's mlp.
bool path_matches(std::string_view pattern, std::string_view path);

struct SelectedPaths {
  std::vector<bool> selected;         ///< for each path
  std::vector<std::string> problems;  ///< a sentence for each pattern that selects nothing
};
/// What some pattern selects. `what`: of what the paths are, for the sentences: "parameter".
SelectedPaths select_paths(std::span<const std::string> patterns, std::span<const std::string> paths,
                           std::string_view what);

}  // namespace bora

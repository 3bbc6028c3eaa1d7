// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/lora.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/path_pattern.h"
#include "bora/base/text.h"

namespace bora::nn::detail {

std::vector<bool> lora_targets(const LoraOptions& options, const std::vector<std::string>& paths,
                               const std::string& head) {
  std::vector<std::string> problems;
  if (options.rank < 1)
    problems.push_back(fmt::format("the rank must be at least 1 but is {}", options.rank));
  auto targets = select_paths(options.modules, paths, "linear map");
  problems.insert(problems.end(), targets.problems.begin(), targets.problems.end());
  if (!problems.empty()) fail(ErrorKind::Config, "lora: {}", join(problems, "\nlora: "));
  if (options.modules.empty()) {
    for (std::size_t i = 0; i < paths.size(); ++i) targets.selected[i] = paths[i] != head;
  }
  return targets.selected;
}

}  // namespace bora::nn::detail

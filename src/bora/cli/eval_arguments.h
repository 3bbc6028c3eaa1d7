// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bora/core/weight_type.h"

namespace bora::cli {

/// The command line of `bora eval`.
struct EvalArguments {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, std::string>> overrides;
  std::string model, adapter;
  std::int64_t max_batches = 0;  ///< 0: all
  bool json = false;
  core::WeightType weights = core::WeightType::f32;  ///< whose values the model's weights get
};
EvalArguments parse_eval_arguments(const std::vector<std::string>& arguments);

}  // namespace bora::cli

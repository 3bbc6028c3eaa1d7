// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

#include "bora/cli/args.h"
#include "bora/core/weight_type.h"

namespace bora::cli {

/// --weights f32|bf16|int8, of the commands that train nothing.
struct WeightsFlag {
  std::string word = "f32";

  void declare(Args& args, const std::string& doc = "keep the weights of linear maps as f32, bf16 or int8");
  /// After parsing. Usage error, in the name of `command`, for another word.
  core::WeightType type(std::string_view command) const { return core::parse_weight_type(command, word); }
};

}  // namespace bora::cli

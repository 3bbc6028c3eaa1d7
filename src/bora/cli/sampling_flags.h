// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The flags of every command that draws tokens.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/cli/args.h"
#include "bora/infer/generate.h"

namespace bora::cli {

struct SamplingFlags {
  infer::GenerateOptions options;
  std::int64_t seed = 0;
  std::vector<std::string> stops;

  void declare(Args& args);
  /// After parsing. Usage error, in the name of `command`, for an empty stop string.
  void settle(std::string_view command);
};

}  // namespace bora::cli

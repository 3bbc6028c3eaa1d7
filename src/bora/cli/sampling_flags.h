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
  void settle();  ///< after parsing
};

}  // namespace bora::cli

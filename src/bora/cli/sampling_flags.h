// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The flags of every command that draws tokens.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bora/cli/args.h"
#include "bora/infer/generate.h"
#include "bora/run/open_model.h"

namespace bora::cli {

struct SamplingFlags {
  infer::GenerateOptions options;
  std::int64_t seed = 0;
  std::vector<std::string> stops;
  std::set<std::string> given;

  void declare(Args& args);
  void settle(const Args& args);  ///< after parsing
  /// What ends the model's texts, and how it draws them where no flag is given; told on standard error if `tells`.
  void take_defaults(const run::OpenedModel& opened, bool tells);
};

}  // namespace bora::cli

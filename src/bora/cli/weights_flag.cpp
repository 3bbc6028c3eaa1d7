// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/weights_flag.h"

#include <utility>
#include <vector>

namespace bora::cli {

void WeightsFlag::declare(Args& args, const std::string& doc) {
  std::vector<std::string> names;
  for (const auto type : {core::WeightType::f32, core::WeightType::bf16, core::WeightType::int8})
    names.emplace_back(core::name(type));
  args.option("--weights", word, doc).one_of(std::move(names));
}

}  // namespace bora::cli

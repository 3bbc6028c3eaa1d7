// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/weights_flag.h"

namespace bora::cli {

void WeightsFlag::declare(Args& args, const std::string& doc) { args.option("--weights", word, doc); }

}  // namespace bora::cli

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/commands.h"
#include "bora/cli/train_arguments.h"
#include "bora/run/hf_start.h"
#include "bora/run/train_run.h"

namespace bora::cli {

int run_train(const Arguments& arguments) {
  auto train = parse_train_arguments(arguments);
  return run::run_training(run::load_run(train.paths, train.overrides, run::MissingModel::Recorded),
                           train.flags);
}

}  // namespace bora::cli

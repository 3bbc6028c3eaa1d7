// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "commands.h"
#include "train_arguments.h"
#include "train_run.h"

namespace bora::app {

int run_train(const Arguments& arguments) {
  auto train = parse_train_arguments(arguments);
  return run_training(load_config(train.paths, train.overrides), train.flags);
}

}  // namespace bora::app

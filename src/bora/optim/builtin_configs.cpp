// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/builtin.h"
#include "bora/optim/builtin_list.h"
#include "bora/optim/optimizer_types.h"

namespace bora::optim {

void add_builtin_optimizer_configs() {
  for_each_builtin([]<class T>(Type<T>, const char* name, const char* help) {
    optimizer_types().add(name, {.help = help, .config = typename T::Config(), .make = {}});
  });
}

}  // namespace bora::optim

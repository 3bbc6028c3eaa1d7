// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/builtin.h"

#include "bora/optim/add_optimizer.h"
#include "bora/optim/builtin_list.h"

namespace bora::optim {

void add_builtin_optimizers() {
  for_each_builtin(
      []<class T>(Type<T>, const char* name, const char* help) { add_optimizer<T>(name, help); });
}

}  // namespace bora::optim

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The optimizers that come with Bora, a line each: builtin.cpp adds them, builtin_configs.cpp what can be
// configured of them. Nothing here needs the tensor library.
#pragma once
#include <type_traits>

#include "bora/optim/adam.h"
#include "bora/optim/sgd.h"

namespace bora::optim {

template <class T>
using Type = std::type_identity<T>;

void for_each_builtin(auto add) {
  add(Type<Adam>(), "adam", "AdamW (Loshchilov and Hutter 2019)");
  add(Type<Sgd>(), "sgd", "gradient descent with momentum");
}

}  // namespace bora::optim

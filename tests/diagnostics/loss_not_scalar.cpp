// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The gradient of a loss that is no number
// WHY: this one has still a value for each batch.
// FIX: mean_all(square(m(x))), or mean over Batch too.
// EXPECT-GCC: Loss = Named<Batch>\].* is unavailable: the loss must be Named<>
// EXPECT-CLANG: , bora::Named<Batch>>' is unavailable: the loss must be Named<>
#include "axes.h"
#include "models.h"
auto wrong(nn::Linear<Embed, Mlp>& layer, const Hidden& x) {
  return value_and_grad(layer, [&](const auto& m) { return mean<Pos, Mlp>(square(m(x))); });  // USER
}

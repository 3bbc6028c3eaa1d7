// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The Hessian of a loss that is no number
// WHY: this one has still a value for each batch.
// FIX: mean_all(square(m(x)))
// EXPECT-GCC: Loss = Named<Batch>.* is unavailable: the loss must be Named<>
// EXPECT-CLANG: , bora::Named<Batch>>' is unavailable: the loss must be Named<>
#include "axes.h"
#include "bora/named/hessian.h"
#include "models.h"
auto wrong(nn::Linear<Embed, Mlp>& layer, const Hidden& x, const nn::Linear<Embed, Mlp>& v) {
  const auto loss = [&](const auto& m) { return mean<Pos, Mlp>(square(m(x))); };
  return hessian_vector_product(layer, loss, v);  // USER
}

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/torch/node.h"

#include <c10/core/GradMode.h>

#include "bora/core/autograd/rope.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {

void settle(Node& node) {
  if (node.turn) {
    const auto turn = std::move(node.turn);
    const at::AutoGradMode as_then(turn->recorded);
    node.tensor = autograd::rope(turn->x, turn->cos, turn->sin, turn->pairs).view(turn->like.sizes());
    return;
  }
  const auto sum = std::move(node.pending);
  try {
    const at::AutoGradMode as_then(sum->recorded);
    node.tensor = tensor(sum->left).add(tensor(sum->right));
  } catch (...) {
    rethrow("add", {Operand{sum->left, {}}, Operand{sum->right, {}}});
  }
}

}  // namespace bora::core

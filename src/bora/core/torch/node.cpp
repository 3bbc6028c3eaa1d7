// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/torch/node.h"

#include <c10/core/GradMode.h>

#include "bora/core/layout/refusal.h"

namespace bora::core {

void settle(Node& node) {
  const auto sum = std::move(node.pending);
  try {
    const at::AutoGradMode as_then(sum->recorded);
    node.tensor = tensor(sum->left).add(tensor(sum->right));
  } catch (...) {
    rethrow("add", {Operand{sum->left, {}}, Operand{sum->right, {}}});
  }
}

}  // namespace bora::core

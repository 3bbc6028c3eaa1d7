// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// Linear head and softmax cross-entropy in chunks of positions: logits of the whole batch never exist.
struct CrossEntropy {
  Array loss;    ///< scalar: sum over positions of weight · (loss + z_loss · lse²)
  Array weight;  ///< scalar: sum of the weights (no gradient)
};
/// hidden [..., embed], head [vocab, embed], targets i32 and weights f32 with the remaining axes of hidden;
/// `chunk` positions at a time, on which bits depend. Errors: InvalidArgument for a target that is outside of
/// the vocabulary; one below 0 may stand where the weight is 0.
CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, double z_loss = 0, std::int64_t chunk = 1024);
/// The same over given logits, per position and unweighted: [...] = lse - logits[target].
Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets);

}  // namespace bora::core

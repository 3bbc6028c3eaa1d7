// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "bora/core/array.h"
#include "bora/core/device.h"

namespace bora::core {

/// What a head does beside its product with the hidden states:
///
///     logits = cap(logit_scale · (hidden · head) + bias)      cap(x) = soft_cap · tanh(x / soft_cap)
///
/// The order is that of Hugging Face's models: Granite divides by its logits_scaling (logit_scale here is 1
/// over that) and Cohere multiplies by its logit_scale, GPT-J and Phi have a bias in the head, Gemma 2 caps
/// last (final_logit_softcapping). No model there has both a scale and a bias.
struct HeadOptions {
  double logit_scale = 1;  ///< finite, not 0
  double soft_cap = 0;     ///< finite; 0: none
  Array bias = {};         ///< [vocab], or empty: none
};

/// Positions of a head that are computed together where nobody says how many: 1,024 on the CPU. On a device, where each
/// time reads and writes the gradient of the whole head, as many multiples of 256 as have `products` of 1 GiB, from 1,024 to
/// 8,192. Those of log-probabilities are fp32.
std::int64_t head_chunk(Device::Type device, DType products, std::int64_t vocab);
/// Rows that a head has on a device: the next multiple of 64, those behind the vocabulary zeros. A product of halves is several
/// times as slow where a size of it is no multiple of 8, as GPT-2's 50,257.
std::int64_t head_rows(std::int64_t vocab);

struct CrossEntropyOptions {
  HeadOptions head = {};
  double z_loss = 0;                       ///< weight of lse², lse = log sum exp(logits)
  std::optional<std::int64_t> chunk = {};  ///< positions at a time; none: head_chunk(). Bits depend on it
};

/// Linear head and softmax cross-entropy in chunks of positions: logits of the whole batch never exist.
struct CrossEntropy {
  Array loss;    ///< scalar: sum over positions of weight · (loss + z_loss · lse²)
  Array weight;  ///< scalar: sum of the weights (no gradient)
};
/// hidden [..., embed], head [vocab, embed], targets i32 and weights f32 with the remaining axes of hidden.
/// Gradients go to hidden, head and bias. Errors: InvalidArgument for a target that is outside of the
/// vocabulary (one below 0 may stand where the weight is 0), for options outside of the ranges above, and for targets
/// that are not i32 or i64.
CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, const CrossEntropyOptions& options = {});
/// The logits, of axes `out`, for those who need them all: generation and comparisons.
Array linear_logits(const Operand& hidden, const Operand& head, const HeadOptions& options, Names out);

struct ScoreOptions {
  HeadOptions head = {};
  std::optional<std::int64_t> chunk = {};  ///< positions at a time; none: head_chunk()
  bool rank = false;                       ///< also the targets' ranks
  std::int64_t top = 0;                    ///< also so many most probable tokens
};
/// What a head says of targets, f32 and i32 with the axes of these; no gradients.
struct LinearScores {
  Array log_prob;  ///< of the target; 0 where that is below 0
  Array
      rank;  ///< where asked for: 0 for the most probable token, ties by the lower id; -1 for targets below 0
  Array top_ids;       ///< where asked for: [..., top], most probable first, ties by the lower id
  Array top_log_prob;  ///< [..., top]
};
/// In chunks of positions, as linear_cross_entropy. For ranks and most probable tokens a head that is sharded along
/// the vocabulary is gathered; the result is that of one rank. Errors: InvalidArgument for a
/// target or `top` beyond the vocabulary.
LinearScores linear_scores(const Operand& hidden, const Operand& head, const Operand& targets,
                           const ScoreOptions& options = {});
/// The log-probability of each target, with gradients for hidden, head and bias: for objectives over
/// sequences, as DPO. Logits are computed again in the backward pass, chunk by chunk.
Array linear_log_prob(const Operand& hidden, const Operand& head, const Operand& targets,
                      const HeadOptions& options = {}, std::optional<std::int64_t> chunk = {});

/// Cross-entropy of given logits, per position and unweighted: [...] = lse - logits[target].
Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets);

}  // namespace bora::core

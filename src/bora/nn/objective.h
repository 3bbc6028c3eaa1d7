// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a model makes of a batch: the loss that is differentiated, and what else it wants seen.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/core/cross_entropy.h"
#include "bora/named/named.h"

namespace bora::nn {

/// One batch on its way into a model.
struct TokenBatch {
  core::Array ids;            ///< i32 [batch, position]
  core::Array targets;        ///< i32 [batch, position]: what each position should predict
  core::Array weights;        ///< f32 [batch, position]: how much that counts
  core::Array segments;       ///< i32 [batch, position] or empty: no attention across different numbers
  core::Array present = {};   ///< f32 [batch, position] or empty: 1 where a token is, 0 where padding is
  core::Array features = {};  ///< f32 [batch, mel, frame] or empty: the sound that each text was said in
};

struct LossOptions {
  core::DType compute = core::DType::f32;  ///< dtype of the forward and backward pass; parameters stay fp32
  double z_loss = 0;                       ///< weight of logsumexp², at least 0
  std::optional<std::int64_t> chunk = {};  ///< positions of the head at a time; none: core::head_chunk()
};

/// What is wanted of a batch beside the log-probabilities of its targets.
struct ScoreOptions {
  core::DType compute = core::DType::f32;
  std::optional<std::int64_t> chunk = {};
  bool rank = false;     ///< of each target among all tokens
  std::int64_t top = 0;  ///< so many most probable tokens
};

/// A sum over a batch and what it is divided by, both scalars, of which no gradient is taken. Trainers add
/// them up over lanes and workers as they do losses, and show sum / weight: "router/load_balance" as
/// train/router/load_balance.
struct NamedSum {
  std::string name;  ///< of its own in a model, and the same in every batch
  core::Array sum, weight;
};

/// Of a batch, or of the part of it that one lane computes: sums, so that lanes add up.
struct Objective {
  core::Array loss;    ///< scalar: what is differentiated, summed over tokens by their weights
  core::Array weight;  ///< scalar: how much counted; no gradient
  std::vector<NamedSum> metrics = {};
  /// The loss without penalties that training adds, as those of routers: what evaluations count. Empty: `loss`.
  core::Array without_penalties = {};
};

/// InvalidArgument for a metric without a name, with that of another one, or with one that trainers give:
/// loss, tokens, bpb; and for sums and weights that are no scalars.
void check_metrics(const std::vector<NamedSum>& metrics);

/// Hidden states, the head, and for each position its target: the sum of weighted losses and the sum of
/// weights. What a model without an objective of its own has, and the one line with which one that has it
/// begins.
///
///     auto hidden = (*this)(indices_from_array<Batch, Pos>(batch.ids), context);
///     auto objective = nn::next_token_objective<Batch, Pos>(hidden, head(), batch, options);
template <Axis Batch, Axis Pos, NamedTensor Hidden, NamedTensor Head>
Objective next_token_objective(const Hidden& hidden, const Head& head, const TokenBatch& batch,
                               const LossOptions& options, const core::HeadOptions& head_options = {}) {
  const core::Names positions = Axes<Batch, Pos>::names;
  auto sums =
      core::linear_cross_entropy(hidden.operand(), head.operand(), {batch.targets, positions},
                                 {batch.weights, positions}, {head_options, options.z_loss, options.chunk});
  return {std::move(sums.loss), std::move(sums.weight)};
}

/// The log-probability of each position's target, 0 for targets below 0, with gradients. Objectives over
/// sequences, as DPO, are sums of it: sum<Pos>(token_log_prob<Batch, Pos>(hidden, head(), batch) * weights).
template <Axis Batch, Axis Pos, NamedTensor Hidden, NamedTensor Head>
Named<Batch, Pos> token_log_prob(const Hidden& hidden, const Head& head, const TokenBatch& batch,
                                 const LossOptions& options = {},
                                 const core::HeadOptions& head_options = {}) {
  return Named<Batch, Pos>::adopt(core::linear_log_prob(hidden.operand(), head.operand(),
                                                        {batch.targets, Axes<Batch, Pos>::names},
                                                        head_options, options.chunk));
}

}  // namespace bora::nn

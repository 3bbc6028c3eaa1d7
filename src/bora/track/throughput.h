// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "bora/track/tracker.h"

namespace bora::track {

/// The sizes of a transformer that its floating-point operations depend on.
struct FlopsModel {
  std::int64_t layers = 0, hidden = 0, intermediate = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;  ///< head_dim 0: hidden / heads
  std::int64_t vocabulary = 0, sequence = 0;
  bool gated_mlp = true;     ///< three matrices instead of two
  std::int64_t experts = 1;  ///< routed experts; more than one adds the router
  std::int64_t experts_per_token = 1;
  std::int64_t shared_experts = 0;  ///< experts that every token passes
};

/// How attention is counted: every query against every key, as Levanter and PaLM count; or only the half a
/// causal mask leaves, as Megatron and llm.c count.
enum class AttentionFlops { Full, Causal };

/// Floating-point operations of one token's forward pass: 2 for each multiply-add of the matrix products
/// (projections, MLP, attention scores and sums, output layer). Full is Levanter's lm_flops_per_token.
double forward_flops_per_token(const FlopsModel& model, AttentionFlops attention = AttentionFlops::Full);
/// Forward and backward: three times the forward pass. Recomputation (remat) is not counted.
double training_flops_per_token(const FlopsModel& model, AttentionFlops attention = AttentionFlops::Full);
/// N of the formula below: the weights of the matrix products that a token passes, and its row of the
/// embedding. Of experts those it is sent to; no position embeddings.
double active_parameters(const FlopsModel& model, bool tied_head);
/// PaLM's 6 N + 12 layers · heads · head_dim · sequence (Chowdhery et al. 2022, appendix B). Causal halves
/// the second term.
double palm_flops_per_token(double parameters, const FlopsModel& model,
                            AttentionFlops attention = AttentionFlops::Full);

/// What the meter is told once.
struct ThroughputOptions {
  double flops_per_token = 0;         ///< training_flops_per_token, full attention; 0: unknown
  double flops_per_token_causal = 0;  ///< the same, causal; 0: unknown
  double flops_per_token_palm = 0;    ///< palm_flops_per_token, full attention; 0: unknown
  double peak_flops = 0;              ///< of all devices together, per second; 0: unknown
  int smoothing_steps = 20;           ///< steps over which the displayed rate is averaged
};

/// Turns step durations into Levanter's throughput/ metrics, and into what a person wants to see.
class ThroughputMeter {
 public:
  explicit ThroughputMeter(ThroughputOptions options) : options_(options) {}

  /// Work of an earlier process of this run, so that totals go on.
  void resume(std::int64_t tokens) { total_tokens_ = tokens; }
  /// One finished step. The first step of a process (warm-up) counts into totals but not into the smoothed
  /// rate when later ones exist.
  void step(std::int64_t tokens, std::int64_t examples, double seconds);

  /// throughput/{duration, examples_per_second, tokens_per_second, total_tokens}, and where FLOPs are known
  /// {gflops_per_second, total_gflops}, and where the peak is known {mfu, mfu_causal, mfu_palm} in percent; of the
  /// last step.
  std::vector<Metric> metrics() const;
  /// Tokens per second over the last steps; 0 before the first.
  double tokens_per_second() const;
  /// Seconds that `steps` more steps will take at the present speed; nothing before the first step.
  std::optional<double> eta(std::int64_t steps) const;
  std::int64_t total_tokens() const { return total_tokens_; }
  /// Percent of the peak over the last steps, as Levanter counts; nothing if FLOPs or peak are unknown.
  std::optional<double> mfu() const;

 private:
  struct Step {
    double tokens = 0, examples = 0, seconds = 0;
  };
  Step recent() const;

  ThroughputOptions options_;
  std::vector<Step> window_;  ///< the last smoothing_steps, oldest first
  std::int64_t total_tokens_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace bora::track

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/throughput.h"

#include <algorithm>

namespace bora::track {
namespace {

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

double attention_share(AttentionFlops attention) { return attention == AttentionFlops::Causal ? 0.5 : 1.0; }

double head_size(const FlopsModel& m) {
  return m.head_dim > 0 ? static_cast<double>(m.head_dim) : ratio(double(m.hidden), double(m.heads));
}

/// Scores, weighted sum, and softmax with its mask, for one token against `sequence` keys; one layer.
double attention_flops(const FlopsModel& m) {
  const double keys = double(m.sequence), heads = double(m.heads);
  return 2 * keys * heads * head_size(m)     // scores
         + 3 * keys * heads                  // softmax: exponential, sum, division
         + 2 * keys * heads * head_size(m);  // weighted sum of values
}

}  // namespace

double forward_flops_per_token(const FlopsModel& m, AttentionFlops attention) {
  const double hidden = double(m.hidden), head = head_size(m);
  const double experts = double(m.experts_per_token + m.shared_experts);
  const double mlp = 2 * (m.gated_mlp ? 3 : 2) * hidden * double(m.intermediate) * experts +
                     (m.experts > 1 ? 2 * hidden * double(m.experts) : 0);
  const double qkv = 2 * hidden * head * double(m.heads + 2 * m.kv_heads);
  const double out = 2 * hidden * head * double(m.heads);
  const double layer = mlp + qkv + out + attention_share(attention) * attention_flops(m);
  return double(m.layers) * layer + 2 * hidden * double(m.vocabulary);
}

double training_flops_per_token(const FlopsModel& m, AttentionFlops attention) {
  return 3 * forward_flops_per_token(m, attention);
}

double active_parameters(const FlopsModel& m, bool tied_head) {
  const double hidden = double(m.hidden), attention = head_size(m) * double(2 * m.heads + 2 * m.kv_heads);
  const double experts = double(m.experts_per_token + m.shared_experts);
  const double mlp = (m.gated_mlp ? 3 : 2) * double(m.intermediate) * experts;
  const double router = m.experts > 1 ? double(m.experts) : 0;
  return double(m.layers) * hidden * (attention + mlp + router) +
         (tied_head ? 1 : 2) * hidden * double(m.vocabulary);
}

double palm_flops_per_token(double parameters, const FlopsModel& m, AttentionFlops attention) {
  const double products = 12 * double(m.layers) * double(m.heads) * head_size(m) * double(m.sequence);
  return 6 * parameters + attention_share(attention) * products;
}

void ThroughputMeter::step(std::int64_t tokens, std::int64_t examples, double seconds) {
  total_tokens_ += tokens;
  if (steps_++ == 1) window_.clear();  // the first step was a warm-up
  window_.push_back({double(tokens), double(examples), seconds});
  if (window_.size() > std::size_t(std::max(1, options_.smoothing_steps))) window_.erase(window_.begin());
}

ThroughputMeter::Step ThroughputMeter::recent() const {
  Step sum;
  for (const Step& s : window_) {
    sum.tokens += s.tokens;
    sum.examples += s.examples;
    sum.seconds += s.seconds;
  }
  return sum;
}

std::vector<Metric> ThroughputMeter::metrics() const {
  if (window_.empty()) return {};
  const Step& last = window_.back();
  const double speed = ratio(last.tokens, last.seconds);
  std::vector<Metric> out{{"throughput/duration", last.seconds},
                          {"throughput/examples_per_second", ratio(last.examples, last.seconds)},
                          {"throughput/tokens_per_second", speed},
                          {"throughput/total_tokens", double(total_tokens_)}};
  if (options_.flops_per_token <= 0) return out;
  const double flops = speed * options_.flops_per_token;
  out.push_back({"throughput/gflops_per_second", flops / 1e9});
  out.push_back({"throughput/total_gflops", double(total_tokens_) * options_.flops_per_token / 1e9});
  if (options_.peak_flops <= 0) return out;
  out.push_back({"throughput/mfu", 100 * flops / options_.peak_flops});
  const auto share = [&](const char* name, double per_token) {
    if (per_token > 0) out.push_back({name, 100 * speed * per_token / options_.peak_flops});
  };
  share("throughput/mfu_causal", options_.flops_per_token_causal);
  share("throughput/mfu_palm", options_.flops_per_token_palm);
  return out;
}

double ThroughputMeter::tokens_per_second() const {
  const Step sum = recent();
  return ratio(sum.tokens, sum.seconds);
}

std::optional<double> ThroughputMeter::eta(std::int64_t steps) const {
  if (window_.empty()) return std::nullopt;
  return recent().seconds / double(window_.size()) * double(steps);
}

std::optional<double> ThroughputMeter::mfu() const {
  if (options_.flops_per_token <= 0 || options_.peak_flops <= 0 || window_.empty()) return std::nullopt;
  return 100 * tokens_per_second() * options_.flops_per_token / options_.peak_flops;
}

}  // namespace bora::track

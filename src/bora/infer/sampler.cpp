// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "bora/base/error.h"

namespace bora::infer {

std::int32_t most_probable(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

namespace {

float& at(std::span<float> logits, std::int32_t id) { return logits[static_cast<std::size_t>(id)]; }
float at(std::span<const float> logits, std::int32_t id) { return logits[static_cast<std::size_t>(id)]; }

// Token ids from most to least probable, ties by id; sorted only as far as was asked.
class Ranking {
 public:
  explicit Ranking(std::span<const float> logits) : logits_(logits), order_(logits.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }
  std::int32_t operator[](std::size_t i) {
    while (i >= sorted_) sort_more();
    return order_[i];
  }

 private:
  void sort_more() {
    const auto to = std::min(order_.size(), std::max<std::size_t>(64, 4 * sorted_));
    const auto first = order_.begin();
    std::partial_sort(first + static_cast<std::ptrdiff_t>(sorted_), first + static_cast<std::ptrdiff_t>(to),
                      order_.end(), [&](auto a, auto b) {
                        const float x = at(logits_, a), y = at(logits_, b);
                        return x > y || (x == y && a < b);
                      });
    sorted_ = to;
  }

  std::span<const float> logits_;
  std::vector<std::int32_t> order_;
  std::size_t sorted_ = 0;
};

// The tokens that may be drawn: the first ones of a ranking. Weights are relative to the largest.
class Candidates {
 public:
  Candidates(std::span<const float> logits, double temperature)
      : logits_(logits), ranking_(logits), temperature_(temperature), count_(logits.size()) {
    largest_ = at(logits, ranking_[0]);
    for (const float x : logits) total_ += weight_of(x);
  }
  void keep_first(std::size_t count) {
    if (count >= count_) return;
    count_ = count;
    sum_up();
  }
  void keep_share(double p) {
    double kept = 0;
    std::size_t n = 0;
    while (n < count_ && kept < p * total_) kept += weight(n++);
    count_ = std::max<std::size_t>(n, 1);
    total_ = kept;
  }
  void keep_above(double least) {
    std::size_t n = 1;
    while (n < count_ && weight(n) >= least) ++n;
    keep_first(n);
  }
  std::int32_t draw(double uniform) {
    double left = uniform * total_;
    for (std::size_t i = 0; i < count_; ++i) {
      const double here = weight(i);
      if (here == 0) return ranking_[i - 1];  // rounding has left a rest
      left -= here;
      if (left <= 0) return ranking_[i];
    }
    return ranking_[count_ - 1];
  }

 private:
  double weight_of(float logit) const { return std::exp((logit - largest_) / temperature_); }
  double weight(std::size_t i) { return weight_of(at(logits_, ranking_[i])); }
  void sum_up() {
    total_ = 0;
    for (std::size_t i = 0; i < count_; ++i) total_ += weight(i);
  }

  std::span<const float> logits_;
  Ranking ranking_;
  double temperature_, largest_ = 0, total_ = 0;
  std::size_t count_;
};

}  // namespace

void penalize(std::span<float> logits, const SamplingOptions& options, std::span<const std::int32_t> prompt,
              std::span<const std::int32_t> text) {
  if (!options.penalizes()) return;
  std::map<std::int32_t, int> counts;  // of the text
  for (const auto id : text) ++counts[id];
  std::set<std::int32_t> seen(prompt.begin(), prompt.end());
  seen.insert(text.begin(), text.end());
  const auto penalty = static_cast<float>(options.repetition_penalty);
  for (const auto id : seen) {
    float& logit = at(logits, id);
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  for (const auto& [id, count] : counts)
    at(logits, id) -= static_cast<float>(options.presence_penalty + options.frequency_penalty * count);
}

std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, Key key) {
  if (logits.empty()) fail(ErrorKind::InvalidArgument, "sample: no logits");
  if (options.temperature <= 0) return most_probable(logits);
  Candidates candidates(logits, options.temperature);
  if (options.top_k > 0) candidates.keep_first(static_cast<std::size_t>(options.top_k));
  if (options.top_p < 1) candidates.keep_share(options.top_p);
  if (options.min_p > 0) candidates.keep_above(options.min_p);
  return candidates.draw(key.uniform());
}

LogProbs log_probs(std::span<const float> logits, std::int32_t id, std::int64_t alternatives) {
  const double largest = at(logits, most_probable(logits));
  double total = 0;
  for (const float x : logits) total += std::exp(x - largest);
  const double log_total = largest + std::log(total);
  LogProbs out{.log_prob = at(logits, id) - log_total, .top = {}};
  Ranking ranking(logits);
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(alternatives, 0, std::ssize(logits)));
  for (std::size_t i = 0; i < count; ++i) out.top.push_back({ranking[i], at(logits, ranking[i]) - log_total});
  return out;
}

}  // namespace bora::infer

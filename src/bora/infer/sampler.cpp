// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bora/base/error.h"

namespace bora::infer {

std::int32_t most_probable(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

namespace {

// Token ids from most to least probable; ties by id.
std::vector<std::int32_t> by_probability(std::span<const float> logits) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, Key key) {
  if (logits.empty()) fail(ErrorKind::InvalidArgument, "sample: no logits");
  if (options.temperature <= 0) return most_probable(logits);
  auto order = by_probability(logits);
  if (options.top_k > 0 && options.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(options.top_k));
  double largest = logits[static_cast<std::size_t>(order[0])], total = 0;
  std::vector<double> weights;
  for (auto id : order)
    weights.push_back(std::exp((logits[static_cast<std::size_t>(id)] - largest) / options.temperature));
  total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    double kept = 0;
    std::size_t n = 0;
    while (n < weights.size() && kept < options.top_p * total) kept += weights[n++];
    weights.resize(std::max<std::size_t>(n, 1));
    total = kept;
  }
  double u = key.uniform() * total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    u -= weights[i];
    if (u <= 0) return order[i];
  }
  return order[weights.size() - 1];
}

}  // namespace bora::infer

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/experts.h"

#include <string>
#include <utility>

namespace bora::nn {
namespace {

Named<> number(double value) { return Named<>::adopt(core::full({Axes<>::names, {}}, value)); }

}  // namespace

RouterSums RouterSums::none(Dim<Candidate> experts) {
  const std::array sizes{experts.size};
  const auto zeros = Named<Candidate>::adopt(core::zeros({Axes<Candidate>::names, sizes}));
  return {zeros, zeros, number(0), number(0), number(0), number(static_cast<double>(experts.size))};
}

void add_router_terms(Objective& objective, const RouterSums& sums, const RouterLosses& losses,
                      std::int64_t layers) {
  const auto n = static_cast<double>(layers), experts = static_cast<double>(sums.load.size<Candidate>());
  const auto weight = from_array<>(objective.weight);
  // each token of each layer has a probability of 1 in all
  const auto tokens = maximum(stop_gradient(total(sums.probability)), 1.0);
  const auto auxiliary = total(sums.load * sums.probability) / square(tokens) * experts;
  auto loss = from_array<>(objective.loss);
  const auto add = [&](const std::optional<double>& coefficient, const Named<>& term) {
    if (coefficient) loss += term * *coefficient * weight;
  };
  add(losses.load_balance, sums.balance);
  add(losses.z_loss, sums.z);
  add(losses.auxiliary, auxiliary);
  objective.without_penalties = stop_gradient(from_array<>(objective.loss)).array();
  objective.loss = loss.array();
  const auto show = [&](std::string name, const Named<>& value) {
    objective.metrics.push_back({std::move(name), stop_gradient(value * weight).array(), objective.weight});
  };
  show("router/load_balance", auxiliary);
  show("router/z_loss", sums.z / n);
  show("router/load_max", sums.greatest);
  show("router/load_min", sums.least);
}

}  // namespace bora::nn

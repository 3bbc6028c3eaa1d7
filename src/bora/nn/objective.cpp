// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/objective.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "bora/base/error.h"
#include "bora/nn/language_model_interface.h"

namespace bora::nn {
namespace {

constexpr std::array<std::string_view, 3> kTaken{"loss", "tokens", "bpb"};

void check_scalar(const std::string& name, std::string_view what, const core::Array& x) {
  if (!x.empty() && x.rank() == 0) return;
  fail(ErrorKind::InvalidArgument,
       "objective: the {} of the metric {} is {}, not a scalar\nhint: sum over all axes", what, name,
       x.empty() ? "empty" : fmt::format("an array of {} axes", x.rank()));
}

}  // namespace

core::LinearScores LanguageModel::scores(const TokenBatch&, const ScoreOptions&) const {
  fail(ErrorKind::Unsupported, "scores: this model gives none");
}

void check_metrics(const std::vector<NamedSum>& metrics) {
  std::set<std::string_view> seen;
  for (const auto& m : metrics) {
    if (m.name.empty()) fail(ErrorKind::InvalidArgument, "objective: a metric without a name");
    if (std::find(kTaken.begin(), kTaken.end(), m.name) != kTaken.end()) {
      fail(ErrorKind::InvalidArgument,
           "objective: a metric is named {}, which trainers give themselves\nhint: another name, as "
           "router/{}",
           m.name, m.name);
    }
    if (!seen.insert(m.name).second)
      fail(ErrorKind::InvalidArgument, "objective: two metrics are named {}", m.name);
    check_scalar(m.name, "sum", m.sum);
    check_scalar(m.name, "weight", m.weight);
  }
}

}  // namespace bora::nn

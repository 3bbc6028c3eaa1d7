// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/metric_sums.h"

#include <fmt/ranges.h>

#include <utility>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

constexpr char kUnknown = '?', kKnown = '!', kEnd = '\n';

// "?" for a worker that had no lane, else "!" and each name with a line feed.
std::string text_of(const std::optional<std::vector<std::string>>& names) {
  if (!names) return {kUnknown};
  std::string text{kKnown};
  for (const auto& name : *names) text += name + kEnd;
  return text;
}

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 1, end = 0; at < text.size(); at = end + 1) {
    end = text.find(kEnd, at);
    names.push_back(text.substr(at, end - at));
  }
  return names;
}

std::string shown(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void MetricNames::add(const std::vector<std::string>& names) {
  if (!names_) names_ = names;
  if (*names_ == names) return;
  fail(ErrorKind::InvalidArgument,
       "metrics: one lane has {} and another {}\nhint: a model gives the same metrics, in one order, for "
       "every batch",
       shown(*names_), shown(names));
}

void MetricNames::agree(Communicator& workers) {
  if (std::exchange(agreed_, true) || workers.size() == 1) return;
  const auto texts = all_gather_texts(workers, text_of(names_));
  std::size_t first = texts.size();
  for (std::size_t w = 0; w < texts.size(); ++w) {
    if (texts[w][0] == kUnknown) continue;
    if (first == texts.size()) first = w;
    if (texts[w] == texts[first]) continue;
    fail(ErrorKind::InvalidArgument,
         "metrics: rank {} has {} and rank {} {}\nhint: a model gives the same metrics, in one order, on "
         "every rank",
         first, shown(names_of(texts[first])), w, shown(names_of(texts[w])));
  }
  if (!names_ && first < texts.size()) names_ = names_of(texts[first]);
}

const std::vector<std::string>& MetricNames::all() const {
  static const std::vector<std::string> none;
  return names_ ? *names_ : none;
}

}  // namespace bora::mesh

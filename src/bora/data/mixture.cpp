// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/data/permutation.h"

namespace bora::data {
namespace {

constexpr std::int64_t kLargestBlock = 65535;

void check_starts(const std::vector<MixtureStage>& stages, std::int64_t block_size) {
  if (stages.empty() || stages.front().start != 0) {
    fail(ErrorKind::Config, "mixture: the first stage should start at 0{}",
         stages.empty() ? "; there is none" : fmt::format(" but starts at {}", stages.front().start));
  }
  for (std::size_t i = 1; i < stages.size(); ++i) {
    const std::int64_t start = stages[i].start;
    if (start <= stages[i - 1].start) {
      fail(ErrorKind::Config, "mixture: a stage at sequence {} follows one at {}; starts should grow", start,
           stages[i - 1].start);
    }
    if (start % block_size != 0) {
      fail(ErrorKind::Config,
           "mixture: a stage starts at sequence {}, inside a block of {}\nhint: nearest: {} or {}", start,
           block_size, start / block_size * block_size, (start / block_size + 1) * block_size);
    }
  }
}

std::vector<double> normalized(const std::vector<double>& weights,
                               const std::vector<Mixture::Source>& sources, std::int64_t start) {
  if (weights.size() != sources.size()) {
    fail(ErrorKind::Config, "mixture: {} weights for {} sources at sequence {}", weights.size(),
         sources.size(), start);
  }
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      fail(ErrorKind::Config, "mixture: the weight of {} is {} but should be at least 0", sources[i].name,
           weights[i]);
    }
    sum += weights[i];
  }
  if (sum == 0) fail(ErrorKind::Config, "mixture: all weights are zero from sequence {} on", start);
  std::vector<double> out;
  for (const double weight : weights) out.push_back(weight / sum);
  return out;
}

std::vector<std::int64_t> block_counts(const std::vector<double>& weights, std::int64_t block_size) {
  std::vector<std::int64_t> counts;
  std::int64_t rest = block_size;
  for (const double weight : weights) {
    counts.push_back(static_cast<std::int64_t>(weight * static_cast<double>(block_size)));
    rest -= counts.back();
  }
  const auto largest = std::max_element(weights.begin(), weights.end()) - weights.begin();
  counts[static_cast<std::size_t>(largest)] += rest;
  return counts;
}

}  // namespace

const std::vector<std::string>& stop_strategy_names() {
  static const std::vector<std::string> names = {"restart", "first_exhausted", "all_exhausted"};
  return names;
}

StopStrategy parse_stop_strategy(const std::string& name) {
  const auto& names = stop_strategy_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    fail(ErrorKind::InvalidArgument, "mixture: stop strategy {} is none of {}", name, join(names));
  return static_cast<StopStrategy>(at - names.begin());
}

DataOrder parse_data_order(std::int64_t number) {
  const auto newest = static_cast<std::int64_t>(kDataOrder);
  if (number < 1 || number > newest) {
    fail(ErrorKind::Unsupported,
         "mixture: the data is in order {} but this Bora knows 1 to {}\nhint: go on with the Bora that began "
         "the run",
         number, newest);
  }
  return static_cast<DataOrder>(number);
}

Mixture::Mixture(std::vector<Source> sources, const std::vector<MixtureStage>& stages,
                 std::int64_t block_size, const Key& key, StopStrategy stop)
    : sources_(std::move(sources)), block_size_(block_size), key_(key) {
  if (block_size < 1 || block_size > kLargestBlock) {
    fail(ErrorKind::Config, "mixture: blocks of {} sequences; from 1 to {} are possible", block_size,
         kLargestBlock);
  }
  if (sources_.empty()) fail(ErrorKind::InvalidArgument, "mixture: there is no source");
  for (const auto& source : sources_) {
    if (source.dataset->size() < 1) fail(ErrorKind::InvalidArgument, "mixture: {} is empty", source.name);
    if (source.limit < 1) {
      fail(ErrorKind::InvalidArgument, "mixture: {} is exhausted after {} sequences; at least 1", source.name,
           source.limit);
    }
    if (source.dataset->seq_len() != seq_len()) {
      fail(ErrorKind::InvalidArgument, "mixture: sequences have {} tokens in {} but {} in {}", seq_len(),
           sources_.front().name, source.dataset->seq_len(), source.name);
    }
    if (source.dataset->sound() != sound()) {
      fail(ErrorKind::InvalidArgument, "mixture: the sound of {} has other features than that of {}",
           source.name, sources_.front().name);
    }
  }
  check_starts(stages, block_size);
  for (const auto& given : stages) {
    Stage stage{given.start, normalized(given.weights, sources_, given.start), {}, {}};
    stage.counts = block_counts(stage.weights, block_size);
    stage.before.resize(sources_.size());
    for (std::size_t i = 0; !stages_.empty() && i < sources_.size(); ++i) {
      const Stage& last = stages_.back();
      stage.before[i] = last.before[i] + (stage.start - last.start) / block_size * last.counts[i];
    }
    stages_.push_back(std::move(stage));
  }
  if (stop != StopStrategy::Restart) find_end(stop);
}

/// The block in which the source gives the last of its limit, or kEndless.
std::int64_t Mixture::exhausted_in(std::size_t source) const {
  const std::int64_t limit = sources_[source].limit;
  if (limit == kEndless) return kEndless;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const std::int64_t rest = limit - stage.before[source], count = stage.counts[source];
    if (count == 0) continue;
    const std::int64_t block = stage.start / block_size_ + (rest - 1) / count;
    if (s + 1 == stages_.size() || block < stages_[s + 1].start / block_size_) return block;
  }
  return kEndless;
}

void Mixture::find_end(StopStrategy stop) {
  const bool first = stop == StopStrategy::FirstExhausted;
  std::int64_t end = first ? kEndless : -1;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const bool wanted =
        std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) { return stage.weights[i] > 0; });
    if (!wanted) continue;
    const std::int64_t block = exhausted_in(i);
    if (!first && block == kEndless) {
      fail(ErrorKind::Config,
           "mixture: {} is never exhausted, so that all_exhausted never ends\nhint: first_exhausted, or a "
           "weight in the last stage that gives it a sequence in {}",
           sources_[i].name, block_size_);
    }
    end = first ? std::min(end, block) : std::max(end, block);
  }
  if (end != kEndless) end_in(end, stop);
}

void Mixture::end_in(std::int64_t block, StopStrategy stop) {
  const std::int64_t start = block * block_size_;
  const Stage& stage = stage_at(start);
  std::vector<std::int64_t> rests;
  // The source that decides: its rest and count are the share of a block that is read.
  std::int64_t rest = stop == StopStrategy::FirstExhausted ? 1 : 0, count = 1;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::int64_t n = stage.counts[i];
    const std::int64_t given = stage.before[i] + (block - stage.start / block_size_) * n;
    rests.push_back(n == 0 ? 0 : std::clamp<std::int64_t>(sources_[i].limit - given, 0, n));
    if (n == 0) continue;
    const bool decides =
        stop == StopStrategy::FirstExhausted ? rests[i] * count < rest * n : rests[i] * count > rest * n;
    if (decides) {
      rest = rests[i];
      count = n;
    }
  }
  End end{block, 0, {}};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::int64_t share = stage.counts[i] * rest / count;
    end.counts.push_back(stop == StopStrategy::FirstExhausted ? std::min(share, rests[i])
                                                              : std::max(share, rests[i]));
    end.size += end.counts.back();
  }
  size_ = start + end.size;
  end_ = std::move(end);
}

const Mixture::Stage& Mixture::stage_at(std::int64_t index) const {
  return stages_[static_cast<std::size_t>(stage_number(index))];
}

std::int64_t Mixture::stage_number(std::int64_t index) const {
  if (index < 0) fail(ErrorKind::InvalidArgument, "mixture: there is no sequence {}", index);
  const auto it = std::upper_bound(stages_.begin(), stages_.end(), index,
                                   [](std::int64_t i, const Stage& stage) { return i < stage.start; });
  return it - stages_.begin() - 1;
}

std::shared_ptr<const Mixture> Mixture::in_order(DataOrder order) const {
  auto out = std::make_shared<Mixture>(*this);
  out->order_ = order;
  out->last_ = std::make_shared<LastBlock>();
  return out;
}

std::shared_ptr<const Mixture::Block> Mixture::make_block(std::int64_t number,
                                                          const std::vector<std::int64_t>& counts) const {
  std::vector<std::int64_t> ends(counts.size()), given(counts.size());
  std::partial_sum(counts.begin(), counts.end(), ends.begin());
  const auto permutation = feistel_permutation(ends.back(), key_.fold(static_cast<std::uint64_t>(number)));
  auto out = std::make_shared<Block>();
  out->number = number;
  out->places.reserve(static_cast<std::size_t>(ends.back()));
  for (std::int64_t i = 0; i < ends.back(); ++i) {
    const std::int64_t slot = (*permutation)(i);
    const auto source =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), slot) - ends.begin());
    const std::int64_t index =
        order_ == DataOrder::WithinBlocks ? slot - (ends[source] - counts[source]) : given[source]++;
    out->places.push_back({static_cast<std::int32_t>(source), index});
  }
  return out;
}

std::shared_ptr<const Mixture::Block> Mixture::block(std::int64_t number,
                                                     const std::vector<std::int64_t>& counts) const {
  {
    const std::lock_guard lock(last_->mutex);
    if (last_->block && last_->block->number == number) return last_->block;
  }
  auto made = make_block(number, counts);
  const std::lock_guard lock(last_->mutex);
  return last_->block = std::move(made);
}

Mixture::Place Mixture::locate(std::int64_t index) const {
  if (index >= size_) fail(ErrorKind::InvalidArgument, "mixture: there is no sequence {}", index);
  const Stage& stage = stage_at(index);
  const std::int64_t number = index / block_size_, within = index % block_size_;
  const bool last = end_ && number == end_->block;
  Place place = block(number, last ? end_->counts : stage.counts)->places[static_cast<std::size_t>(within)];
  const auto source = static_cast<std::size_t>(place.source);
  place.index += stage.before[source] + (number - stage.start / block_size_) * stage.counts[source];
  return place;
}

std::int32_t Mixture::read(std::int64_t index, const Row& row) const {
  check(index, row);
  const Place place = locate(index);
  const Dataset& dataset = *sources_[static_cast<std::size_t>(place.source)].dataset;
  dataset.read(place.index % dataset.size(), row);
  return place.source;
}

std::vector<std::string> Mixture::starved() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const bool hungry = std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
      return stage.weights[i] > 0 && stage.counts[i] == 0;
    });
    if (hungry) names.push_back(sources_[i].name);
  }
  return names;
}

}  // namespace bora::data

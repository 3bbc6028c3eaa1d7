// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/merge_learner.h"

#include <algorithm>

namespace bora::tokenize {

namespace {

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

bool MergeLearner::below(const Candidate& a, const Candidate& b) {
  return a.count != b.count ? a.count < b.count : a.pair > b.pair;
}

std::size_t MergeLearner::slot(std::uint64_t key) const {
  const std::size_t mask = pairs_.size() - 1;
  std::size_t i = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
  while (pairs_[i].key != key && pairs_[i].key != kFree) i = (i + 1) & mask;
  return i;
}

MergeLearner::PairState& MergeLearner::state(std::int32_t left, std::int32_t right) {
  if (2 * (pair_count_ + 1) > pairs_.size()) {
    std::vector<PairState> before(pairs_.empty() ? 4096 : pairs_.size() * 2);
    before.swap(pairs_);
    for (const PairState& p : before) {
      if (p.key != kFree) pairs_[slot(p.key)] = p;
    }
  }
  PairState& p = pairs_[slot(key_of(left, right))];
  if (p.key == kFree) {
    p.key = key_of(left, right);
    ++pair_count_;
  }
  return p;
}

std::uint32_t MergeLearner::new_list() {
  if (free_lists_.empty()) {
    lists_.emplace_back();
    return static_cast<std::uint32_t>(lists_.size() - 1);
  }
  const std::uint32_t list = free_lists_.back();
  free_lists_.pop_back();
  return list;
}

void MergeLearner::lose(std::int32_t left, std::int32_t right, std::int64_t count) {
  state(left, right).count -= count;
}

void MergeLearner::gain(std::int32_t left, std::int32_t right, std::int64_t count, std::uint32_t word) {
  PairState& p = state(left, right);
  p.count += count;
  if (p.step != step_) {
    p.step = step_;
    p.places = new_list();
    gained_.emplace_back(left, right);
  }
  auto& places = lists_[p.places];
  if (places.empty() || places.back() != word) places.push_back(word);
}

void MergeLearner::add_word(const std::vector<std::int32_t>& ids, std::int64_t count) {
  const auto index = static_cast<std::uint32_t>(words_.size());
  words_.push_back({ids_.size(), static_cast<std::uint32_t>(ids.size()), count});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) gain(ids[i], ids[i + 1], count, index);
}

void MergeLearner::start() { queue_gained(); }

void MergeLearner::queue_gained() {
  for (const Pair& pair : gained_) {
    const PairState& p = state(pair.first, pair.second);
    if (p.count <= 0) {
      lists_[p.places] = {};
      free_lists_.push_back(p.places);
      continue;
    }
    heap_.push_back({pair, p.count, p.places});
    std::push_heap(heap_.begin(), heap_.end(), below);
  }
  gained_.clear();
  ++step_;
}

std::optional<MergeLearner::Candidate> MergeLearner::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), below);
    Candidate& top = heap_.back();
    const std::int64_t count = state(top.pair.first, top.pair.second).count;
    if (count != top.count && count > 0) {
      top.count = count;
      std::push_heap(heap_.begin(), heap_.end(), below);
      continue;
    }
    const Candidate found = top;
    heap_.pop_back();
    if (count > 0) return found;
    lists_[found.places] = {};
    free_lists_.push_back(found.places);
  }
  return std::nullopt;
}

void MergeLearner::merge_in_word(std::uint32_t index, Pair pair, std::int32_t result) {
  Word& word = words_[index];
  std::int32_t* ids = ids_.data() + word.begin;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < word.size; ++i) {
    if (ids[i] != pair.first || i + 1 >= word.size || ids[i + 1] != pair.second) {
      ids[kept++] = ids[i];
      continue;
    }
    if (kept > 0) {
      lose(ids[kept - 1], pair.first, word.count);
      gain(ids[kept - 1], result, word.count, index);
    }
    if (i + 2 < word.size) {
      lose(pair.second, ids[i + 2], word.count);
      gain(result, ids[i + 2], word.count, index);
    }
    ids[kept++] = result;
    ++i;
  }
  word.size = kept;
}

void MergeLearner::merge(const Candidate& candidate, std::int32_t result) {
  const std::vector<std::uint32_t> places = std::move(lists_[candidate.places]);
  lists_[candidate.places] = {};
  free_lists_.push_back(candidate.places);
  for (const std::uint32_t word : places) merge_in_word(word, candidate.pair, result);
  queue_gained();
}

}  // namespace bora::tokenize

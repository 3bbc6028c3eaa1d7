// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/vocabulary.h"
#include "bora/tokenize/train/merge_learner.h"

namespace bora::tokenize {

/// What BPE training grows: ids from 0 on, and the merges in the order of their ranks.
struct GrownVocabulary {
  Vocabulary vocabulary;
  std::vector<MergeLearner::Pair> merges;
};

/// When to stop, and how tokens are spelled.
struct MergeRules {
  std::int64_t vocab_size = 0;
  std::int64_t min_frequency = 0;
  std::string_view continuing_prefix;  ///< of every unit but a word's first; a merge drops the right one's
  std::int32_t reserved = 0;           ///< ids below are never the result of a merge
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< may be empty
};

/// Merges the words in `learner`, most frequent pair first. Returns why it stopped early, or nothing.
std::string learn_merges(GrownVocabulary& grown, MergeLearner& learner, const MergeRules& rules);

/// "the text gave 259 of 2,000 tokens: WHY\nhint: ..."
std::string short_of_tokens(std::int64_t have, std::int64_t wanted, std::string_view why);

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/bpe_trainer_merges.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/text.h"

namespace bora::tokenize {

namespace {

constexpr std::int64_t kProgressEvery = 8;  // merges

std::string joined(const Vocabulary& vocabulary, MergeLearner::Pair pair, std::string_view prefix) {
  std::string_view right = vocabulary.text(pair.second);
  if (!prefix.empty() && right.starts_with(prefix)) right.remove_prefix(prefix.size());
  std::string text(vocabulary.text(pair.first));
  return text += right;
}

}  // namespace

std::string short_of_tokens(std::int64_t have, std::int64_t wanted, std::string_view why) {
  return fmt::format("the text gave {} of {} tokens: {}\nhint: more text, or a smaller vocabulary",
                     with_commas(have), with_commas(wanted), why);
}

std::string learn_merges(GrownVocabulary& grown, MergeLearner& learner, const MergeRules& rules) {
  Vocabulary& vocabulary = grown.vocabulary;
  const std::int64_t start = vocabulary.size();
  const auto report = [&] {
    if (rules.progress) rules.progress(vocabulary.size() - start, rules.vocab_size - start);
  };
  while (vocabulary.size() < rules.vocab_size) {
    const auto best = learner.next();
    if (!best || best->count < rules.min_frequency) {
      report();
      return short_of_tokens(vocabulary.size(), rules.vocab_size,
                             fmt::format("no other pair occurs {} times",
                                         with_commas(std::max<std::int64_t>(rules.min_frequency, 1))));
    }
    const std::string text = joined(vocabulary, best->pair, rules.continuing_prefix);
    auto id = vocabulary.find(text);  // two merges may lead to one token
    if (id && *id < rules.reserved) continue;
    if (!id) {
      id = static_cast<std::int32_t>(vocabulary.size());
      vocabulary.add(text, *id);
    }
    grown.merges.push_back(best->pair);
    learner.merge(*best, *id);
    if (grown.merges.size() % kProgressEvery == 0) report();
  }
  report();
  return {};
}

}  // namespace bora::tokenize

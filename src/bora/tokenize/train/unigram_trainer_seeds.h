// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bora/tokenize/train/tokenizer_trainer_alphabet.h"
#include "bora/tokenize/train/word_counts.h"

namespace bora::tokenize {

/// A candidate for a vocabulary, and how often it occurs times its characters.
struct SeedPiece {
  std::string text;
  double weight = 0;
  bool required = false;  ///< one of the alphabet
};

struct SeedRules {
  static constexpr std::size_t kLongest = 16;  ///< characters in a piece, as in SentencePiece
  std::size_t most = 1'000'000;                ///< substrings, the heaviest first
  std::int64_t min_frequency = 2;
  std::set<std::string> excluded;
};

/// The characters of the alphabet, then the substrings of `words` that are worth a try: those that occur
/// min_frequency times and are followed by different characters, from a suffix array, and whole words. Words
/// have characters of the alphabet alone, at most 2^32 in all. Errors: InvalidArgument for more.
std::vector<SeedPiece> seed_pieces(const std::vector<WordCounts::Word>& words, const Alphabet& alphabet,
                                   const SeedRules& rules);

}  // namespace bora::tokenize

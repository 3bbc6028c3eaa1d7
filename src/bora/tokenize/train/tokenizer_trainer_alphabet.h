// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/train/word_counts.h"

namespace bora::tokenize {

/// The characters that a vocabulary has tokens for, and what to make of the others.
class Alphabet {
 public:
  Alphabet() = default;
  /// The most frequent characters of `words` until they make up `coverage` of them all; of equally frequent
  /// ones the smaller code point.
  Alphabet(const std::vector<WordCounts::Word>& words, double coverage);

  /// Sorted.
  const std::vector<char32_t>& characters() const { return characters_; }
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// Position in characters(), or -1.
  std::int32_t index(char32_t c) const {
    return c < index_.size() ? index_[static_cast<std::size_t>(c)] : std::int32_t{-1};
  }
  void add(char32_t c);

  /// The parts of a word between characters that are not in the alphabet.
  void each_part(std::string_view word, const std::function<void(std::string_view)>& visit) const;

 private:
  void renumber();
  std::vector<char32_t> characters_;
  std::vector<std::int32_t> index_;  // by code point
};

/// "<0x0A>"
std::string byte_name(int byte);

}  // namespace bora::tokenize

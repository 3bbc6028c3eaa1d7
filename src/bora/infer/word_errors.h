// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The word error rate: how far what was heard is from what was said.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::infer {

struct WordErrors {
  std::int64_t hits = 0, substitutions = 0, deletions = 0, insertions = 0;  ///< words

  std::int64_t reference_words() const { return hits + substitutions + deletions; }
  std::int64_t errors() const { return substitutions + deletions + insertions; }
  /// errors / words of the reference; of a reference without words the number of insertions, as in jiwer. Above 1
  /// where much was heard that was not said.
  double rate() const;
  WordErrors& operator+=(const WordErrors& other);
  bool operator==(const WordErrors&) const = default;
};

/// The words of a text as jiwer's default transforms make them: spaces in a row (as Python has them) become one,
/// those at both ends go, words are what stands between the spaces left. Case and punctuation count.
std::vector<std::string> words_of(std::string_view text);

/// Of the fewest edits that make the reference the hypothesis. Of several ways, that of jiwer 4 (rapidfuzz): what
/// both begin and end with is left alone, and from the end on a deletion goes before an insertion, and that before
/// a substitution.
WordErrors word_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace bora::infer

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/tokenizer_trainer_alphabet.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/unicode/unicode.h"

namespace bora::tokenize {

Alphabet::Alphabet(const std::vector<WordCounts::Word>& words, double coverage) {
  std::vector<std::int64_t> counts(kCodePoints, 0);
  std::int64_t total = 0;
  for (const auto& word : words) {
    for (std::size_t i = 0; i < word.text.size();) {
      const CodePoint c = code_point_at(word.text.data() + i);
      counts[c.value] += word.count;
      total += word.count;
      i += c.length;
    }
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0) characters_.push_back(static_cast<char32_t>(c));
  }
  std::stable_sort(characters_.begin(), characters_.end(),
                   [&](char32_t a, char32_t b) { return counts[a] > counts[b]; });
  const double wanted = coverage * static_cast<double>(total);
  std::int64_t covered = 0;
  std::size_t kept = 0;
  while (kept < characters_.size() && (coverage >= 1 || static_cast<double>(covered) < wanted)) {
    covered += counts[characters_[kept++]];
  }
  characters_.resize(kept);
  renumber();
}

void Alphabet::renumber() {
  std::sort(characters_.begin(), characters_.end());
  index_.assign(characters_.empty() ? 0 : std::size_t{characters_.back()} + 1, -1);
  for (std::size_t i = 0; i < characters_.size(); ++i) index_[characters_[i]] = static_cast<std::int32_t>(i);
}

void Alphabet::add(char32_t c) {
  if (index(c) >= 0) return;
  characters_.push_back(c);
  renumber();
}

void Alphabet::each_part(std::string_view word, const std::function<void(std::string_view)>& visit) const {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < word.size();) {
    const CodePoint c = code_point_at(word.data() + i);
    if (index(c.value) < 0) {
      if (i > begin) visit(word.substr(begin, i - begin));
      begin = i + c.length;
    }
    i += c.length;
  }
  if (begin < word.size()) visit(word.substr(begin));
}

std::string byte_name(int byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace bora::tokenize

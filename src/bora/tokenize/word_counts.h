// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/bpe_trainer.h"

namespace bora::tokenize {

/// How often each word occurs. The words lie in one piece of memory.
class WordCounts {
 public:
  void add(std::string_view word, std::int64_t count = 1);
  void add(const WordCounts& other);

  struct Word {
    std::string_view text;
    std::int64_t count;
  };
  /// Sorted by bytes; the views live as long as this object is not changed.
  std::vector<Word> sorted() const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::int64_t count = 0;
  };
  std::string_view text(const Entry& e) const { return std::string_view(texts_).substr(e.begin, e.size); }
  void grow();

  std::string texts_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // 1 + index into entries_, 0 if free
};

/// The words (pre-tokens by GPT-2's pattern) of all documents, counted on `threads` threads.
WordCounts count_words(const DocumentSource& documents, int threads, std::int64_t& text_bytes);

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/train/bpe_trainer.h"

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

/// Adds the words of a part of a document; `begins`: of its first part. Called from several threads.
using WordSplitter = std::function<void(std::string_view part, bool begins, WordCounts& counts)>;

/// The words of all documents, counted on `threads` threads. Documents are cut only between a visible ASCII
/// character and a space, where no word may go on. `text_bytes` grows by their size.
WordCounts count_words(const DocumentSource& documents, const WordSplitter& split, int threads,
                       std::int64_t& text_bytes);

/// The pre-tokens of GPT-2's pattern.
void split_gpt2(std::string_view part, bool begins, WordCounts& counts);

}  // namespace bora::tokenize

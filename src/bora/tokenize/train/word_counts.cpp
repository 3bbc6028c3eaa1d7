// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/word_counts.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "bora/base/parallel.h"
#include "bora/tokenize/pretokenize/scanner.h"
#include "bora/unicode/pattern.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::size_t kBatch = std::size_t{8} << 20;    // text read before it is counted
constexpr std::size_t kChunk = std::size_t{128} << 10;  // text that one thread takes at a time

/// Where a chunk that should end near `wanted` may end: between something and a space no word goes on.
std::size_t chunk_end(std::string_view text, std::size_t wanted) {
  for (std::size_t i = wanted; i < text.size(); ++i) {
    const auto before = static_cast<unsigned char>(text[i - 1]);
    if (text[i] == ' ' && before > ' ' && before < 0x7F) return i;
  }
  return text.size();
}

/// One counter for each thread that is at work, whichever it is: counts are sums, so nothing depends on that.
class CounterPool {
 public:
  std::unique_ptr<WordCounts> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<WordCounts>();
    auto counts = std::move(free_.back());
    free_.pop_back();
    return counts;
  }
  void give(std::unique_ptr<WordCounts> counts) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(counts));
  }
  WordCounts sum() {
    WordCounts total;
    if (free_.empty()) return total;
    total = std::move(*free_.front());
    for (std::size_t i = 1; i < free_.size(); ++i) total.add(*free_[i]);
    return total;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCounts>> free_;
};

struct Chunk {
  std::size_t begin = 0, size = 0;
  bool begins = false;  // a document
};

void count_chunks(const std::string& text, const std::vector<Chunk>& chunks, const WordSplitter& split,
                  CounterPool& pool, int threads) {
  parallel_for(
      static_cast<std::int64_t>(chunks.size()),
      [&](std::int64_t i) {
        const Chunk& chunk = chunks[static_cast<std::size_t>(i)];
        auto counts = pool.take();
        split(std::string_view(text).substr(chunk.begin, chunk.size), chunk.begins, *counts);
        pool.give(std::move(counts));
      },
      threads);
}

}  // namespace

void WordCounts::grow() {
  slots_.assign(slots_.empty() ? 4096 : slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    std::size_t i = entries_[k].hash & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = static_cast<std::uint32_t>(k + 1);
  }
}

void WordCounts::add(std::string_view word, std::int64_t count) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = std::hash<std::string_view>{}(word);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    Entry& e = entries_[slots_[i] - 1];
    if (e.hash == hash && text(e) == word) {
      e.count += count;
      return;
    }
  }
  entries_.push_back({hash, texts_.size(), static_cast<std::uint32_t>(word.size()), count});
  slots_[i] = static_cast<std::uint32_t>(entries_.size());
  texts_ += word;
}

void WordCounts::add(const WordCounts& other) {
  for (const Entry& e : other.entries_) add(other.text(e), e.count);
}

std::vector<WordCounts::Word> WordCounts::sorted() const {
  std::vector<Word> words;
  words.reserve(entries_.size());
  for (const Entry& e : entries_) words.push_back({text(e), e.count});
  std::sort(words.begin(), words.end(), [](const Word& a, const Word& b) { return a.text < b.text; });
  return words;
}

WordCounts count_words(const DocumentSource& documents, const WordSplitter& split, int threads,
                       std::int64_t& text_bytes) {
  CounterPool pool;
  std::string batch, repaired;
  std::vector<Chunk> chunks;
  const auto flush = [&] {
    count_chunks(batch, chunks, split, pool, threads);
    batch.clear();
    chunks.clear();
  };
  while (auto document = documents()) {
    std::string_view text = *document;
    text_bytes += static_cast<std::int64_t>(text.size());
    if (!is_valid_utf8(text)) text = repaired = utf8_lossy(text);
    for (bool begins = true; !text.empty(); begins = false) {
      const std::size_t n = text.size() > kChunk ? chunk_end(text, kChunk) : text.size();
      chunks.push_back({batch.size(), n, begins});
      batch += text.substr(0, n);
      text.remove_prefix(n);
      if (batch.size() >= kBatch) flush();
    }
  }
  flush();
  return pool.sum();
}

void split_gpt2(std::string_view part, bool /*begins*/, WordCounts& counts) {
  scan_each(ScanRule{}, part,
            [&](const char* p, const char* q) { counts.add({p, static_cast<std::size_t>(q - p)}); });
}

}  // namespace bora::tokenize

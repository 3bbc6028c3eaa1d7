// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bora::tokenize {

/// The heart of BPE training: words as sequences of ids, the count of every pair in them, and where it
/// occurs. Pairs wait in a heap; a pair whose count has changed since is put back when it comes up.
///
/// Counts are those of the trainer of `tokenizers`: occurrences that a merge consumed stay counted for the
/// merged pair, which shows only when two different merges give the same token.
class MergeLearner {
 public:
  using Pair = std::pair<std::int32_t, std::int32_t>;

  void add_word(const std::vector<std::int32_t>& ids, std::int64_t count);
  /// After the last word.
  void start();

  struct Candidate {
    Pair pair;
    std::int64_t count = 0;
    std::uint32_t places = 0;  // index of its list of words
  };
  /// The pair of the highest count; of equals the smaller left id, then the smaller right id. Nothing if no
  /// pair occurs. It leaves the heap.
  std::optional<Candidate> next();
  /// Joins the pair wherever it stood when it was queued.
  void merge(const Candidate& candidate, std::int32_t result);

 private:
  struct PairState {
    std::uint64_t key = kFree;
    std::int64_t count = 0;
    std::int64_t step = -1;    // in which `places` was begun
    std::uint32_t places = 0;  // words that gained the pair in that step
  };
  struct Word {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::int64_t count = 0;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  std::size_t slot(std::uint64_t key) const;
  PairState& state(std::int32_t left, std::int32_t right);
  void lose(std::int32_t left, std::int32_t right, std::int64_t count);
  void gain(std::int32_t left, std::int32_t right, std::int64_t count, std::uint32_t word);
  void merge_in_word(std::uint32_t index, Pair pair, std::int32_t result);
  void queue_gained();
  std::uint32_t new_list();
  static bool below(const Candidate& a, const Candidate& b);

  std::vector<std::int32_t> ids_;  // of all words
  std::vector<Word> words_;
  std::vector<PairState> pairs_;  // open addressing
  std::size_t pair_count_ = 0;
  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> free_lists_;
  std::vector<Candidate> heap_;
  std::vector<Pair> gained_;  // in this step
  std::int64_t step_ = 0;
};

}  // namespace bora::tokenize

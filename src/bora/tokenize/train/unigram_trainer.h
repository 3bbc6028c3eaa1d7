// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bora/tokenize/train/unigram_trainer_lattice.h"
#include "bora/tokenize/train/unigram_trainer_seeds.h"
#include "bora/tokenize/train/word_counts.h"

namespace bora::tokenize {

/// Learns the pieces of a unigram language model (Kudo 2018, section 3.2; with SentencePiece's constants):
///
///   seeds                     frequent substrings, and all characters
///   while there are too many  two steps of EM: expected counts c, then scores digamma(c) - digamma(sum);
///   pieces
///                             with c < 0.5 leave. Then the fifth leaves whose loss the text feels least.
///   at last                   pruned to the size asked for, and scored once more
///
/// Unlike there, a substring counts as often as its words occur, words are seeds, and the last pruning is
/// followed by EM. Every sum is taken in an order that the threads do not change.
class UnigramTrainer {
 public:
  /// The words must live as long as this.
  UnigramTrainer(const std::vector<WordCounts::Word>& words, std::vector<SeedPiece> seeds, int threads);

  /// Down to `pieces`, the required ones included. `progress` may be empty.
  void train(std::size_t pieces, const std::function<void(std::int64_t done, std::int64_t total)>& progress);

  /// One step of EM. Returns the logarithm of the probability of all words under the scores before.
  /// `drop`: the pieces hardly expected leave.
  double step(bool drop);
  /// Keeps at most `pieces`. `drop`: also leave those that no best segmentation has, or whose parts are
  /// better than they.
  void prune(std::size_t pieces, bool drop);

  struct Piece {
    std::string text;
    double score;
  };
  /// Best first; of equal scores the smaller text.
  std::vector<Piece> pieces() const;
  std::size_t size() const { return model_.texts.size(); }

 private:
  std::vector<double> expected_counts(double& log_likelihood) const;
  std::vector<std::int64_t> best_counts() const;
  std::vector<double> losses(const std::vector<std::int64_t>& counts) const;
  void keep_only(const std::vector<bool>& kept);

  const std::vector<WordCounts::Word>& words_;
  std::vector<std::size_t> shard_ends_;  // of words_
  std::int64_t word_total_ = 0;
  UnigramModel model_;
  std::vector<bool> required_;
  int threads_;
};

/// The logarithmic derivative of the gamma function; x > 0.
double digamma(double x);

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/byte_trie.h"

namespace bora::tokenize {

/// Pieces and their scores, as training sees them. Every character of every text must be a piece.
struct UnigramModel {
  std::vector<std::string> texts;
  std::vector<double> scores;         ///< logarithms of probabilities
  std::vector<double> probabilities;  ///< exp(scores)
  ByteTrie trie;                      ///< of texts

  void set_scores(std::vector<double> logarithms);
  void index();  ///< after a change of texts
};

/// All segmentations of a text; scratch memory that is used again and again.
class UnigramLattice {
 public:
  /// Adds, to each piece, `count` times its expected number in a segmentation drawn by probability
  /// (forward-backward). Returns the logarithm of the text's probability, times count.
  double add_expected(const UnigramModel& model, std::string_view text, double count,
                      std::vector<double>& expected);

  /// The pieces of the most probable segmentation, last one first, and its score. Without piece `excluded`.
  double best(const UnigramModel& model, std::string_view text, std::vector<std::int32_t>& reversed,
              std::int32_t excluded = -1);

 private:
  struct Edge {
    std::uint32_t end;
    std::int32_t piece;
  };
  struct Node {
    std::uint32_t begin;       // byte of the text
    std::uint32_t first_edge;  // of those that start here
    int shift;
  };
  struct Best {
    double score;
    std::uint32_t begin;
    std::int32_t piece;
  };
  int forward(const UnigramModel& model, std::string_view text);

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<double> before_, behind_;  // by byte
  std::vector<Best> best_;
};

}  // namespace bora::tokenize

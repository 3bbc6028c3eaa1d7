// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/unigram_trainer_lattice.h"

#include <algorithm>
#include <cmath>

#include "bora/tokenize/train/unigram_trainer_seeds.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

// Probabilities of long texts fall below what a double holds. Where one does, all that are still to be used
// grow by a power of two, which rounds nothing; a shift counts those.
constexpr double kTiny = 0x1p-300, kGrow = 0x1p600;
constexpr int kGrowExponent = 600;
constexpr double kLogGrow = 600 * 0.693147180559945309417232121458;
constexpr std::size_t kReach = 4 * SeedRules::kLongest;  // bytes of the longest piece

}  // namespace

void UnigramModel::set_scores(std::vector<double> logarithms) {
  scores = std::move(logarithms);
  probabilities.resize(scores.size());
  std::transform(scores.begin(), scores.end(), probabilities.begin(), [](double s) { return std::exp(s); });
}

void UnigramModel::index() {
  std::vector<ByteTrie::Key> keys;
  keys.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) keys.emplace_back(texts[i], static_cast<std::int32_t>(i));
  trie = ByteTrie(std::move(keys));
}

/// before_[i]: the probability of the first i bytes, in the unit of the node at i. Returns the last unit.
int UnigramLattice::forward(const UnigramModel& model, std::string_view text) {
  nodes_.clear();
  edges_.clear();
  before_.assign(text.size() + 1, 0);
  before_[0] = 1;
  int shift = 0;
  const auto grow = [&](std::size_t at) {
    for (; before_[at] < kTiny && before_[at] > 0; ++shift) {
      const std::size_t end = std::min(text.size(), at + kReach);
      for (std::size_t i = at; i <= end; ++i) before_[i] *= kGrow;
    }
  };
  for (std::size_t begin = 0; begin < text.size(); begin += utf8_length(text[begin])) {
    grow(begin);
    nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(edges_.size()), shift});
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t end = begin; end < text.size() && model.trie.step(node, text[end]);) {
      ++end;
      const std::int32_t piece = model.trie.value(node);
      if (piece < 0) continue;
      edges_.push_back({static_cast<std::uint32_t>(end), piece});
      before_[end] += before_[begin] * model.probabilities[static_cast<std::size_t>(piece)];
    }
  }
  grow(text.size());
  return shift;
}

double UnigramLattice::add_expected(const UnigramModel& model, std::string_view text, double count,
                                    std::vector<double>& expected) {
  const int last = forward(model, text);
  const double whole = before_[text.size()];
  behind_.assign(text.size() + 1, 0);
  behind_[text.size()] = 1;
  int shift = 0;
  auto edges_end = static_cast<std::uint32_t>(edges_.size());
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    double sum = 0;
    for (std::uint32_t e = node->first_edge; e < edges_end; ++e)
      sum += model.probabilities[static_cast<std::size_t>(edges_[e].piece)] * behind_[edges_[e].end];
    behind_[node->begin] = sum;
    for (; behind_[node->begin] < kTiny && behind_[node->begin] > 0; ++shift) {
      const std::size_t end = std::min(text.size(), node->begin + kReach);
      for (std::size_t i = node->begin; i <= end; ++i) behind_[i] *= kGrow;
    }
    const double here =
        count * std::ldexp(before_[node->begin] / whole, kGrowExponent * (last - node->shift - shift));
    for (std::uint32_t e = node->first_edge; e < edges_end; ++e) {
      const auto piece = static_cast<std::size_t>(edges_[e].piece);
      expected[piece] += here * model.probabilities[piece] * behind_[edges_[e].end];
    }
    edges_end = node->first_edge;
  }
  return count * (std::log(whole) - kLogGrow * last);
}

double UnigramLattice::best(const UnigramModel& model, std::string_view text,
                            std::vector<std::int32_t>& reversed, std::int32_t excluded) {
  best_.assign(text.size() + 1, {0, 0, -1});
  for (std::size_t begin = 0; begin < text.size(); begin += utf8_length(text[begin])) {
    if (begin > 0 && best_[begin].piece < 0) continue;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t end = begin; end < text.size() && model.trie.step(node, text[end]);) {
      ++end;
      const std::int32_t piece = model.trie.value(node);
      if (piece < 0 || piece == excluded) continue;
      const double score = best_[begin].score + model.scores[static_cast<std::size_t>(piece)];
      Best& at = best_[end];
      if (at.piece < 0 || score > at.score) at = {score, static_cast<std::uint32_t>(begin), piece};
    }
  }
  reversed.clear();
  for (auto end = static_cast<std::uint32_t>(text.size()); end > 0; end = best_[end].begin)
    reversed.push_back(best_[end].piece);
  return best_[text.size()].score;
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "bora/base/parallel.h"
#include "bora/tokenize/train/unigram_trainer.h"

namespace bora::tokenize {

namespace {

constexpr std::size_t kShards = 16;   // of the words; each has its own sums
constexpr std::size_t kBlock = 1024;  // pieces
constexpr double kLeast = 0.5;        // expected count
constexpr int kSteps = 2;             // of EM between prunings
constexpr double kSlack = 1.1;        // size before the last pruning
constexpr double kKept = 0.8;
constexpr double kUseless = -std::numeric_limits<double>::infinity();

}  // namespace

double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  // Abramowitz and Stegun 6.3.18, about x - 1/2, where the odd powers vanish.
  x -= 0.5;
  const double y = 1 / (x * x);
  return result + std::log(x) + y * (1.0 / 24 - y * (7.0 / 960 - y * (31.0 / 8064 - y * 127.0 / 30720)));
}

UnigramTrainer::UnigramTrainer(const std::vector<WordCounts::Word>& words, std::vector<SeedPiece> seeds,
                               int threads)
    : words_(words), threads_(threads) {
  std::size_t bytes = 0, so_far = 0;
  for (const auto& word : words) {
    bytes += word.text.size();
    word_total_ += word.count;
  }
  for (std::size_t w = 0; w < words.size(); ++w) {
    so_far += words[w].text.size();
    if (so_far * kShards >= bytes * (shard_ends_.size() + 1)) shard_ends_.push_back(w + 1);
  }
  double sum = 0;
  for (const SeedPiece& seed : seeds) sum += seed.weight;
  std::vector<double> scores;
  for (SeedPiece& seed : seeds) {
    model_.texts.push_back(std::move(seed.text));
    scores.push_back(std::log(seed.weight) - std::log(sum));
    required_.push_back(seed.required);
  }
  model_.set_scores(std::move(scores));
  model_.index();
}

std::vector<double> UnigramTrainer::expected_counts(double& log_likelihood) const {
  const std::size_t shards = shard_ends_.size();
  std::vector<std::vector<double>> parts(shards);
  std::vector<double> logs(shards, 0);
  parallel_for(
      static_cast<std::int64_t>(shards),
      [&](std::int64_t s) {
        const auto shard = static_cast<std::size_t>(s);
        parts[shard].assign(size(), 0);
        UnigramLattice lattice;
        for (std::size_t w = shard == 0 ? 0 : shard_ends_[shard - 1]; w < shard_ends_[shard]; ++w) {
          logs[shard] += lattice.add_expected(model_, words_[w].text, static_cast<double>(words_[w].count),
                                              parts[shard]);
        }
      },
      threads_);
  std::vector<double> sum(size(), 0);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  log_likelihood = std::accumulate(logs.begin(), logs.end(), 0.0);
  return sum;
}

double UnigramTrainer::step(bool drop) {
  double log_likelihood = 0;
  std::vector<double> expected = expected_counts(log_likelihood);
  if (drop) {
    std::vector<bool> kept(size());
    std::vector<double> of_kept;
    for (std::size_t i = 0; i < size(); ++i) {
      kept[i] = required_[i] || expected[i] >= kLeast;
      if (kept[i]) of_kept.push_back(expected[i]);
    }
    keep_only(kept);
    expected = std::move(of_kept);
  }
  for (double& e : expected) e = std::max(e, kLeast);
  const double all = digamma(std::accumulate(expected.begin(), expected.end(), 0.0));
  for (double& e : expected) e = digamma(e) - all;
  model_.set_scores(std::move(expected));
  return log_likelihood;
}

std::vector<std::int64_t> UnigramTrainer::best_counts() const {
  const std::size_t shards = shard_ends_.size();
  std::vector<std::vector<std::int64_t>> parts(shards);
  parallel_for(
      static_cast<std::int64_t>(shards),
      [&](std::int64_t s) {
        const auto shard = static_cast<std::size_t>(s);
        parts[shard].assign(size(), 0);
        UnigramLattice lattice;
        std::vector<std::int32_t> pieces;
        for (std::size_t w = shard == 0 ? 0 : shard_ends_[shard - 1]; w < shard_ends_[shard]; ++w) {
          lattice.best(model_, words_[w].text, pieces);
          for (const std::int32_t p : pieces) parts[shard][static_cast<std::size_t>(p)] += words_[w].count;
        }
      },
      threads_);
  std::vector<std::int64_t> sum(size(), 0);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

/// How much less probable the text would be without each piece, if every place where its best segmentation
/// has the piece took the next best one.
std::vector<double> UnigramTrainer::losses(const std::vector<std::int64_t>& counts) const {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> losses(size(), kUseless);
  const auto loss = [&](std::size_t i, UnigramLattice& lattice, std::vector<std::int32_t>& parts) {
    if (required_[i] || counts[i] == 0) return kUseless;
    const auto count = static_cast<double>(counts[i]);
    if (lattice.best(model_, model_.texts[i], parts, static_cast<std::int32_t>(i)) > model_.scores[i])
      return kUseless;
    double log_parts = 0;
    for (const std::int32_t p : parts)
      log_parts += std::log(static_cast<double>(counts[static_cast<std::size_t>(p)]) + count);
    const auto more = static_cast<double>(parts.size() - 1);
    log_parts -= static_cast<double>(parts.size()) * std::log(total + count * more);
    return count / static_cast<double>(word_total_) * (std::log(count) - std::log(total) - log_parts);
  };
  parallel_for(
      static_cast<std::int64_t>((size() + kBlock - 1) / kBlock),
      [&](std::int64_t block) {
        UnigramLattice lattice;
        std::vector<std::int32_t> parts;
        const std::size_t begin = static_cast<std::size_t>(block) * kBlock;
        for (std::size_t i = begin; i < std::min(begin + kBlock, size()); ++i)
          losses[i] = loss(i, lattice, parts);
      },
      threads_);
  return losses;
}

void UnigramTrainer::prune(std::size_t pieces, bool drop) {
  const std::vector<double> losses = this->losses(best_counts());
  std::vector<std::size_t> order;
  std::vector<bool> kept(size(), false);
  std::size_t left = pieces;
  for (std::size_t i = 0; i < size(); ++i) {
    if (required_[i]) {
      kept[i] = true;
      left -= left > 0 ? 1 : 0;
    } else if (!drop || losses[i] != kUseless) {
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (losses[a] != losses[b]) return losses[a] > losses[b];
    return model_.scores[a] != model_.scores[b] ? model_.scores[a] > model_.scores[b]
                                                : model_.texts[a] < model_.texts[b];
  });
  for (std::size_t k = 0; k < std::min(left, order.size()); ++k) kept[order[k]] = true;
  keep_only(kept);
}

void UnigramTrainer::keep_only(const std::vector<bool>& kept) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    if (n != i) model_.texts[n] = std::move(model_.texts[i]);
    model_.scores[n] = model_.scores[i];
    required_[n++] = required_[i];
  }
  if (n == kept.size()) return;
  model_.texts.resize(n);
  model_.scores.resize(n);
  required_.resize(n);
  model_.set_scores(std::move(model_.scores));
  model_.index();
}

void UnigramTrainer::train(std::size_t pieces,
                           const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  const std::size_t seeds = size();
  const auto report = [&] {
    if (progress && seeds > pieces) {
      progress(static_cast<std::int64_t>(seeds - std::clamp(size(), pieces, seeds)),
               static_cast<std::int64_t>(seeds - pieces));
    }
  };
  const auto soon = static_cast<std::size_t>(kSlack * static_cast<double>(pieces));
  for (;;) {
    for (int i = 0; i < kSteps; ++i) step(true);
    report();
    if (size() <= soon) break;
    const auto share = static_cast<std::size_t>(kKept * static_cast<double>(size()));
    prune(std::max(share, soon), true);
  }
  if (size() > pieces) prune(pieces, false);
  for (int i = 0; i < kSteps; ++i) step(false);
  report();
}

std::vector<UnigramTrainer::Piece> UnigramTrainer::pieces() const {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < size(); ++i) out.push_back({model_.texts[i], model_.scores[i]});
  std::sort(out.begin(), out.end(), [](const Piece& a, const Piece& b) {
    return a.score != b.score ? a.score > b.score : a.text < b.text;
  });
  return out;
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What must hold for any input, tried on random ones that shrink to a small example where it does not.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "bora/data/epochs.h"
#include "bora/data/loader.h"
#include "bora/data/mixture.h"
#include "bora/data/packing.h"
#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

/// The same random inputs in every run.
template <class Property>
void holds(Property&& property, int cases = 200) {
  rc::detail::TestParams params;
  params.seed = 20260119;
  params.maxSuccess = cases;
  rc::detail::TestListenerAdapter quiet;
  const auto result =
      rc::detail::checkTestable(std::forward<Property>(property), rc::detail::TestMetadata{}, params, quiet,
                                std::unordered_map<std::string, rc::detail::Reproduce>{});
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str();
}

std::int64_t between(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

Shuffle any_shuffle() {
  const auto era = between(1, 40), block = between(1, 20), window = between(1, 6);
  const Shuffle kinds[] = {{"none", NoShuffle()},
                           {"full", FullShuffle()},
                           {"era", EraShuffle(era)},
                           {"block", BlockShuffle(block, window)}};
  Shuffle shuffle = kinds[between(0, 3)];
  shuffle.permutation = between(0, 1) == 0 ? "feistel" : "linear";
  return shuffle;
}

Key any_key() { return Key::from_seed(static_cast<std::uint64_t>(between(0, 1 << 20))); }

std::vector<std::int64_t> values_of(const Permutation& p) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < p.size(); ++i) out.push_back(p(i));
  return out;
}

TEST(Properties, PermutationsAreBijectiveAndDeterministic) {
  holds([] {
    const Shuffle shuffle = any_shuffle();
    const std::int64_t n = between(1, 500);
    const Key key = any_key();
    auto order = values_of(*make_permutation(shuffle, n, key));
    RC_ASSERT(order == values_of(*make_permutation(shuffle, n, key)));
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < n; ++i) RC_ASSERT(order[static_cast<std::size_t>(i)] == i);
  });
}

TEST(Properties, EpochsDifferAndHoldEverythingOnce) {
  holds([] {
    const std::int64_t n = between(20, 200);
    const auto dataset = endless(counting(n), {"full", FullShuffle()}, any_key());
    std::set<std::vector<std::int32_t>> orders;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      std::vector<std::int32_t> order;
      for (std::int64_t i = 0; i < n; ++i) {
        OneRow row(4);
        dataset->read(epoch * n + i, row.row());
        order.push_back(row.tokens[0]);
      }
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (std::int64_t i = 0; i < n; ++i) RC_ASSERT(order[static_cast<std::size_t>(i)] == i);
    }
    RC_ASSERT(orders.size() == 4u);
  });
}

struct AnyMixture {
  std::vector<Mixture::Source> sources;
  std::vector<MixtureStage> stages;
  std::int64_t block = 1;
  Key key;
};

/// Every source has a weight that gives it some of each block.
AnyMixture any_mixture() {
  AnyMixture out;
  const auto n = static_cast<std::size_t>(between(1, 4));
  out.block = between(8, 60);
  out.key = any_key();
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t size = between(1, 120);
    out.sources.push_back({fmt::format("s{}", i), counting(size), size * between(1, 2)});
  }
  std::int64_t start = 0;
  for (std::int64_t stage = between(1, 3); stage > 0; --stage) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < n; ++i) weights.push_back(static_cast<double>(between(2, 4)));
    out.stages.push_back({start, weights});
    start += out.block * between(1, 4);
  }
  return out;
}

TEST(Properties, MixturesMeetTheirWeightsInEveryBlockAndVisitAll) {
  holds([] {
    const AnyMixture any = any_mixture();
    const Mixture mixture(any.sources, any.stages, any.block, any.key);
    std::map<std::int32_t, std::set<std::int64_t>> seen;
    for (std::int64_t block = 0; block < 12; ++block) {
      std::vector<std::int64_t> counts(any.sources.size());
      for (std::int64_t i = block * any.block; i < (block + 1) * any.block; ++i) {
        const auto place = mixture.locate(i);
        ++counts[static_cast<std::size_t>(place.source)];
        RC_ASSERT(seen[place.source].insert(place.index).second);
      }
      RC_ASSERT(counts == mixture.counts(block * any.block));
      for (std::size_t s = 0; s < counts.size(); ++s) {
        const double wanted = mixture.weights(block * any.block)[s] * static_cast<double>(any.block);
        RC_ASSERT(static_cast<double>(counts[s]) > wanted - 1);
      }
    }
    for (const auto& [source, indices] : seen) {
      RC_ASSERT(*indices.begin() == 0);
      RC_ASSERT(*indices.rbegin() + 1 == static_cast<std::int64_t>(indices.size()));
    }
  });
}

/// How many sequences of each source a mixture that ends gives; nothing is given twice or left out between.
std::vector<std::int64_t> shares_of(const Mixture& mixture) {
  std::map<std::int32_t, std::set<std::int64_t>> seen;
  for (std::int64_t i = 0; i < mixture.size(); ++i) {
    const auto place = mixture.locate(i);
    RC_ASSERT(seen[place.source].insert(place.index).second);
  }
  std::vector<std::int64_t> given(mixture.sources().size());
  for (const auto& [source, indices] : seen) {
    RC_ASSERT(*indices.rbegin() + 1 == static_cast<std::int64_t>(indices.size()));
    given[static_cast<std::size_t>(source)] = *indices.rbegin() + 1;
  }
  return given;
}

TEST(Properties, EveryPassIsCompleteBeforeTheNext) {
  holds([] {
    AnyMixture any = any_mixture();
    std::vector<std::int64_t> sizes;
    for (auto& source : any.sources) {
      sizes.push_back(source.dataset->size());
      source.dataset = endless(source.dataset, any_shuffle(), any_key());
    }
    const auto strategy = static_cast<StopStrategy>(between(0, 2));
    const Mixture mixture(any.sources, any.stages, any.block, any.key, strategy);
    std::vector<std::map<std::int32_t, std::int64_t>> seen(sizes.size());
    std::vector<std::int64_t> read(sizes.size());
    for (std::int64_t i = 0; i < std::min<std::int64_t>(mixture.size(), 700); ++i) {
      OneRow row(4);
      const auto s = static_cast<std::size_t>(mixture.read(i, row.row()));
      RC_ASSERT(seen[s][row.tokens[0]]++ == read[s]++ / sizes[s]);
    }
  });
}

TEST(Properties, MixturesEndWhenTheFirstIsExhausted) {
  holds([] {
    const AnyMixture any = any_mixture();
    const Mixture mixture(any.sources, any.stages, any.block, any.key, StopStrategy::FirstExhausted);
    const auto given = shares_of(mixture);
    bool one = false;
    for (std::size_t s = 0; s < given.size(); ++s) {
      RC_ASSERT(given[s] <= any.sources[s].limit);
      one |= given[s] == any.sources[s].limit;
    }
    RC_ASSERT(one);
  });
}

TEST(Properties, MixturesEndWhenAllAreExhausted) {
  holds([] {
    const AnyMixture any = any_mixture();
    const Mixture mixture(any.sources, any.stages, any.block, any.key, StopStrategy::AllExhausted);
    const auto given = shares_of(mixture);
    bool one = false;
    for (std::size_t s = 0; s < given.size(); ++s) {
      RC_ASSERT(given[s] >= any.sources[s].limit);
      one |= given[s] == any.sources[s].limit;
    }
    RC_ASSERT(one);
  });
}

TEST(Properties, PackingLosesNothingAndDoublesNothing) {
  holds(
      [](const std::vector<std::uint8_t>& drawn) {
        std::vector<std::int64_t> lengths(drawn.begin(), drawn.end());
        const PackRules rules{between(10, 300), between(1, 8), static_cast<Overlong>(between(0, 3))};
        if (rules.overlong == Overlong::Raise) {
          for (auto& n : lengths) n = std::min(n, rules.seq_len);
        }
        const auto packs = pack_greedily(lengths, rules);
        std::int64_t next = 0, tokens = 0, held = 0;
        for (const auto& pack : packs) {
          RC_ASSERT(pack.begin == next && pack.end > pack.begin);
          std::int64_t filled = 0, segments = 0;
          for (next = pack.begin; next < pack.end; ++next) {
            const std::int64_t n = lengths[static_cast<std::size_t>(next)];
            const std::int64_t taken = n <= rules.seq_len                 ? n
                                       : rules.overlong == Overlong::Drop ? 0
                                                                          : rules.seq_len;
            filled += taken;
            segments += taken > 0;
          }
          RC_ASSERT(filled > 0 && filled <= rules.seq_len && segments <= rules.max_segments);
          held += filled;
        }
        GreedyPacker packer(rules);
        for (const auto n : lengths) packer.add(n);
        tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
        RC_ASSERT(held + packer.lost_tokens() == tokens);
        if (held > 0) RC_ASSERT(next == static_cast<std::int64_t>(lengths.size()));
      },
      500);
}

TEST(Properties, IteratingFromAStepEqualsTheTail) {
  holds(
      [] {
        const AnyMixture any = any_mixture();
        const auto strategy = static_cast<StopStrategy>(between(0, 2));
        const auto mixture = std::make_shared<Mixture>(any.sources, any.stages, any.block, any.key, strategy);
        const BatchSchedule schedule({{0, between(1, 9)}, {3, between(1, 9)}});
        const Loader loader(mixture, schedule);
        const std::int64_t steps = std::min<std::int64_t>(12, loader.num_steps());
        std::vector<Batch> all;
        for (std::int64_t step = 0; step < steps; ++step) all.push_back(loader.batch(step));
        const Loader again(mixture, schedule);
        for (std::int64_t step = between(0, steps - 1); step < steps; ++step)
          RC_ASSERT(again.batch(step) == all[static_cast<std::size_t>(step)]);
      },
      50);
}

}  // namespace
}  // namespace bora::data

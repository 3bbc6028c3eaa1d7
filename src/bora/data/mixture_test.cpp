// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/mixture.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bora/base/error.h"
#include "bora/data/epochs.h"
#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

const Key kMixtureKey = Key::from_seed(17);

std::vector<Mixture::Source> sources(const std::vector<std::int64_t>& sizes) {
  std::vector<Mixture::Source> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) out.push_back({fmt::format("s{}", i), counting(sizes[i])});
  return out;
}

TEST(Mixture, WeightsHoldInEveryBlock) {
  for (const std::int64_t block : {10, 100, 2048}) {
    const Mixture mixture(sources({1000, 50, 7}), {{0, {0.6, 0.3, 0.1}}}, block, kMixtureKey);
    std::int64_t expected[3] = {0, static_cast<std::int64_t>(0.3 * static_cast<double>(block)),
                                static_cast<std::int64_t>(0.1 * static_cast<double>(block))};
    expected[0] = block - expected[1] - expected[2];
    for (std::int64_t b = 0; b < 5; ++b) {
      std::int64_t counts[3] = {};
      for (std::int64_t i = 0; i < block; ++i) ++counts[mixture.locate(b * block + i).source];
      for (int s = 0; s < 3; ++s) EXPECT_EQ(counts[s], expected[s]) << block << " " << b << " " << s;
    }
  }
}

TEST(Mixture, VisitsEachSourceInOrderAndCompletely) {
  const Mixture mixture(sources({500, 300}), {{0, {0.7, 0.3}}, {40, {0.2, 0.8}}, {80, {1, 0}}}, 20,
                        kMixtureKey);
  std::map<std::int32_t, std::set<std::int64_t>> seen;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const auto place = mixture.locate(i);
    EXPECT_TRUE(seen[place.source].insert(place.index).second) << "twice: " << i;
  }
  for (const auto& [source, indices] : seen) {
    EXPECT_EQ(*indices.begin(), 0);
    EXPECT_EQ(*indices.rbegin() + 1, static_cast<std::int64_t>(indices.size()))
        << "nothing left out of " << source;
  }
  EXPECT_EQ(seen[1].size(), 2u * 6 + 2u * 16);
}

TEST(Mixture, StagesChangeTheWeights) {
  const Mixture mixture(sources({9, 9}), {{0, {3, 1}}, {40, {0, 2}}}, 20, kMixtureKey);
  EXPECT_EQ(mixture.counts(0), (std::vector<std::int64_t>{15, 5}));
  EXPECT_EQ(mixture.counts(39), (std::vector<std::int64_t>{15, 5}));
  EXPECT_EQ(mixture.counts(40), (std::vector<std::int64_t>{0, 20}));
  EXPECT_EQ(mixture.weights(0), (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(mixture.stage_number(39), 0);
  EXPECT_EQ(mixture.stage_number(1000), 1);
}

TEST(Mixture, SourcesWrapAround) {
  const Mixture mixture(sources({3, 50}), {{0, {0.5, 0.5}}}, 10, kMixtureKey);
  std::map<std::int32_t, std::multiset<std::int32_t>> seen;
  for (std::int64_t i = 0; i < 60; ++i) {
    OneRow row(4);
    const auto source = mixture.read(i, row.row());
    seen[source].insert(row.tokens[0]);
  }
  for (std::int32_t x : {0, 1, 2}) EXPECT_EQ(seen[0].count(x), 10u);
  EXPECT_EQ(std::set<std::int32_t>(seen[1].begin(), seen[1].end()).size(), 30u);
}

/// The first tokens of sequences [0, n).
std::vector<std::int32_t> read_all(const Dataset& dataset, std::int64_t n) {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < n; ++i) {
    OneRow row(4);
    dataset.read(i, row.row());
    out.push_back(row.tokens[0]);
  }
  return out;
}

TEST(Mixture, OneSourceIsReadAsIfThereWereNoMixture) {
  for (const Shuffle& shuffle : {Shuffle{"none", NoShuffle()}, Shuffle{"full", FullShuffle()}}) {
    const auto alone = endless(counting(10), shuffle, kMixtureKey);
    const Mixture mixture({{"s", alone}}, {{0, {1}}, {64, {2}}}, 16, kMixtureKey);
    EXPECT_EQ(read_all(mixture, 100), read_all(*alone, 100));
  }
  const Mixture two({{"a", counting(3)}, {"b", counting(3)}}, {{0, {1, 0}}}, 5, kMixtureKey);
  EXPECT_EQ(read_all(two, 7), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0})) << "one that has a weight";
}

TEST(Mixture, EachSourceIsReadInItsOwnOrder) {
  const Mixture mixture(sources({500, 7}), {{0, {0.7, 0.3}}, {40, {0.2, 0.8}}, {80, {1, 0}}}, 20,
                        kMixtureKey);
  std::vector<std::int64_t> next(2);
  for (std::int64_t i = 0; i < 2000; ++i) {
    const auto place = mixture.locate(i);
    EXPECT_EQ(place.index, next[static_cast<std::size_t>(place.source)]++) << i;
  }
}

TEST(Mixture, EarlierRunsKeepTheirOrder) {
  const auto present =
      std::make_shared<Mixture>(sources({1000, 50}), std::vector<MixtureStage>{{0, {3, 1}}}, 16, kMixtureKey);
  EXPECT_EQ(present->order(), DataOrder::ByPasses);
  const auto earlier = present->in_order(DataOrder::WithinBlocks);
  EXPECT_EQ(earlier->order(), DataOrder::WithinBlocks);
  for (std::int64_t i = 0; i < 160; ++i) {
    const std::int64_t block = i / 16;
    const std::int64_t slot =
        (*feistel_permutation(16, kMixtureKey.fold(static_cast<std::uint64_t>(block))))(i % 16);
    const auto expected =
        slot < 12 ? Mixture::Place{0, block * 12 + slot} : Mixture::Place{1, block * 4 + slot - 12};
    EXPECT_EQ(earlier->locate(i), expected) << i;
    EXPECT_EQ(present->locate(i).source, expected.source) << "the sources stand where they stood";
  }
  EXPECT_NE(earlier->locate(0), present->locate(0));
  EXPECT_EQ(parse_data_order(1), DataOrder::WithinBlocks);
  EXPECT_EQ(parse_data_order(2), kDataOrder);
  for (const std::int64_t unknown : {0, 3}) {
    EXPECT_EQ(error_of(ErrorKind::Unsupported, [&] { parse_data_order(unknown); }),
              fmt::format("mixture: the data is in order {} but this Bora knows 1 to 2\nhint: go on with the "
                          "Bora that began the run",
                          unknown));
  }
}

TEST(Mixture, OrderDependsOnKeyAndBlock) {
  const auto order = [](const Key& key, std::int64_t block) {
    const Mixture mixture(sources({1000, 1000}), {{0, {0.5, 0.5}}}, 64, key);
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < 64; ++i) out.push_back(mixture.locate(block * 64 + i).source);
    return out;
  };
  EXPECT_EQ(order(kMixtureKey, 0), order(kMixtureKey, 0));
  EXPECT_NE(order(kMixtureKey, 0), order(kMixtureKey, 1));
  EXPECT_NE(order(kMixtureKey, 0), order(kMixtureKey.fold(1), 0));
}

TEST(Mixture, Starved) {
  const Mixture mixture(sources({9, 9, 9}), {{0, {0.99, 0.01, 0}}}, 10, kMixtureKey);
  EXPECT_EQ(mixture.starved(), std::vector<std::string>{"s1"});
  EXPECT_EQ(mixture.size(), kEndless);
}

std::vector<Mixture::Source> limited(const std::vector<std::int64_t>& sizes) {
  auto out = sources(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) out[i].limit = sizes[i];
  return out;
}

/// How many sequences of each source.
std::vector<std::int64_t> given_by(const Mixture& mixture) {
  std::vector<std::int64_t> out(mixture.sources().size());
  for (std::int64_t i = 0; i < mixture.size(); ++i) ++out[static_cast<std::size_t>(mixture.locate(i).source)];
  return out;
}

TEST(Mixture, EndsWithTheFirstSource) {
  const auto given = [](const std::vector<std::int64_t>& sizes, std::vector<MixtureStage> stages) {
    return given_by(
        Mixture(limited(sizes), std::move(stages), 10, kMixtureKey, StopStrategy::FirstExhausted));
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(given({30}, {{0, {1}}}), (Counts{30}));
  EXPECT_EQ(given({7}, {{0, {1}}}), (Counts{7})) << "shorter than a block";
  EXPECT_EQ(given({1003}, {{0, {1}}}), (Counts{1003}));
  EXPECT_EQ(given({100, 9}, {{0, {0.5, 0.5}}}), (Counts{9, 9}));
  EXPECT_EQ(given({100, 9}, {{0, {0.8, 0.2}}}), (Counts{36, 9})) << "in proportion to the end";
  EXPECT_EQ(given({100, 9}, {{0, {0.8, 0.2}}, {20, {1, 0}}}), (Counts{100, 4})) << "no longer read";
  EXPECT_EQ(given({100, 100}, {{0, {0, 1}}}), (Counts{0, 100}));
}

TEST(Mixture, EndsWithTheLastSource) {
  const auto given = [](const std::vector<std::int64_t>& sizes, std::vector<MixtureStage> stages) {
    return given_by(Mixture(limited(sizes), std::move(stages), 10, kMixtureKey, StopStrategy::AllExhausted));
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(given({23, 9}, {{0, {0.5, 0.5}}}), (Counts{23, 23}));
  EXPECT_EQ(given({100, 9}, {{0, {0.8, 0.2}}}), (Counts{100, 25}));
  EXPECT_EQ(given({20, 3}, {{0, {1, 0}}, {20, {0, 1}}}), (Counts{20, 3}));
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { given({100, 9}, {{0, {0.5, 0.5}}, {10, {1, 0}}}); }),
            "mixture: s1 is never exhausted, so that all_exhausted never ends\nhint: first_exhausted, or a "
            "weight in the last stage that gives it a sequence in 10");
}

TEST(Mixture, StopStrategies) {
  EXPECT_EQ(parse_stop_strategy("all_exhausted"), StopStrategy::AllExhausted);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { parse_stop_strategy("never"); }),
            "mixture: stop strategy never is none of restart, first_exhausted, all_exhausted");
  auto none = sources({9});
  none[0].limit = 0;
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { Mixture(none, {{0, {1}}}, 10, kMixtureKey); }),
            "mixture: s0 is exhausted after 0 sequences; at least 1");
}

TEST(Mixture, Errors) {
  const auto message = [](std::vector<MixtureStage> stages, std::int64_t block = 10,
                          std::vector<Mixture::Source> of = sources({9, 9}),
                          ErrorKind kind = ErrorKind::Config) {
    return error_of(kind, [&] { Mixture(std::move(of), std::move(stages), block, kMixtureKey); });
  };
  EXPECT_EQ(message({}), "mixture: the first stage should start at 0; there is none");
  EXPECT_EQ(message({{10, {1, 1}}}), "mixture: the first stage should start at 0 but starts at 10");
  EXPECT_EQ(message({{0, {1, 1}}, {20, {1, 1}}, {10, {1, 1}}}),
            "mixture: a stage at sequence 10 follows one at 20; starts should grow");
  EXPECT_EQ(message({{0, {1, 1}}, {25, {1, 1}}}),
            "mixture: a stage starts at sequence 25, inside a block of 10\nhint: nearest: 20 or 30");
  EXPECT_EQ(message({{0, {1, -1}}}), "mixture: the weight of s1 is -1 but should be at least 0");
  EXPECT_EQ(message({{0, {0, 0}}}), "mixture: all weights are zero from sequence 0 on");
  EXPECT_EQ(message({{0, {1}}}), "mixture: 1 weights for 2 sources at sequence 0");
  EXPECT_EQ(message({{0, {1, 1}}}, 0), "mixture: blocks of 0 sequences; from 1 to 65535 are possible");
  EXPECT_EQ(message({{0, {}}}, 10, {}, ErrorKind::InvalidArgument), "mixture: there is no source");
  EXPECT_EQ(message({{0, {1}}}, 10, sources({0}), ErrorKind::InvalidArgument), "mixture: s0 is empty");
  auto other = sources({9, 9});
  other[1].dataset = counting(9, 8);
  EXPECT_EQ(message({{0, {1, 1}}}, 10, other, ErrorKind::InvalidArgument),
            "mixture: sequences have 4 tokens in s0 but 8 in s1");
  const Mixture mixture(sources({9}), {{0, {1}}}, 10, kMixtureKey);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { mixture.locate(-1); }),
            "mixture: there is no sequence -1");
  const Mixture ends(limited({9}), {{0, {1}}}, 10, kMixtureKey, StopStrategy::FirstExhausted);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { ends.locate(9); }), "mixture: there is no sequence 9");
}

TEST(Endless, ShufflesAnewInEachEpoch) {
  const auto epoch = [](const Dataset& dataset, std::int64_t e) {
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < 50; ++i) {
      OneRow row(4);
      dataset.read(e * 50 + i, row.row());
      out.push_back(row.tokens[0]);
    }
    return out;
  };
  const auto shuffled = endless(counting(50), {"full", FullShuffle()}, kMixtureKey);
  EXPECT_EQ(shuffled->size(), kEndless);
  std::set<std::vector<std::int32_t>> orders;
  for (std::int64_t e = 0; e < 6; ++e) {
    auto order = epoch(*shuffled, e);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (std::int32_t i = 0; i < 50; ++i)
      EXPECT_EQ(order[static_cast<std::size_t>(i)], i) << "each once in epoch " << e;
  }
  EXPECT_EQ(orders.size(), 6u);
  const auto same = endless(counting(50), {"full", FullShuffle(), "feistel", false}, kMixtureKey);
  EXPECT_EQ(epoch(*same, 0), epoch(*same, 3));
  EXPECT_EQ(epoch(*same, 0), epoch(*shuffled, 0));
  const auto plain = endless(counting(50), {}, kMixtureKey);
  EXPECT_EQ(epoch(*plain, 0), epoch(*plain, 1));
  EXPECT_EQ(epoch(*plain, 0)[49], 49);
}

TEST(Shuffled, IsTheFirstEpoch) {
  const auto once = shuffled(counting(50), {"full", FullShuffle()}, kMixtureKey);
  const auto all = endless(counting(50), {"full", FullShuffle()}, kMixtureKey);
  EXPECT_EQ(once->size(), 50);
  for (std::int64_t i = 0; i < 50; ++i) {
    OneRow a(4), b(4);
    once->read(i, a.row());
    all->read(i, b.row());
    EXPECT_EQ(a.tokens, b.tokens);
  }
  OneRow row(4);
  EXPECT_THROW(once->read(50, row.row()), Error);
}

TEST(Endless, Errors) {
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { endless(counting(0), {}, kMixtureKey); }),
            "epochs: a dataset of 0 sequences cannot be repeated");
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument,
                     [] { endless(endless(counting(3), {}, kMixtureKey), {}, kMixtureKey); }),
            "epochs: a dataset of endlessly many sequences cannot be repeated");
  EXPECT_THROW(endless(counting(3), {"era", EraShuffle(0)}, kMixtureKey), Error);
}

}  // namespace
}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/loader.h"

#include <gtest/gtest.h>

#include "bora/data/epochs.h"
#include "bora/data/prefetcher.h"
#include "bora/data/test_datasets.h"
#include "bora/data/token_dataset.h"
#include "bora/store/cache_builder.h"

namespace bora::data {
namespace {

using Ints = std::vector<std::int32_t>;
using Floats = std::vector<float>;

TEST(TokenDataset, CutsTheConcatenation) {
  const store::TemporaryFolder folder("token-dataset");
  const auto file = folder.write("a.jsonl", "{\"text\":\"abc\"}\n{\"text\":\"defgh\"}\n{\"text\":\"i\"}\n");
  const store::ByteProcessor bytes;
  const auto cache = store::build_cache(folder / "c", {file}, bytes);
  const auto all = cache->tokens(0, cache->num_tokens());
  ASSERT_EQ(all.size(), 3u * 2 + 9);
  const TokenDataset dataset(cache, 4, {});
  EXPECT_EQ(dataset.size(), 3) << "the tail of 3 tokens is dropped";
  for (std::int64_t i = 0; i < 3; ++i) {
    OneRow row(4);
    EXPECT_EQ(dataset.read(i, row.row()), 0);
    EXPECT_EQ(row.tokens, Ints(all.begin() + 4 * i, all.begin() + 4 * i + 4));
  }
  OneRow row(4);
  dataset.read(1, row.row());
  EXPECT_EQ(row.tokens[0], 1);
  EXPECT_EQ(row.segments, (Ints{0, 1, 1, 1}));
  EXPECT_EQ(row.loss_weights, (Floats{1, 1, 1, 0})) << "the last position predicts nothing";
  const TokenDataset ignoring(cache, 4, {.ignore_token_id = row.tokens[2]});
  ignoring.read(1, row.row());
  EXPECT_EQ(row.loss_weights, (Floats{1, 0, 1, 0})) << "an ignored token masks the position before";
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { dataset.read(3, row.row()); }),
            "dataset: sequence 3 is outside of its 3");
  OneRow wrong(5);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { dataset.read(0, wrong.row()); }),
            "dataset: a row of 5 tokens, 5 segments, 5 weights; each should be 4");
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { TokenDataset(cache, 1, {}); }),
            "dataset: sequences of 1 tokens; a prediction needs at least 2");
}

TEST(WithinSegments, NothingIsPredictedAcrossDocuments) {
  const store::TemporaryFolder folder("within-segments");
  const auto file = folder.write("a.jsonl", "{\"text\":\"ab\"}\n{\"text\":\"c\"}\n{\"text\":\"d\"}\n");
  const auto cache = store::build_cache(folder / "c", {file}, store::ByteProcessor());
  const auto weights = [](const DatasetPtr& dataset, std::int64_t index) {
    OneRow row(5);
    dataset->read(index, row.row());
    return row.loss_weights;
  };
  const auto joined = std::make_shared<TokenDataset>(cache, 5, TokenRules{});
  const auto apart = within_segments(joined);
  EXPECT_EQ(apart->size(), joined->size());
  EXPECT_EQ(apart->seq_len(), 5);
  // Ids: 0 a b 1 0 | c 1 0 d 1: begin 0, end 1.
  EXPECT_EQ(weights(joined, 0), (Floats{1, 1, 1, 1, 0}));
  EXPECT_EQ(weights(apart, 0), (Floats{1, 1, 1, 0, 0}));
  EXPECT_EQ(weights(apart, 1), (Floats{1, 0, 1, 1, 0}));
  const auto open =
      std::make_shared<TokenDataset>(cache, 5, TokenRules{.block_cross_document_attention = false});
  EXPECT_EQ(weights(within_segments(open), 0), weights(joined, 0)) << "one text, all of which is seen";
}

TEST(Slice, IsAPart) {
  const auto part = slice(counting(10), 3, 7);
  EXPECT_EQ(part->size(), 4);
  OneRow row(4);
  part->read(3, row.row());
  EXPECT_EQ(row.tokens[0], 6);
  EXPECT_THROW(part->read(4, row.row()), Error);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { slice(counting(10), 3, 11); }),
            "dataset: [3, 11) is no part of its 10 sequences");
}

const BatchSchedule kSchedule({{0, 8}, {10, 16}, {20, 32}});

TEST(Loader, ReadsEverySequenceOnce) {
  const Loader loader(counting(1007), kSchedule);
  EXPECT_EQ(loader.num_steps(), 44);
  std::int32_t next = 0;
  for (std::int64_t step = 0; step < loader.num_steps(); ++step) {
    const Batch batch = loader.batch(step);
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(batch.sequences, kSchedule.batch_size(step));
    EXPECT_EQ(batch.seq_len, 4);
    for (std::size_t i = 0; i < batch.sources.size(); ++i) {
      const bool padding = next == 1007;
      EXPECT_EQ(batch.sources[i], padding ? -1 : 0);
      for (std::size_t t = 0; t < 4; ++t) {
        EXPECT_EQ(batch.tokens[4 * i + t], padding ? 0 : next + static_cast<std::int32_t>(t));
        EXPECT_EQ(batch.segments[4 * i + t], padding ? -1 : 0);
        EXPECT_EQ(batch.loss_weights[4 * i + t], padding ? 0.0F : 1.0F);
      }
      if (!padding) ++next;
    }
  }
  EXPECT_EQ(next, 1007);
}

TEST(Loader, TheTargetOfATokenIsTheNextOne) {
  Batch batch{.sequences = 2, .seq_len = 3, .tokens = {1, 2, 3, 4, 5, 6}};
  set_next_token_targets(batch);
  EXPECT_EQ(batch.targets, (std::vector<std::int32_t>{2, 3, 0, 5, 6, 0}));
  const auto set = counting(10);
  const Batch read = read_batch(*set, 3, 2), loaded = Loader(set, 2).batch(0);
  for (const auto& b : {read, loaded}) {
    ASSERT_EQ(b.targets.size(), b.tokens.size());
    for (std::size_t i = 0; i < b.targets.size(); ++i)
      EXPECT_EQ(b.targets[i], (i + 1) % 4 == 0 ? 0 : b.tokens[i + 1]);
  }
}

TEST(Loader, RowsTogetherAreTheBatch) {
  const Loader loader(endless(counting(77), {"full", FullShuffle()}, Key::from_seed(1)), kSchedule);
  for (const std::int64_t step : {0, 9, 10, 25, 100000}) {
    const Batch whole = loader.batch(step);
    for (const std::int64_t workers : {1, 2, 4}) {
      Batch joined{.step = step, .seq_len = 4};
      for (std::int64_t w = 0; w < workers; ++w) {
        const std::int64_t share = whole.sequences / workers;
        const Batch part = loader.batch(step, {w * share, (w + 1) * share});
        joined.sequences += part.sequences;
        const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        append(joined.tokens, part.tokens);
        append(joined.targets, part.targets);
        append(joined.segments, part.segments);
        append(joined.loss_weights, part.loss_weights);
        append(joined.sources, part.sources);
      }
      EXPECT_EQ(joined, whole);
    }
  }
}

TEST(Loader, OnlyWantedRowsAreRead) {
  const Loader loader(counting(10), 4);
  const Batch whole = loader.batch(1);
  const Batch odd =
      loader.batch(1, [](std::int64_t row, std::int64_t size) { return size == 4 && row % 2 == 1; });
  EXPECT_EQ(odd.sequences, 4);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(odd.sources[row], row % 2 == 1 ? whole.sources[row] : -1);
    const auto at = row * static_cast<std::size_t>(whole.seq_len);
    EXPECT_EQ(odd.loss_weights[at], row % 2 == 1 ? whole.loss_weights[at] : 0.0F);
    EXPECT_EQ(odd.tokens[at + 1], row % 2 == 1 ? whole.tokens[at + 1] : 0);
  }
}

TEST(Loader, Errors) {
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { Loader(counting(0), 4); }),
            "loader: the dataset has no sequence");
  const Loader loader(counting(10), 4);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { loader.batch(3); }),
            "loader: there is no step 3; the dataset has 3");
  EXPECT_THROW(loader.batch(-1), Error);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { loader.batch(1, {2, 5}); }),
            "loader: rows [2, 5) of a batch of 4 at step 1");
}

TEST(Prefetcher, GivesTheLoadersBatchesFromAnyStep) {
  const Loader loader(counting(1007), kSchedule);
  for (const std::int64_t first : {0, 9, 40, 44}) {
    Prefetcher ahead(loader, first, {.depth = 3});
    for (std::int64_t step = first; step < loader.num_steps(); ++step)
      EXPECT_EQ(*ahead.next(), loader.batch(step));
    EXPECT_FALSE(ahead.next());
    EXPECT_FALSE(ahead.next()) << "the end stays";
    ahead.seek(2);
    EXPECT_EQ(*ahead.next(), loader.batch(2));
    EXPECT_GE(ahead.waited_seconds(), 0);
  }
}

TEST(Prefetcher, ReadsOwnRows) {
  const Loader loader(counting(1000), kSchedule);
  const Loader::Wanted second_half = [](std::int64_t row, std::int64_t size) { return row >= size / 2; };
  Prefetcher ahead(loader, 9, {.wanted = second_half});
  for (const std::int64_t step : {9, 10}) {
    const Batch got = *ahead.next();
    EXPECT_EQ(got, loader.batch(step, second_half));
    const Batch own = loader.batch(step, RowRange{got.sequences / 2, got.sequences});
    const auto half = static_cast<std::ptrdiff_t>(own.tokens.size());
    EXPECT_EQ(own.tokens, std::vector<std::int32_t>(got.tokens.begin() + half, got.tokens.end()));
    EXPECT_EQ(own.loss_weights, std::vector<float>(got.loss_weights.begin() + half, got.loss_weights.end()));
    EXPECT_EQ(own.sources,
              std::vector<std::int32_t>(got.sources.begin() + got.sequences / 2, got.sources.end()));
  }
}

TEST(Prefetcher, ErrorsComeWhereTheyBelong) {
  struct Breaking : CountingDataset {
    Breaking() : CountingDataset(100, 4) {}
    std::int32_t read(std::int64_t index, const Row& row) const override {
      if (index == 21) fail(ErrorKind::Io, "disk gone");
      return CountingDataset::read(index, row);
    }
  };
  Prefetcher ahead(Loader(std::make_shared<Breaking>(), 10), 0);
  EXPECT_EQ(ahead.next()->step, 0);
  EXPECT_EQ(ahead.next()->step, 1);
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { ahead.next(); }), "disk gone");
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { ahead.next(); }), "disk gone")
      << "and again, instead of waiting for ever";
  ahead.seek(3);
  EXPECT_EQ(ahead.next()->step, 3);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { Prefetcher(Loader(counting(5), 1), 0, {.depth = 0}); }),
            "prefetcher: a depth of 0; it should be at least 1");
}

TEST(Prefetcher, StopsWhileItsQueueIsFull) {
  for (int i = 0; i < 50; ++i) Prefetcher ahead(Loader(counting(100000), 4), 0, {.depth = 1});
}

}  // namespace
}  // namespace bora::data

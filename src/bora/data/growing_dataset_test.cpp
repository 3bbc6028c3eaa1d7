// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/growing_dataset.h"

#include <array>
#include <condition_variable>
#include <thread>

#include "bora/data/loader.h"
#include "bora/data/pipeline.h"
#include "bora/data/test_datasets.h"
#include "bora/store/test_votes.h"

namespace bora::data {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLength = 16;
const Key kKey = Key::from_seed(5);

/// Tokenizes no more text than it has been allowed to.
class GatedProcessor : public store::ByteProcessor {
 public:
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pieces_ > 0; });
    --pieces_;
    if (fails_) fail(ErrorKind::Corruption, "a bad piece");
    ByteProcessor::encode(piece, out);
  }
  void allow(int pieces, bool to_fail = false) {
    const std::lock_guard lock(mutex_);
    pieces_ = pieces;
    fails_ = to_fail;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int pieces_ = 0;
  bool fails_ = false;
};

class GrowingData : public testing::Test {
 protected:
  GrowingData() : folder_("growing") {
    config_.cache_dir = folder_ / "cache";
    config_.single.train_urls = texts("", 6);
    config_.mixture_block_size = 32;
    config_.shuffle = {"none", NoShuffle()};
  }

  /// Each becomes one shard, of 9,000 documents.
  std::vector<std::string> texts(const std::string& name, int n) const {
    std::vector<std::string> files;
    for (int i = 0; i < n; ++i) {
      std::string lines;
      for (int d = 0; d < 9000; ++d)
        lines += fmt::format("{{\"text\":\"{} {} {}{}\"}}\n", i, d, name, std::string(300 + d % 300, 'x'));
      files.push_back(folder_.write(fmt::format("{}{}.jsonl", name, i), lines));
    }
    return files;
  }

  Datasets datasets(const std::vector<SourceCaches>& caches) const {
    return make_datasets(config_, caches, kLength, {}, BatchSchedule(8), kKey);
  }

  /// Every 997th batch of so many.
  static std::vector<Batch> batches(const Datasets& datasets, std::int64_t end) {
    const Loader loader(datasets.train, BatchSchedule(8));
    std::vector<Batch> out;
    for (std::int64_t step = 0; step < end; step += 997) out.push_back(loader.batch(step));
    return out;
  }

  static std::vector<Batch> held_back(const Datasets& datasets) {
    std::vector<Batch> out;
    for (const auto& set : datasets.validation) {
      const Loader loader(set.dataset, BatchSchedule(8));
      for (std::int64_t step = 0; step < loader.num_steps(); ++step) out.push_back(loader.batch(step));
    }
    return out;
  }

  /// `early_steps` can be had of the first 20,000 documents, of 54,000 or more.
  void expect_the_batches_of_afterwards(std::int64_t early_steps = 10'000) {
    const auto gated = std::make_shared<GatedProcessor>();
    const auto started = start_caches(config_, gated, 1);
    ASSERT_TRUE(started.build);
    ASSERT_TRUE(started.caches.front().growing);
    EXPECT_FALSE(started.caches.front().train);
    const auto early = datasets(started.caches);
    gated->allow(20'000);
    const auto first = batches(early, early_steps);
    EXPECT_FALSE(started.build->is_complete());
    EXPECT_GT(started.build->progress().bytes_done, 0);
    gated->allow(1 << 30);
    const std::int64_t steps = 250'000;  // more than one epoch
    const auto all = batches(early, steps);
    const auto held = held_back(early);
    for (const auto& set : started.caches) set.when_complete();
    const auto caches = build_caches(config_, *gated, 1);
    EXPECT_GT(steps * 8, caches.front().train->num_tokens() / kLength);
    const auto late = datasets(caches);
    const auto expected = batches(late, steps);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin()));
    EXPECT_TRUE(all == expected);
    EXPECT_TRUE(held == held_back(late));
    EXPECT_EQ(started.caches.front().when_complete().train->num_tokens(), caches.front().train->num_tokens());
  }

  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(GrowingData, InOrder) { expect_the_batches_of_afterwards(); }

TEST_F(GrowingData, InEras) {
  config_.shuffle = {"era", EraShuffle(1000)};
  expect_the_batches_of_afterwards();
}

TEST_F(GrowingData, LimitedToSomeBatches) {
  config_.max_train_batches = {{"", 5000}};
  expect_the_batches_of_afterwards();
}

TEST_F(GrowingData, OrdersOverEverythingWhereThatIsLimited) {
  config_.max_train_batches = {{"", 5000}};
  for (const Shuffle& shuffle : {Shuffle{"full", FullShuffle()}, Shuffle{"block", BlockShuffle(16, 8)}}) {
    remove_all(config_.cache_dir);
    config_.shuffle = shuffle;
    expect_the_batches_of_afterwards();
  }
}

TEST_F(GrowingData, HoldsSequencesBack) {
  config_.num_validation_sequences = {{"", 700}};
  config_.shuffle = {"era", EraShuffle(1000)};
  config_.single.validation_urls = texts("v", 1);
  expect_the_batches_of_afterwards();
}

TEST_F(GrowingData, AMixtureGrowsInAllItsParts) {
  SourceConfig other, unused;
  other.train_urls = texts("o", 4);
  unused.train_urls = texts("u", 1);
  config_.configs = {{"a", config_.single}, {"b", other}, {"c", unused}};
  config_.train_weights = {{0, {{"a", 3}, {"b", 2}}}};
  config_.num_validation_sequences = {{"c", 40}};
  config_.shuffle = {"era", EraShuffle(1000)};
  expect_the_batches_of_afterwards(4000);
}

TEST_F(GrowingData, ATeamBuildsWhatEachOfItReads) {
  constexpr int kWorkers = 3;
  config_.shuffle = {"era", EraShuffle(1000)};
  for (const int round : {0, 1}) {  // the second goes on where all of the first have stopped
    store::Votes votes(kWorkers);
    std::array<std::vector<Batch>, kWorkers> read;
    std::vector<std::thread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&, w] {
        const auto gated = std::make_shared<GatedProcessor>();
        const store::CacheTeam team{w, kWorkers, [&](bool mine) { return votes.any(mine); }};
        const auto started = start_caches(config_, gated, 1, {}, team);
        gated->allow(round == 0 ? 9'500 : 1 << 30);  // a shard, and a part of the next
        read[static_cast<std::size_t>(w)] = batches(datasets(started.caches), round == 0 ? 5'000 : 250'000);
        if (round == 0) {
          gated->allow(1 << 30);
          started.build->stop();
        }
      });
    }
    for (auto& worker : workers) worker.join();
    const store::ByteProcessor bytes;
    if (round == 0) continue;
    const auto expected = batches(datasets(build_caches(config_, bytes, 1)), 250'000);
    for (const auto& batches : read) EXPECT_TRUE(batches == expected);
  }
  config_.cache_dir = folder_ / "alone";
  build_caches(config_, store::ByteProcessor(), 1);
  EXPECT_EQ(store::contents(folder_ / "cache/train"), store::contents(folder_ / "alone/train"));
}

TEST_F(GrowingData, ErrorsReachWhoeverWaits) {
  const auto gated = std::make_shared<GatedProcessor>();
  const auto started = start_caches(config_, gated, 1);
  gated->allow(1, true);
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { batches(datasets(started.caches), 1); }),
              HasSubstr("a bad piece"));
  EXPECT_THROW(started.build->check(), Error);
  EXPECT_FALSE(started.build->is_complete());
}

TEST_F(GrowingData, IsStoppedAndContinued) {
  const auto gated = std::make_shared<GatedProcessor>();
  auto started = start_caches(config_, gated, 1);
  gated->allow(20'000);
  batches(datasets(started.caches), 10'000);
  gated->allow(1 << 30);
  started.build->stop();
  if (!started.build->is_complete()) {  // it may have been quicker
    EXPECT_THAT(error_of(ErrorKind::Stopped, [&] { started.caches.front().when_complete(); }),
                HasSubstr("the build of the token caches was stopped"));
  }
  started = {};
  EXPECT_EQ(build_caches(config_, *gated, 1).front().train->num_documents(), 54'000);
  const auto again = start_caches(config_, gated, 1);
  EXPECT_TRUE(again.caches.front().train) << "a finished cache does not grow";
  EXPECT_FALSE(again.build);
}

TEST_F(GrowingData, TooShort) {
  config_.single.train_urls = {folder_.write("short.txt", "abc")};
  const auto gated = std::make_shared<GatedProcessor>();
  gated->allow(9);
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { batches(datasets(start_caches(config_, gated, 1).caches), 1); }),
      HasSubstr(" tokens, fewer than one sequence of 16\nhint: more text, or a smaller model.seq_len"));
}

TEST_F(GrowingData, OtherOrdersWaitAndSaySo) {
  const std::string name = config_.sources().front().first;
  const auto why = [&] { return why_whole_cache(config_, name); };
  EXPECT_EQ(why(), "");
  config_.shuffle = {"block", BlockShuffle()};
  EXPECT_EQ(why(),
            "a block shuffle takes its blocks from everywhere; an era shuffle starts at once (data.shuffle: "
            "4096)");
  config_.shuffle = {"none", NoShuffle()};
  config_.num_validation_sequences = {{"", 3}};
  EXPECT_EQ(why(), "");
  config_.shuffle_before_trainval_split = true;
  EXPECT_EQ(why(), "sequences are held back from everywhere (data.shuffle_before_trainval_split)");
  config_.num_validation_sequences.clear();
  config_.max_epochs = 2;
  EXPECT_EQ(why(), "data.max_epochs ends training by its length");
  config_.max_epochs.reset();
  config_.stop_strategy = "first_exhausted";
  EXPECT_EQ(why(), "data.stop_strategy ends training by its length");
  config_.stop_strategy = "restart";
  config_.target_budget = 2;
  config_.experiment_budget = 1;
  EXPECT_EQ(why(), "data.experiment_budget is a share of its length");
  config_.target_budget.reset();
  config_.single.format->pack = "true";
  EXPECT_EQ(why(), "whole documents are packed by their lengths");
  config_.single.format->pack.reset();
  config_.configs = {{"a", config_.single}, {"b", config_.single}};
  EXPECT_EQ(why_whole_cache(config_, "a"),
            "weights go by the sizes of the sets (data.train_weights sets them)");
  config_.train_weights = {{0, {{"b", 1}}}};
  config_.max_epochs = 2;
  EXPECT_EQ(why_whole_cache(config_, "a"), "") << "it is not trained on";
  EXPECT_NE(why_whole_cache(config_, "b"), "");
  config_.max_epochs.reset();
  EXPECT_EQ(why_whole_cache(config_, "b"), "");
  config_.configs.clear();
  config_.train_weights.clear();
  config_.shuffle = {"full", FullShuffle()};
  const auto gated = std::make_shared<GatedProcessor>();
  gated->allow(1 << 30);
  std::vector<std::string> told;
  const CacheWatch watch{.progress = [&](const CacheReport& report) { EXPECT_EQ(report.split, "train"); },
                         .waits = [&](const std::string& set,
                                      const std::string& reason) { told.push_back(set + ": " + reason); }};
  const auto started = start_caches(config_, gated, 1, watch);
  EXPECT_THAT(told, testing::ElementsAre(
                        fmt::format("{}: a full shuffle needs its length; an era shuffle starts at once "
                                    "(data.shuffle: 4096)",
                                    name)));
  EXPECT_FALSE(started.build);
  EXPECT_FALSE(started.caches.front().growing);
  EXPECT_TRUE(started.caches.front().train);
  told.clear();
  start_caches(config_, gated, 1, watch);
  EXPECT_TRUE(told.empty()) << "there is nothing to wait for";
}

}  // namespace
}  // namespace bora::data

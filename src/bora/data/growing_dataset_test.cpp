// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/growing_dataset.h"

#include <atomic>
#include <condition_variable>

#include "bora/data/loader.h"
#include "bora/data/pipeline.h"
#include "bora/data/test_datasets.h"

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
    std::vector<std::string> files;
    for (int i = 0; i < 6; ++i) {
      std::string lines;
      for (int d = 0; d < 9000; ++d)
        lines += fmt::format("{{\"text\":\"{} {} {}\"}}\n", i, d, std::string(300 + d % 300, 'x'));
      files.push_back(folder_.write(fmt::format("{}.jsonl", i), lines));
    }
    config_.single.train_urls = files;
    config_.mixture_block_size = 32;
    config_.shuffle.shuffle.kind = Shuffle::Kind::None;
  }

  Datasets datasets(const std::vector<SourceCaches>& caches) const {
    return make_datasets(config_, caches, kLength, {.eos_id = 1}, BatchSchedule(8), kKey);
  }

  /// Every 997th batch of so many, and the ones around the first sequences again.
  std::vector<Batch> batches(const Datasets& datasets, std::int64_t end) const {
    const Loader loader(datasets.train, BatchSchedule(8));
    std::vector<Batch> out;
    for (std::int64_t step = 0; step < end; step += 997) out.push_back(loader.batch(step));
    return out;
  }

  void expect_the_batches_of_afterwards() {
    const auto gated = std::make_shared<GatedProcessor>();
    const auto caches = start_caches(config_, gated, 1);
    ASSERT_TRUE(caches.front().growing);
    EXPECT_FALSE(caches.front().train);
    const auto early = datasets(caches);
    gated->allow(20'000);  // of 54,000 documents
    const auto part = caches.front().growing->at_least(3'000'000);
    ASSERT_FALSE(part->ledger().is_finished);
    const auto first = batches(early, part->num_tokens() / kLength / 8 - 2);
    EXPECT_GT(first.size(), 10u);
    gated->allow(1 << 30);
    const std::int64_t steps = 250'000;  // more than one epoch
    const auto all = batches(early, steps);
    const auto whole = caches.front().growing->at_least(1 << 30);
    ASSERT_TRUE(whole->ledger().is_finished);
    EXPECT_GT(steps * 8, whole->num_tokens() / kLength);
    const auto late = datasets(build_caches(config_, *gated, 1));
    const auto expected = batches(late, steps);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin()));
    EXPECT_TRUE(all == expected);
  }

  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(GrowingData, InOrder) { expect_the_batches_of_afterwards(); }

TEST_F(GrowingData, InEras) {
  config_.shuffle.shuffle = {.kind = Shuffle::Kind::Era, .era_length = 1000};
  expect_the_batches_of_afterwards();
}

TEST_F(GrowingData, LimitedToSomeBatches) {
  config_.max_train_batches = {{"", 5000}};
  expect_the_batches_of_afterwards();
}

TEST_F(GrowingData, ErrorsReachWhoeverWaits) {
  const auto gated = std::make_shared<GatedProcessor>();
  const auto caches = start_caches(config_, gated, 1);
  gated->allow(1, true);
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { batches(datasets(caches), 1); }),
              HasSubstr("a bad piece"));
}

TEST_F(GrowingData, EndsWithItsCaches) {
  const auto gated = std::make_shared<GatedProcessor>();
  auto caches = start_caches(config_, gated, 1);
  gated->allow(1 << 30);
  caches.clear();  // stops the thread; the next start goes on
  EXPECT_EQ(build_caches(config_, *gated, 1).front().train->num_documents(), 54'000);
  EXPECT_TRUE(start_caches(config_, gated, 1).front().train) << "a finished cache does not grow";
}

TEST_F(GrowingData, TooShort) {
  config_.single.train_urls = {folder_.write("short.txt", "abc")};
  const auto gated = std::make_shared<GatedProcessor>();
  gated->allow(9);
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { batches(datasets(start_caches(config_, gated, 1)), 1); }),
      HasSubstr(" tokens, fewer than one sequence of 16\nhint: more text, or a smaller model.seq_len"));
}

TEST_F(GrowingData, OtherOrdersWaitAndSaySo) {
  const std::string name = config_.sources().front().first;
  const auto why = [&] { return why_whole_cache(config_, name); };
  EXPECT_EQ(why(), "");
  config_.shuffle.shuffle.kind = Shuffle::Kind::Block;
  EXPECT_EQ(why(), "a block shuffle takes its blocks from everywhere");
  config_.shuffle.shuffle.kind = Shuffle::Kind::None;
  config_.num_validation_sequences = {{"", 3}};
  EXPECT_EQ(why(), "sequences are held back from its end");
  config_.num_validation_sequences.clear();
  config_.max_epochs = 2;
  EXPECT_EQ(why(), "where training ends depends on its length");
  config_.max_epochs.reset();
  config_.target_budget = 2;
  config_.experiment_budget = 1;
  EXPECT_EQ(why(), "the budget is a share of its length");
  config_.target_budget.reset();
  config_.single.format.pack = "true";
  EXPECT_EQ(why(), "whole documents are packed by their lengths");
  config_.single.format.pack.reset();
  config_.configs = {{"a", config_.single}, {"b", config_.single}};
  EXPECT_EQ(why_whole_cache(config_, "a"), "weights go by the sizes of the sets");
  config_.train_weights = {{0, {{"b", 1}}}};
  EXPECT_EQ(why_whole_cache(config_, "a"), "it is not trained on");
  EXPECT_EQ(why_whole_cache(config_, "b"), "");
  config_.configs.clear();
  config_.train_weights.clear();
  config_.shuffle.shuffle.kind = Shuffle::Kind::Full;
  const auto gated = std::make_shared<GatedProcessor>();
  gated->allow(1 << 30);
  testing::internal::CaptureStderr();
  const auto caches = start_caches(config_, gated, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr(fmt::format(
                  "training waits for the token cache of {}: a full shuffle needs its length", name)));
  EXPECT_FALSE(caches.front().growing);
  EXPECT_TRUE(caches.front().train);
  EXPECT_EQ(error_of(ErrorKind::Config,
                     [&] {
                       endless_growing(std::make_shared<store::GrowingCache>("c", [] {}), kLength, {},
                                       kEndless, config_.shuffle.shuffle, kKey);
                     }),
            "token cache c: its length must be known for this shuffle, but it is still being built");
}

}  // namespace
}  // namespace bora::data

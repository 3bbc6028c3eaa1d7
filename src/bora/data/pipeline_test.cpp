// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/pipeline.h"

#include <gtest/gtest.h>

#include <set>

#include "bora/data/loader.h"
#include "bora/data/test_datasets.h"
#include "bora/store/token_files.h"

namespace bora::data {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRowLength = 16;
const Key kPipelineKey = Key::from_seed(5);

class Pipeline : public testing::Test {
 protected:
  Pipeline() : folder_("pipeline") {
    config_.cache_dir = folder_ / "cache";
    add("a", 1000);
    add("b", 400);
    config_.shuffle = {"full", FullShuffle()};
    config_.mixture_block_size = 10;
  }
  /// Text of numbers, 8 bytes each, so that no two sequences are equal.
  void add(const std::string& name, int numbers) {
    std::string text;
    for (int i = 0; i < numbers; ++i) text += fmt::format("{:07} ", i);
    SourceConfig source;
    source.train_urls = {folder_.write(name + ".txt", text)};
    source.tags = {name};
    config_.configs.emplace_back(name, source);
  }
  Datasets make(const BatchSchedule& schedule = 4) {
    return make_datasets(config_, build_caches(config_, bytes_, 1), kRowLength, {}, schedule, kPipelineKey);
  }
  static std::vector<std::int32_t> tokens(const Dataset& dataset, std::int64_t index) {
    OneRow row(static_cast<std::size_t>(kRowLength));
    dataset.read(index, row.row());
    return row.tokens;
  }
  static std::set<std::vector<std::int32_t>> all(const Dataset& dataset, std::int64_t n) {
    std::set<std::vector<std::int32_t>> out;
    for (std::int64_t i = 0; i < n; ++i) out.insert(tokens(dataset, i));
    return out;
  }

  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  store::ByteProcessor bytes_;
  DataConfig config_;
};

TEST_F(Pipeline, WeightsBySizeByDefault) {
  const auto datasets = make();
  ASSERT_TRUE(datasets.train);
  EXPECT_EQ(datasets.train->counts(0), (std::vector<std::int64_t>{8, 2}));
  EXPECT_TRUE(datasets.validation.empty());
  EXPECT_TRUE(exists(folder_ / "cache/a/train/ledger.json"));
}

TEST_F(Pipeline, HeldBackSequencesAreNotTrainedOn) {
  config_.num_validation_sequences = {{"a", 30}};
  config_.train_weights = {{0, {{"a", 1}}}};
  const auto datasets = make();
  ASSERT_EQ(datasets.validation.size(), 1u);
  EXPECT_EQ(datasets.validation[0].name, "a");
  EXPECT_EQ(datasets.validation[0].tags, std::vector<std::string>{"a"});
  EXPECT_EQ(datasets.validation[0].dataset->size(), 30);
  const auto held = all(*datasets.validation[0].dataset, 30);
  const auto trained = all(*datasets.train, 3000);
  EXPECT_EQ(trained.size() + held.size(), 8000u / kRowLength) << "together they are everything";
  for (const auto& row : held) EXPECT_FALSE(trained.count(row));
}

TEST_F(Pipeline, HeldBackSequencesTakeThePlaceOfAValidationText) {
  config_.num_validation_sequences = {{"a", 30}};
  config_.configs[0].second.validation_urls = config_.configs[1].second.train_urls;
  std::vector<std::string> said;
  const auto datasets =
      make_datasets(config_, build_caches(config_, bytes_, 1), kRowLength, {}, BatchSchedule(4), kPipelineKey,
                    [&](const std::string& text) { said.push_back(text); });
  ASSERT_EQ(datasets.validation.size(), 1u) << "metrics have one name";
  EXPECT_EQ(datasets.validation[0].dataset->size(), 30);
  EXPECT_THAT(
      said, testing::ElementsAre(
                "data set a is evaluated on the sequences that data.num_validation_sequences holds back, not "
                "on its validation text; leave out one of the two"));
}

TEST_F(Pipeline, HeldBackSequencesMayComeFromEverywhere) {
  config_.num_validation_sequences = {{"a", 30}};
  config_.train_weights = {{0, {{"a", 1}}}};
  const auto tail = all(*make().validation[0].dataset, 30);
  config_.shuffle_before_trainval_split = true;
  const auto datasets = make();
  const auto held = all(*datasets.validation[0].dataset, 30), trained = all(*datasets.train, 3000);
  EXPECT_NE(held, tail);
  EXPECT_EQ(held, all(*make().validation[0].dataset, 30)) << "always the same";
  EXPECT_EQ(trained.size() + held.size(), 8000u / kRowLength);
  for (const auto& row : held) EXPECT_FALSE(trained.count(row));
}

TEST_F(Pipeline, StopsWhenTheDataIsRead) {
  config_.train_weights = {{0, {{"a", 1}}}};
  config_.stop_strategy = "first_exhausted";
  EXPECT_EQ(make().train->size(), 8000 / kRowLength);
  EXPECT_EQ(all(*make().train, make().train->size()).size(), 8000u / kRowLength) << "everything once";
  config_.stop_strategy = "restart";
  EXPECT_EQ(make().train->size(), kEndless);
  config_.max_epochs = 2;
  EXPECT_EQ(make().train->size(), 2 * 8000 / kRowLength);
  config_.train_weights = {{0, {{"a", 1}, {"b", 1}}}};
  EXPECT_EQ(make().train->size(), 2 * 2 * 3200 / kRowLength) << "b is read twice, and as much of a";
  config_.stop_strategy = "all_exhausted";
  EXPECT_EQ(make().train->size(), 2 * 2 * 8000 / kRowLength);
  EXPECT_EQ(Loader(make().train, 64).num_steps(), 2 * 2 * 8000 / kRowLength / 64 + 1);
}

TEST_F(Pipeline, WholeDocuments) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += fmt::format("{{\"text\": \"{}\"}}\n", std::string(i % 20, 'x'));
  SourceConfig source;
  source.train_urls = {folder_.write("c.jsonl", lines)};
  source.format->pack = "true";
  config_.configs = {{"c", source}};
  testing::internal::CaptureStderr();
  const auto packed = make();
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("data set c, training: 10 of 38 documents are longer than a sequence of 16; 30 of 456 tokens "
                "are left out"));
  config_.configs[0].second.validation_urls = source.train_urls;
  std::vector<std::string> said;
  make_datasets(config_, build_caches(config_, bytes_, 1), kRowLength, {}, BatchSchedule(8), kPipelineKey,
                [&](const std::string& text) { said.push_back(text); });
  EXPECT_THAT(said, testing::UnorderedElementsAre(testing::StartsWith("data set c, training: 10 of 38"),
                                                  testing::StartsWith("data set c, validation: 10 of 38")));
  config_.configs[0].second.validation_urls.clear();
  OneRow row(kRowLength);
  packed.train->read(0, row.row());
  config_.configs[0].second.format->pack = "pad";
  config_.configs[0].second.format->slice_strategy = "drop";
  config_.stop_strategy = "first_exhausted";
  testing::internal::CaptureStderr();
  EXPECT_EQ(make().train->size(), 28);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("190 of 456 tokens are left out"));
  config_.configs[0].second.format->slice_strategy = "raise";
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { make(); }),
      HasSubstr("data set c: packing: document 14 has 17 tokens but a sequence has 16\nhint: a larger "
                "model.seq_len"));
}

TEST_F(Pipeline, ValidationFilesAndZeroWeights) {
  config_.configs[1].second.validation_urls = {folder_.write("v.txt", store::sample_text(9, 500))};
  config_.train_weights = {{0, {{"a", 1}, {"b", 0}}}};
  const auto datasets = make();
  EXPECT_EQ(datasets.train->sources().size(), 1u) << "a weight of zero means evaluation only";
  ASSERT_EQ(datasets.validation.size(), 1u);
  EXPECT_EQ(datasets.validation[0].name, "b");
  EXPECT_GE(datasets.validation[0].num_bytes, 500);
}

TEST_F(Pipeline, EvaluationCountsNothingAcrossDocuments) {
  std::string lines;
  for (int i = 0; i < 90; ++i) lines += fmt::format("{{\"text\":\"{}\"}}\n", std::string(i % 9, 'x'));
  SourceConfig source, with_files;
  source.train_urls = with_files.train_urls = with_files.validation_urls = {folder_.write("d.jsonl", lines)};
  config_.configs = {{"d", source}, {"e", with_files}};
  config_.num_validation_sequences = {{"d", 20}};
  /// How many predictions of a beginning (0) behind an end (1) there are, and the sum of their weights.
  const auto borders = [](const Dataset& dataset, std::int64_t n) {
    std::pair<int, float> out;
    for (std::int64_t i = 0; i < n; ++i) {
      OneRow row(kRowLength);
      dataset.read(i, row.row());
      for (std::size_t t = 0; t + 1 < row.tokens.size(); ++t) {
        if (row.tokens[t] != 1 || row.tokens[t + 1] != 0) continue;
        ++out.first;
        out.second += row.loss_weights[t];
      }
    }
    return out;
  };
  for (const bool apart : {true, false}) {
    config_.block_cross_document_attention = apart;
    const auto datasets = make();
    ASSERT_EQ(datasets.validation.size(), 2u) << "what is held back, and files to evaluate on";
    for (const auto& set : datasets.validation) {
      const auto [count, weight] = borders(*set.dataset, set.dataset->size());
      EXPECT_GT(count, 20);
      EXPECT_EQ(weight, apart ? 0 : static_cast<float>(count));
    }
    const auto [count, weight] = borders(*datasets.train, 10);
    EXPECT_GT(count, 9);
    EXPECT_EQ(weight, static_cast<float>(count)) << "training counts how documents begin";
  }
}

TEST_F(Pipeline, StagesFollowTheBatchSchedule) {
  config_.train_weights = {{0, {{"a", 1}}}, {5, {{"b", 1}}}};
  EXPECT_EQ(make(4).train->stage_number(19), 0);
  EXPECT_EQ(make(4).train->stage_number(20), 1);
  const BatchSchedule growing({{0, 4}, {2, 14}});  // step 5 begins at sequence 50
  EXPECT_EQ(make(growing).train->stage_number(49), 0);
  EXPECT_EQ(make(growing).train->stage_number(50), 1);
}

TEST_F(Pipeline, AStageInsideABlockWaitsForTheNext) {
  config_.train_weights = {{0, {{"a", 1}}}, {3, {{"b", 1}}}, {4, {{"a", 1}, {"b", 1}}}};
  testing::internal::CaptureStderr();
  const auto datasets = make(4);  // 12 and 16 both become 20: the later one counts
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("the weights of step 3 take effect 8 sequences later, where a block of "
                             "mixture_block_size = 10 ends"));
  EXPECT_EQ(datasets.train->counts(19), (std::vector<std::int64_t>{10, 0}));
  EXPECT_EQ(datasets.train->counts(20), (std::vector<std::int64_t>{5, 5}));
}

TEST_F(Pipeline, StarvedSetsAreNamed) {
  config_.train_weights = {{0, {{"a", 0.99}, {"b", 0.01}}}};
  testing::internal::CaptureStderr();
  make();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("data set b has a weight but gets no sequence of a block"));
}

TEST_F(Pipeline, LimitsOfTrainingData) {
  config_.train_weights = {{0, {{"a", 1}}}};
  config_.max_train_batches = {{"a", 3}};
  EXPECT_EQ(all(*make(4).train, 500).size(), 12u);
  config_.max_train_batches.clear();
  config_.target_budget = 1000;
  config_.experiment_budget = 100;
  EXPECT_EQ(all(*make(4).train, 500).size(), 50u);
}

TEST_F(Pipeline, IteratingFromAStepEqualsTheTail) {
  const Loader loader(make().train, BatchSchedule({{0, 4}, {7, 6}}));
  std::vector<Batch> full;
  for (std::int64_t step = 0; step < 30; ++step) full.push_back(loader.batch(step));
  const Loader again(make().train, BatchSchedule({{0, 4}, {7, 6}}));
  for (const std::int64_t from : {0, 6, 7, 29}) {
    for (std::int64_t step = from; step < 30; ++step)
      EXPECT_EQ(again.batch(step), full[static_cast<std::size_t>(step)]);
  }
}

TEST_F(Pipeline, ImportedTokensNeedNoFiles) {
  std::string ids;
  for (int i = 0; i < 100; ++i) ids += std::string(1, static_cast<char>(i)) + std::string(1, '\0');
  SourceConfig source;
  config_.configs.emplace_back("ids", source);
  EXPECT_FALSE(config_.missing_sources().empty());
  store::import_tokens(folder_ / "cache/ids/train", {folder_.write("ids.bin", ids)},
                       store::TokenFiles::RawU16);
  EXPECT_TRUE(config_.missing_sources().empty());
  config_.train_weights = {{0, {{"ids", 1}}}};
  const auto datasets = make();
  const auto rows = all(*datasets.train, 60);
  EXPECT_EQ(rows.size(), 6u);
  EXPECT_EQ((*rows.begin())[1], 1);
  const store::ByteProcessor small("small", 50);
  config_.configs = {config_.configs.back()};
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { build_caches(config_, small, 1); }),
      HasSubstr("it has ids up to 99 but this run's vocabulary has 50\nhint: the tokenizer that these ids "
                "come from"));
}

TEST_F(Pipeline, Reports) {
  std::set<std::string> seen;
  build_caches(config_, bytes_, 1,
               [&](const CacheReport& report) { seen.insert(report.name + "/" + report.split); });
  EXPECT_EQ(seen, (std::set<std::string>{"a/train", "b/train"}));
}

TEST_F(Pipeline, Errors) {
  config_.num_validation_sequences = {{"b", 200}};
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { make(); }),
      HasSubstr(
          "data.num_validation_sequences: is 200 for b, which has 200 sequences\nhint: hold back fewer than 200"));
  config_.num_validation_sequences.clear();
  add("tiny", 1);
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { make(); }),
              testing::AllOf(HasSubstr("data: tiny has "),
                             HasSubstr("fewer than one sequence of 16\nhint: more text")));
  config_.configs.back().second.train_urls = {folder_ / "nothing*.txt"};
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { make(); }),
              HasSubstr("data set tiny: data files: no file matches"));
  config_.configs.back().second.train_urls = {"hdfs://x/y.txt"};
  config_.configs.front().second.train_urls.clear();
  EXPECT_EQ(
      error_of(ErrorKind::Config, [&] { make(); }),
      "data: not everything can be read\n"
      "  data.configs.a.train_urls: no files; give paths, for example [\"my/*.txt\"]\n"
      "  data.configs.tiny.train_urls: hdfs://x/y.txt is on hdfs://, which Bora does not read; download it "
      "and give "
      "local paths");
}

}  // namespace
}  // namespace bora::data

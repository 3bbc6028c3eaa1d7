// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_record.h"

#include <gtest/gtest.h>

#include <string>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/test_faults.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora::run {
namespace {

void write_plainly(const std::string& path, const std::string& text) {
  const auto file = files().create(path);
  file->write(as_bytes(text));
  file->close();
}

class RunRecordTest : public testing::Test {
 protected:
  std::string arithmetic(const std::string& record) {
    files().make_directories(directory_);
    write_atomically(path_join(directory_, "run.json"), record);
    return recorded_arithmetic(directory_);
  }

  std::string directory_ = testing::TempDir() + "bora_run_record";
};

TEST_F(RunRecordTest, TellsTheArithmetic) {
  EXPECT_EQ(arithmetic(R"json({"arithmetic": "AVX3 (amx products, libtorch AVX512, x)"})json"),
            "AVX3 (amx products, libtorch AVX512, x)");
  EXPECT_EQ(arithmetic(R"json({"arithmetic": 3})json"), "");
  EXPECT_EQ(arithmetic(R"json({"arith)json"), "");
}

// Bora's products had another name once; a run of then goes on with the same ones.
TEST_F(RunRecordTest, KnowsTheOlderNameOfItsProducts) {
  EXPECT_EQ(arithmetic(R"json({"arithmetic": "AVX3 (own products, libtorch AVX512, x)"})json"),
            "AVX3 (bora products, libtorch AVX512, x)");
}

// A start that is recorded while the disk is full, and again by the same process.
TEST_F(RunRecordTest, EveryFileIsOldOrNewWhateverFails) {
  const RunPlace place{.id = "run", .directory = directory_ + "_faults", .command = "config.yaml"};
  bora::test::expect_old_or_new_whatever_fails(place.directory, [&](bool fresh) {
    LoadedConfig loaded;
    loaded.config.z_loss_weight = fresh ? 0.5 : 0;
    const TextData text{
        Tokenizer::from_json(tokenize::kTiny, fresh ? R"({"mine": 2})" : R"({"mine": 1})"), {}, {}, nullptr};
    record_run(loaded, place, text,
               {.time = fresh ? 2e9 : 1e9,
                .step = fresh ? 7 : 0,
                .lanes = 2,
                .workers = 1,
                .takes_other_data = true});
  });
  const auto record = parse_json(read_text(path_join(place.directory, "run.json")), "run.json");
  ASSERT_EQ(record["starts"].size(), 2U);
  EXPECT_EQ(record["starts"][1]["changed"], Json::array({"z_loss_weight: 0 -> 0.5"}));
  remove_all(place.directory);
}

// Of a changed record nothing is believed; where only its hash is gone, all of it.
TEST_F(RunRecordTest, NoFlippedBitIsBelieved) {
  const std::string file = path_join(directory_, "run.json");
  const RunPlace place{.id = "run", .directory = directory_, .command = "config.yaml"};
  const TextData text{Tokenizer::from_json(tokenize::kTiny, "{}"), {}, {}, nullptr};
  const RunStart start{.time = 1e9, .step = 3, .lanes = 2, .workers = 1};
  remove_all(directory_);
  files().make_directories(directory_);
  record_run({}, place, text, start);
  const std::string whole = read_text(file), words = recorded_arithmetic(directory_);
  ASSERT_EQ(lanes_of_record(directory_), 2);
  std::int64_t kept = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write_plainly(file, flipped);
    const auto lanes = lanes_of_record(directory_);
    const auto arithmetic = recorded_arithmetic(directory_);
    EXPECT_TRUE(!lanes || lanes == 2) << bit;
    EXPECT_TRUE(arithmetic.empty() || arithmetic == words) << bit;
    kept += lanes ? 1 : 0;
  }
  EXPECT_LT(kept, 8 * 20) << "those of the name of the hash";

  const auto at = whole.find("\"lanes\": 2") + 9;
  write_plainly(file, whole.substr(0, at) + "4" + whole.substr(at + 1));
  testing::internal::CaptureStderr();
  record_run({}, place, text, start);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "bora: warning: " + file +
                ": its own hash does not fit, or it is no JSON; what it said of earlier starts is lost\n");
  testing::internal::CaptureStderr();
  record_run({}, place, text, start);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "written anew";
  remove_all(directory_);
}

}  // namespace
}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A disk without space: clear words, nothing half-written under a final name, and a later run goes on. A
// limit on the size of a file stands for the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// While it lives, this process and the programs it starts cannot make a file longer than `bytes`: writing
// fails, as SIGXFSZ is ignored.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    auto limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

constexpr rlim_t kTextOnly = 100'000;  // enough for all that the program writes but weights
constexpr rlim_t kAlmostNothing = 12'000;

Finished run_limited(const std::string& folder, const std::vector<std::string>& arguments, rlim_t bytes) {
  FileSizeLimit limit(bytes);
  return run(folder, arguments);
}

void expect_full_disk(const Finished& done, const std::string& file) {
  EXPECT_EQ(done.code, 1) << done.output;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("bora: "), HasSubstr(file), HasSubstr("cannot write: File too large"),
                    Not(HasSubstr("internal error"))));
}

// Names in a directory, hidden ones too, that look unfinished.
std::vector<std::string> leftovers(const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& name : files().list(directory))
    if (name.find("tmp") != std::string::npos) out.push_back(name);
  return out;
}

TEST(FullDisk, ACheckpointThatDoesNotFit) {
  auto folder = small_project("full_checkpoint");
  auto run_directory = folder + "/runs/run";
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=2"}).code,
            75);
  auto full = run_limited(folder, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=9"},
                          kTextOnly);
  expect_full_disk(full, "model-00001-of-00001.safetensors");
  EXPECT_THAT(full.output, HasSubstr("while saving step-3"));
  EXPECT_TRUE(exists(run_directory + "/step-2"));
  EXPECT_FALSE(exists(run_directory + "/step-3"));
  EXPECT_THAT(leftovers(run_directory), testing::IsEmpty());
  auto again = run(folder, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=5"});
  EXPECT_EQ(again.code, 75) << again.output;
  EXPECT_THAT(again.output, HasSubstr("at step 2 of 40"));
  EXPECT_TRUE(exists(run_directory + "/step-5/manifest.json"));
}

TEST(FullDisk, ATokenCacheThatDoesNotFit) {
  auto folder = small_project("full_cache");
  auto full = run_limited(folder, {"cache", "config.yaml"}, kAlmostNothing);
  expect_full_disk(full, "cache/one/train/tokens-00000.bin");
  EXPECT_FALSE(exists(folder + "/cache/one/train/ledger.json")) << "only a finished cache has a ledger";
  auto again = run(folder, {"cache", "config.yaml", "--verify"});
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("hashes ok"));
}

// With a trained model, exported to `model`.
class FullDiskWithModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = small_project("full_model");
    auto trained = run(folder_, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=1"});
    auto exported = run(folder_, {"export", "runs/run", "model"});
    ready_ = trained.code == 75 && exported.code == 0;
  }
  void SetUp() override { ASSERT_TRUE(ready_); }

  static inline std::string folder_;
  static inline bool ready_ = false;
};

TEST_F(FullDiskWithModel, AnExportKeepsTheOneBefore) {
  auto before = read_text(folder_ + "/model/model.safetensors");
  for (const char* to : {"model", "new"})
    expect_full_disk(run_limited(folder_, {"export", "runs/run", to}, kTextOnly), "model.safetensors");
  EXPECT_EQ(read_text(folder_ + "/model/model.safetensors"), before);
  EXPECT_FALSE(exists(folder_ + "/new"));
  EXPECT_THAT(leftovers(folder_), testing::IsEmpty());
}

TEST_F(FullDiskWithModel, AnImportLeavesNoCheckpoint) {
  expect_full_disk(run_limited(folder_, {"import", "model", "runs/imported"}, kTextOnly),
                   "while saving step-0");
  EXPECT_FALSE(exists(folder_ + "/runs/imported"));
  EXPECT_THAT(leftovers(folder_ + "/runs"), testing::IsEmpty());
  auto again = run(folder_, {"import", "model", "runs/imported"});
  EXPECT_EQ(again.code, 0) << again.output;
}

TEST_F(FullDiskWithModel, AForwardPassLeavesNoOutput) {
  write_atomically(folder_ + "/ids.json", "[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]]");
  std::vector<std::string> arguments = {"forward",  "--model", "model",          "--ids",
                                        "ids.json", "--out",   "out.safetensors"};
  expect_full_disk(run_limited(folder_, arguments, kAlmostNothing), "out.safetensors");
  EXPECT_FALSE(exists(folder_ + "/out.safetensors"));
  EXPECT_THAT(leftovers(folder_), testing::IsEmpty());
  EXPECT_EQ(run(folder_, arguments).code, 0);
}

TEST(FullDisk, ATokenizerThatDoesNotFit) {
  auto folder = small_project("full_tokenizer");
  std::vector<std::string> arguments = {"train-tokenizer", "one.txt",  "--vocab_size", "300",
                                        "--out",           "tokenizer"};
  expect_full_disk(run_limited(folder, arguments, 2000), "tokenizer.json");
  EXPECT_FALSE(exists(folder + "/tokenizer/tokenizer.json"));
  EXPECT_THAT(leftovers(folder + "/tokenizer"), testing::IsEmpty());
  EXPECT_EQ(run(folder, arguments).code, 0);
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a loss of power leaves of a run's metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "bora/base/output.h"
#include "bora/base/posix_files.h"
#include "bora/optim/test_builtin_optimizers.h"
#include "bora/run/train_run.h"

namespace bora::run {
namespace {

// Notes which files have unsynced bytes at the moment at which a checkpoint becomes visible.
class WatchedFiles : public PosixFileSystem {
 public:
  std::unique_ptr<WriteFile> append(const std::string& path, Access access) override {
    return std::make_unique<Watched>(PosixFileSystem::append(path, access), unsynced(path), *this);
  }
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
    return std::make_unique<Watched>(PosixFileSystem::create(path, access), unsynced(path), *this);
  }
  void rename(const std::string& from, const std::string& to) override {
    PosixFileSystem::rename(from, to);
    if (base_name(to) == "step-3") commits.push_back(at_save);
  }
  void make_directories(const std::string& path) override {
    PosixFileSystem::make_directories(path);
    const std::lock_guard lock(mutex_);
    if (!base_name(path).starts_with(".step-3.tmp")) return;
    at_save.clear();  // what was not on the disk when the save of step 3 began
    for (const auto& [name, bytes] : unsynced_) {
      if (bytes > 0) at_save.push_back(name);
    }
  }

  std::vector<std::string> at_save;
  std::vector<std::vector<std::string>> commits;

 private:
  class Watched : public WriteFile {
   public:
    Watched(std::unique_ptr<WriteFile> inner, std::size_t& unsynced, WatchedFiles& files)
        : inner_(std::move(inner)), unsynced_(unsynced), files_(files) {}
    void write(std::span<const std::byte> bytes) override {
      inner_->write(bytes);
      const std::lock_guard lock(files_.mutex_);
      unsynced_ += bytes.size();
    }
    void sync() override {
      const std::lock_guard lock(files_.mutex_);
      unsynced_ = 0;
    }
    void close() override { inner_->close(); }

   private:
    std::unique_ptr<WriteFile> inner_;
    std::size_t& unsynced_;
    WatchedFiles& files_;
  };
  std::size_t& unsynced(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto name = base_name(path);
    return unsynced_[name.starts_with("events.out") ? "events" : name];
  }

  std::mutex mutex_;
  std::map<std::string, std::size_t> unsynced_;
};

constexpr const char* kConfig = R"(data:
  train_urls: ["FOLDER/text.txt"]
  train_tokenizer: {vocab_size: 270}
  cache_dir: FOLDER/cache
model: {type: gpt2, seq_len: 16, hidden_dim: 16, num_heads: 2, num_layers: 1}
trainer:
  id: run
  train_batch_size: 2
  num_train_steps: 4
  steps_per_eval: 3
  stop_at_step: 3
  threads: 1
  tracker: {type: tensorboard, logdir: FOLDER/tb}
  checkpointer: {base_path: FOLDER/runs, save_interval: null, keep: [{every: 3}]}
)";

TEST(DurableMetrics, AreOnTheDiskBeforeTheCheckpoint) {
  const auto folder = testing::TempDir() + "bora_durable_metrics";
  remove_all(folder);
  std::string text, config = kConfig;
  for (int i = 0; i < 400; ++i) text += "the moon is a compiler of dreams and light falls on water.\n";
  for (std::size_t at; (at = config.find("FOLDER")) != config.npos;) config.replace(at, 6, folder);
  WatchedFiles watched;
  {
    const ScopedFileSystem scope(watched);
    files().make_directories(folder);
    write_atomically(folder + "/text.txt", text);
    write_atomically(folder + "/config.yaml", config);
    EXPECT_EQ(run_training(load_config({folder + "/config.yaml"}, {}), {.quiet = true}), 75);
  }
  continue_output_in("");
  ASSERT_EQ(watched.commits.size(), 1U);
  for (const char* name : {"metrics.jsonl", "timing.jsonl", "events"})
    EXPECT_THAT(watched.commits[0], testing::Not(testing::Contains(name)));
  const auto metrics = read_text(folder + "/runs/run/metrics.jsonl");
  EXPECT_THAT(metrics, testing::HasSubstr("\"step\":2"));
  remove_all(folder);
}

}  // namespace
}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One run directory, one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kLongRun = {"train",
                                           "../config.yaml",
                                           "--data.configs.one.train_urls=[\"../one.txt\"]",
                                           "--data.configs.two.train_urls=[\"../two.txt\"]",
                                           "--data.cache_dir=../cache",
                                           "--trainer.checkpointer.base_path=../runs",
                                           "--trainer.checkpointer.keep=[]",
                                           "--trainer.num_train_steps=5000",
                                           "--trainer.threads=1"};

// The first process, which works in a folder of its own so that its output does not mix with the second's. It
// is told to stop when this object dies.
class FirstProcess {
 public:
  explicit FirstProcess(const std::string& project) : project_(project) {
    files().make_directories(project_ + "/first");
    thread_ = std::thread([this] { finished_ = run(project_ + "/first", kLongRun); });
  }
  ~FirstProcess() {
    if (thread_.joinable()) interrupt();
  }
  FirstProcess(const FirstProcess&) = delete;
  FirstProcess& operator=(const FirstProcess&) = delete;

  // True once it trains; false if a minute was not enough.
  bool trains() const {
    for (int i = 0; i < 600; ++i) {
      auto metrics = files().info(project_ + "/runs/run/metrics.jsonl");
      if (metrics && metrics->size > 0) return true;
      ::usleep(100'000);
    }
    return false;
  }
  // As the lock file tells: "process PID on HOST since TIME".
  int process() const {
    int id = 0;
    std::sscanf(read_text(project_ + "/runs/run/.lock").c_str(), "process %d on", &id);
    return id;
  }
  const Finished& interrupt() {
    if (exists(project_ + "/runs/run/.lock") && process() > 1) ::kill(process(), SIGINT);
    thread_.join();
    return finished_;
  }

 private:
  std::string project_;
  Finished finished_;
  std::thread thread_;
};

TEST(RunLock, SecondProcessIsRefusedWhileTheFirstLives) {
  auto folder = small_project("lock");
  FirstProcess first(folder);
  ASSERT_TRUE(first.trains());
  for (const char* flag : {"--quiet", "--fresh"}) {
    auto second = run(folder, {"train", "config.yaml", flag});
    EXPECT_EQ(second.code, 2) << second.output;
    EXPECT_THAT(second.output,
                AllOf(HasSubstr("nothing was started"),
                      HasSubstr("runs/run: in use by process " + std::to_string(first.process())),
                      HasSubstr("trainer.id  "), HasSubstr("choose another run id")));
  }
  EXPECT_FALSE(exists(folder + "/runs/run.before-1")) << "a living run was put aside";
  auto stopped = first.interrupt();
  EXPECT_EQ(stopped.code, 75) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("run it again to go on"));
  // From here the paths of its texts are others, and so may be the texts.
  const auto status = parse_json(read_text(folder + "/runs/run/status.json"), "status.json");
  std::vector<std::string> again = {
      "train", "config.yaml", "--trainer.num_train_steps=5000",
      "--trainer.stop_at_step=" + std::to_string(status["step"].get<std::int64_t>() + 1)};
  const auto moved = run(folder, again);
  EXPECT_EQ(moved.code, 2) << moved.output;
  EXPECT_THAT(moved.output,
              HasSubstr("was [../one.txt] when runs/run was last started and is [one.txt] now"));
  again.emplace_back("--accept_changes");
  auto third = run(folder, again);
  EXPECT_EQ(third.code, 75) << third.output;
  EXPECT_THAT(third.output, HasSubstr("resumed"));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A terminal that hangs up, a reader that goes, a process that dies: the run goes on, or goes on later.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "launched.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Standard output and error are in output.txt; or output is a pipe whose reader is gone; or these and input are closed.
enum class Streams { Kept, Unread, Closed };

// The program beside the test, with SIGPIPE as `pipe_signal` says.
class Beside {
 public:
  Beside(const std::string& folder, std::vector<std::string> arguments, Streams streams = Streams::Kept,
         void (*pipe_signal)(int) = SIG_DFL, void (*hang_up)(int) = SIG_DFL)
      : folder_(folder) {
    arguments.insert(arguments.begin(), BORA_PROGRAM);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int out = ::open((folder + "/output.txt").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (int ends[2]; streams == Streams::Unread && ::pipe(ends) == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
    }
    ::close(out);
    if (streams == Streams::Closed)
      for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
    ::signal(SIGPIPE, pipe_signal);
    ::signal(SIGHUP, hang_up);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~Beside() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  pid_t pid() const { return pid_; }
  bool wait_for_step(int step) const {
    for (int i = 0; i < 6000 && newest_step(folder_) < step; ++i) ::usleep(10'000);
    return newest_step(folder_) >= step;
  }
  Finished wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            read_text(folder_ + "/output.txt")};
  }

 private:
  std::string folder_;
  pid_t pid_;
};

const std::vector<std::string> kLong = {"train", "config.yaml", "--trainer.threads=1",
                                        "--trainer.num_train_steps=5000"};
const std::vector<std::string> kShort = {"train", "config.yaml", "--trainer.threads=1",
                                         "--trainer.num_train_steps=4"};

std::vector<std::string> checkpoints_of(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& name : files().list(folder + "/runs/run"))
    if (name.starts_with("step-")) out.push_back(name);
  return out;
}

TEST(Interrupted, AHangUpIsAStop) {
  auto folder = small_project("hang_up");
  Beside run(folder, kLong);
  ASSERT_TRUE(run.wait_for_step(2));
  ::kill(run.pid(), SIGHUP);
  auto done = run.wait();
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("run it again to go on from step"));
}

TEST(Interrupted, NohupHoldsOffHangUps) {
  auto folder = small_project("nohup");
  Beside run(folder, kLong, Streams::Kept, SIG_DFL, SIG_IGN);
  ASSERT_TRUE(run.wait_for_step(2));
  ::kill(run.pid(), SIGHUP);
  const int step = newest_step(folder);
  EXPECT_TRUE(run.wait_for_step(step + 5));
  ::kill(run.pid(), SIGTERM);
  EXPECT_EQ(run.wait().code, 75);
}

TEST(Interrupted, AReaderThatGoesEndsNoTraining) {
  auto folder = small_project("closed_pipe");
  auto done = Beside(folder, kShort, Streams::Unread).wait();
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output,
              HasSubstr("nobody reads standard output any more; it goes on in runs/run/log.txt"));
  const auto log = read_text(folder + "/runs/run/log.txt");
  EXPECT_THAT(log, AllOf(HasSubstr("seed "), HasSubstr("step  4/4"), HasSubstr("next:")));
  EXPECT_TRUE(exists(folder + "/runs/run/step-4/manifest.json"));
}

// The numbers of closed streams are those of the next files that are opened: no words of a run get into them.
TEST(Interrupted, ClosedStreamsLeaveTheFilesOfARunAlone) {
  const auto folder = small_project("closed_streams"), usual = small_project("open_streams");
  EXPECT_EQ(Beside(folder, kShort, Streams::Closed).wait().code, 0);
  EXPECT_EQ(Beside(usual, kShort).wait().code, 0);
  for (const char* file :
       {"metrics.jsonl", "text.jsonl", "tokenizer/tokenizer.json", "step-4/model-00001-of-00001.safetensors"})
    EXPECT_EQ(read_text(folder + "/runs/run/" + file), read_text(usual + "/runs/run/" + file)) << file;
  EXPECT_THAT(read_text(folder + "/runs/run/log.txt"), AllOf(HasSubstr("seed "), HasSubstr("step  4/4")));
  EXPECT_EQ(Beside(folder, {"train", "none.yaml"}, Streams::Closed).wait().code, 2);
  EXPECT_EQ(Beside(folder, {"nonsense"}, Streams::Closed).wait().code, 2);
  EXPECT_EQ(Beside(folder, {"version"}, Streams::Closed).wait().code, 1) << "what was asked for is not told";
}

TEST(Interrupted, AReaderThatGoesEndsNoLaunchedTraining) {
  if (!can_run_workers()) GTEST_SKIP() << "needs mpirun and the MPI plug-in";
  auto folder = small_project("closed_pipe_launched");
  std::vector<std::string> line = {"launch", "-n", "2", "--no-pin", "--threads", "1", "--"};
  line.insert(line.end(), kShort.begin(), kShort.end());
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  auto done = Beside(folder, line, Streams::Unread).wait();
  ::unsetenv("ASAN_OPTIONS");
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(read_text(folder + "/runs/run/log.txt"),
              AllOf(HasSubstr("seed "), HasSubstr("step"), HasSubstr("next:"),
                    HasSubstr(" launch -n 2 -- train config.yaml ")));
}

TEST(Interrupted, OtherCommandsEndWithTheirReader) {
  auto folder = small_project("closed_pipe_short");
  for (auto* pipe_signal : {SIG_DFL, SIG_IGN}) {
    for (const char* command : {"version", "--help", "--flags"}) {
      auto done = Beside(folder, {command}, Streams::Unread, pipe_signal).wait();
      EXPECT_EQ(done.code, 128 + SIGPIPE) << command << done.output;
      EXPECT_EQ(done.output, "");
    }
  }
}

TEST(Interrupted, WhatAStopSavesGoesWhenTheRunGoesOn) {
  auto folder = small_project("stop_is_temporary");
  auto train = [&](const char* stop) {
    auto arguments = kShort;
    arguments.insert(arguments.end(), {"--trainer.checkpointer.keep=[]", stop});
    return run(folder, arguments);
  };
  EXPECT_EQ(train("--trainer.stop_at_step=2").code, 75);
  EXPECT_THAT(checkpoints_of(folder), ElementsAre("step-2"));
  EXPECT_THAT(run(folder, {"inspect", "runs/run/step-2"}).output, HasSubstr("temporary"));
  EXPECT_EQ(train("--trainer.stop_at_step=3").code, 75);
  EXPECT_THAT(checkpoints_of(folder), ElementsAre("step-3"));
  EXPECT_EQ(train("--trainer.stop_at_step=4").code, 0);
  EXPECT_THAT(checkpoints_of(folder), ElementsAre("step-4"));
  EXPECT_THAT(run(folder, {"inspect", "runs/run/step-4"}).output, HasSubstr("permanent"));
}

TEST(Interrupted, AnIncompleteCheckpointIsNotInTheWay) {
  auto folder = small_project("incomplete");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=2"}).code,
            75);
  files().remove(folder + "/runs/run/step-2/manifest.json");
  files().make_directories(folder + "/runs/run/step-3");
  auto done = run(folder, kShort);
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("step-2: has no manifest.json; it is incomplete"),
                                 HasSubstr("kept as step-3.damaged"), HasSubstr("at step 1 of 4")));
  EXPECT_TRUE(exists(folder + "/runs/run/step-4/manifest.json"));
}

TEST(Interrupted, StartingOverBesideCheckpointsIsRefused) {
  auto folder = small_project("no_load");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=1"}).code,
            75);
  auto arguments = kShort;
  arguments.emplace_back("--trainer.load_checkpoint=false");
  auto refused = run(folder, arguments);
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("trainer.load_checkpoint  is false, but runs/run/step-1 exists"),
                    HasSubstr("; --fresh keeps runs/run under another name")));
  arguments.emplace_back("--fresh");
  EXPECT_EQ(run(folder, arguments).code, 0);
}

// Replaces a file of a checkpoint and makes the hashes right again, as whoever edits one on purpose.
void reseal(const std::string& checkpoint, const std::function<void(Json&)>& edit) {
  const auto path = checkpoint + "/state.json", manifest_path = checkpoint + "/manifest.json";
  auto state = Json::parse(read_text(path));
  edit(state);
  const auto text = state.dump(2) + "\n";
  write_atomically(path, text);
  auto manifest = Json::parse(read_text(manifest_path));
  const auto hash = hash128(as_bytes(text)).hex();
  for (auto& file : manifest["files"]) {
    if (file["name"] != "state.json") continue;
    file["size"] = text.size();
    file["xxh3_128"] = hash;
    file["blocks"] = Json::array({hash});
  }
  manifest.erase("hash");
  auto body = manifest.dump(2);
  body.resize(body.size() - 2);
  write_atomically(manifest_path, body + ",\n  \"hash\": \"" + hash128(as_bytes(body)).hex() + "\"\n}\n");
}

TEST(Interrupted, AFreshStartThatFailsGivesTheEarlierRunBack) {
  const auto folder = small_project("fresh_fails");
  ASSERT_EQ(run(folder, kShort).code, 0);
  const auto before = read_text(folder + "/runs/run/step-4/manifest.json");
  write_atomically(folder + "/bad.jsonl", "{\"text\": \"" + std::string(200, 'a') + "\"}\n{\"text\": \n");
  auto bad = with(kShort, {"--fresh", "--data.configs.two.train_urls=[bad.jsonl]",
                           "--data.num_validation_sequences=null", "--data.cache_dir=new"});
  const auto failed = run(folder, bad);
  EXPECT_NE(failed.code, 0);
  EXPECT_THAT(failed.output,
              AllOf(HasSubstr("bad.jsonl:2: "), HasSubstr("the earlier run is kept as runs/run.before-1"),
                    HasSubstr("the earlier run is runs/run again")));
  EXPECT_EQ(read_text(folder + "/runs/run/step-4/manifest.json"), before);
  EXPECT_FALSE(exists(folder + "/runs/run.before-1"));
}

// Hours of work, perhaps, that the next start goes on with.
TEST(Interrupted, AFailedStartLeavesTheTokensThatItMade) {
  const auto folder = small_project("tokens_stay");
  write_atomically(folder + "/bad.jsonl", "{\"text\": \"" + std::string(200, 'a') + "\"}\n{\"text\": \n");
  ASSERT_EQ(run(folder, {"train-tokenizer", "one.txt", "--vocab_size", "300", "--out", "tok"}).code, 0);
  write_atomically(
      folder + "/sets.yaml",
      "data:\n  configs: {one: {train_urls: [one.txt]}, two: {train_urls: [bad.jsonl]}}\n"
      "  tokenizer: tok\n  cache_dir: runs/run/cache\n"
      "model: {type: gpt2, seq_len: 32, hidden_dim: 32, num_heads: 4, num_layers: 1}\n"
      "trainer: {id: run, num_train_steps: 2, train_batch_size: 2, checkpointer: {base_path: runs}}\n");
  const auto failed = run(folder, {"train", "sets.yaml"});
  EXPECT_NE(failed.code, 0);
  EXPECT_THAT(failed.output, AllOf(HasSubstr("waiting for all of it"), HasSubstr("bad.jsonl:2: ")));
  EXPECT_TRUE(exists(folder + "/runs/run/cache/one/train/ledger.json")) << failed.output;
  EXPECT_FALSE(exists(folder + "/runs/run/config.yaml"));
}

// Without its record nobody knows which keys have changed, but the checkpoint knows whether any has.
TEST(Interrupted, ARunWithoutItsRecordGoesOnAsItWasAlone) {
  const auto folder = small_project("no_record");
  ASSERT_EQ(run(folder, with(kShort, {"--trainer.stop_at_step=2"})).code, 75);
  write_atomically(folder + "/runs/run/config.yaml", "{[");
  const auto other = with(kShort, {"--trainer.stop_at_step=3", "--optimizer.learning_rate=1e-3"});
  const auto refused = run(folder, other);
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("runs/run/config.yaml is missing or cannot be read, and the "
                                        "configuration is another than that of step 2"));
  EXPECT_EQ(run(folder, with(kShort, {"--trainer.stop_at_step=3"})).code, 2) << "another configuration, too";
  EXPECT_THAT(
      run(folder, with(kShort, {"--trainer.stop_at_step=3", "--accept_changes", "--dry_run"})).output,
      AllOf(HasSubstr("warning     runs/run/config.yaml is missing"), HasSubstr("ok          nothing")));
}

// What the configuration calls by the same name.
TEST(Interrupted, OtherTokensOfTheSameNameAreRefused) {
  const auto folder = small_project("other_tokens");
  ASSERT_EQ(run(folder, with(kShort, {"--trainer.stop_at_step=2"})).code, 75);
  const auto text = read_text(folder + "/one.txt");
  write_atomically(folder + "/one.txt", text + "and something else\n");
  remove_all(folder + "/cache");  // as the refusal of the cache proposes
  const auto refused = run(folder, kShort);
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("runs/run would go on with other data than it began with: data set one had "),
                    HasSubstr("or --accept_changes")));
  EXPECT_EQ(run(folder, with(kShort, {"--accept_changes"})).code, 0);
}

TEST(Interrupted, ImpossibleStatesAreRefused) {
  auto folder = small_project("resealed");
  std::vector<std::string> arguments = kShort;
  arguments.insert(arguments.end(), {"--optimizer.skip_bad_steps=true", "--trainer.stop_at_step=2"});
  ASSERT_EQ(run(folder, arguments).code, 75);
  arguments.back() = "--trainer.stop_at_step=3";
  files().rename(folder + "/runs/run/step-2", folder + "/step-2");
  remove_all(folder + "/runs/run/step-1");
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> cases = {
      {"step-2/state.json: step is 1, the manifest says 2", [](Json& s) { s["step"] = 1; }},
      {"step-2/state.json: tokens is -1; it must be from 0 to", [](Json& s) { s["tokens"] = -1; }},
      {"step-2: state.json: optimizer: updates should be an integer but is \"x\"",
       [](Json& s) { s["optimizer"]["updates"] = "x"; }},
      {"step-2: state.json: optimizer.updates is 1000000 after 2 steps",
       [](Json& s) { s["optimizer"]["updates"] = 1'000'000; }},
      {"step-2: state.json: optimizer: should be an object with updates but is null",
       [](Json& s) { s.erase("optimizer"); }},
      {"step-2: state.json: skip_step.losses should be a list of finite numbers but holds null",
       [](Json& s) { s["skip_step"]["losses"][0] = nullptr; }},
      {"step-2: state.json: skip_step.gradient_norms has 3 values after 2 steps",
       [](Json& s) { s["skip_step"]["gradient_norms"].push_back(1); }},
  };
  for (const auto& [words, edit] : cases) {
    remove_all(folder + "/runs/run/step-2");
    files().make_directories(folder + "/runs/run/step-2");
    for (const auto& name : files().list(folder + "/step-2"))
      write_atomically(folder + "/runs/run/step-2/" + name, read_text(folder + "/step-2/" + name));
    reseal(folder + "/runs/run/step-2", edit);
    auto done = run(folder, arguments);
    EXPECT_EQ(done.code, 3) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("warning: " + words),
                                   HasSubstr("no valid checkpoint is left; the oldest: " + words),
                                   Not(HasSubstr("internal error"))));
    EXPECT_TRUE(exists(folder + "/runs/run/step-2")) << "nothing is renamed where nothing is valid";
  }
}

class Exported : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = small_project("interrupted_export");
    auto trained = run(folder_, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=2"});
    ready_ = trained.code == 75;
  }
  void SetUp() override { ASSERT_TRUE(ready_); }
  static inline std::string folder_;
  static inline bool ready_ = false;
};

TEST_F(Exported, ReplacesWithOrWithoutASlash) {
  for (const char* to : {"exported", "exported/", "exported"}) {
    auto done = run(folder_, {"export", "runs/run", to});
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(files().list(folder_ + "/exported"),
                ElementsAre("config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                            "tokenizer_config.json"));
  }
  for (const auto& name : files().list(folder_)) EXPECT_THAT(name, Not(HasSubstr("tmp")));
}

TEST_F(Exported, AKilledExportLeavesTheOneBefore) {
  ASSERT_EQ(run(folder_, {"export", "runs/run", "killed"}).code, 0);
  for (double seconds : {0.2, 0.3, 0.35, 0.4, 0.45, 0.5}) {
    run(folder_, {"export", "runs/run", "killed"}, seconds);
    EXPECT_EQ(run(folder_, {"inspect", "killed"}).code, 0);
    EXPECT_TRUE(exists(folder_ + "/killed/config.json") && exists(folder_ + "/killed/tokenizer.json"));
  }
  EXPECT_EQ(run(folder_, {"export", "runs/run", "killed"}).code, 0);
  for (const auto& name : files().list(folder_)) EXPECT_THAT(name, Not(HasSubstr("tmp")));
}

TEST_F(Exported, AnImportIsWholeOrNotThere) {
  ASSERT_EQ(run(folder_, {"export", "runs/run", "model"}).code, 0);
  const auto tokenizer = read_text(folder_ + "/model/tokenizer.json");
  write_atomically(folder_ + "/model/tokenizer.json", "{");
  EXPECT_EQ(run(folder_, {"import", "model", "runs/imported"}).code, 3);
  EXPECT_FALSE(exists(folder_ + "/runs/imported"));
  write_atomically(folder_ + "/model/tokenizer.json", tokenizer);
  EXPECT_EQ(run(folder_, {"import", "model", "runs/imported/"}).code, 0);
  EXPECT_THAT(files().list(folder_ + "/runs/imported"),
              ElementsAre("generation_config.json", "step-0", "tokenizer"));
  auto again = run(folder_, {"import", "model", "runs/imported"});
  EXPECT_EQ(again.code, 2) << again.output;
  EXPECT_THAT(
      again.output,
      HasSubstr(
          "import: runs/imported holds generation_config.json already\nhint: choose another directory"));
  auto onto_run = run(folder_, {"import", "model", "runs/run"});
  EXPECT_EQ(onto_run.code, 2) << onto_run.output;
  EXPECT_EQ(run(folder_, {"generate", "runs/imported", "the moon", "--max_new_tokens", "2"}).code, 0);
  for (const auto& name : files().list(folder_ + "/runs")) EXPECT_THAT(name, Not(HasSubstr("tmp")));
}

}  // namespace
}  // namespace bora::golden

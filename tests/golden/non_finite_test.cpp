// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Numbers that are not finite: no checkpoint holds them, exit code 4, and words that name the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "launched.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kTrain12 = {"train", "config.yaml", "--trainer.num_train_steps=12",
                                           "--trainer.threads=1"};

// All values of one tensor of an export become NaN.
void damage(const std::string& model, const std::string& tensor) {
  const auto path = model + "/model.safetensors";
  auto text = read_text(path);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  const auto place = Json::parse(text.substr(8, length)).at(tensor).at("data_offsets");
  for (auto at = place[0].get<std::uint64_t>(); at < place[1].get<std::uint64_t>(); at += 4)
    text.replace(8 + length + at, 4, std::string("\0\0\xc0\x7f", 4));
  write_atomically(path, text);
}

// A project with a model whose weights are not numbers.
std::string damaged(const std::string& name) {
  const auto folder = small_project(name);
  const auto done = run(folder, {"train", "config.yaml", "--trainer.num_train_steps=1", "--hf_export=true"});
  EXPECT_EQ(done.code, 0) << done.output;
  files().rename(folder + "/runs/run/hf", folder + "/hf");
  remove_all(folder + "/runs");
  damage(folder + "/hf", "transformer.h.1.ln_2.weight");
  return folder;
}

TEST(NonFinite, ADivergingRunEndsWithItsLastGoodCheckpoint) {
  const auto folder = small_project("diverges");
  const auto diverging = with(kTrain12, {"--optimizer.learning_rate=1e30"});
  const auto done = run(folder, diverging);
  EXPECT_EQ(done.code, 4) << done.output;
  EXPECT_THAT(
      done.output,
      ContainsRegex(
          "bora: step [0-9]+: the (loss|gradient norm) is (nan|inf|-inf); the parameters are finite, "));
  EXPECT_THAT(done.output, HasSubstr("nothing was changed\nhint: a lower optimizer.learning_rate"));
  const auto last = newest_step(folder);
  EXPECT_GE(last, 1);
  const auto again = run(folder, diverging);
  EXPECT_EQ(again.code, 4) << again.output;
  EXPECT_THAT(again.output, HasSubstr("at step " + std::to_string(last) + " of 12 (checkpoint verified)"));
  EXPECT_EQ(newest_step(folder), last);
}

TEST(NonFinite, WorkersEndAlikeAndAreNotStartedAgain) {
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  for (const char* sharding : {"--trainer.fsdp_axis=embed", "--trainer.fsdp_axis=null"}) {
    const auto folder = small_project("diverge");
    const auto done =
        Launched(folder, 2, {"--restarts", "2"}, with(kTrain12, {"--optimizer.learning_rate=1e30", sharding}))
            .wait();
    EXPECT_EQ(done.code, 4) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("the parameters are finite, "), HasSubstr("nothing was changed"),
                                   Not(HasSubstr("; restart ")), Not(HasSubstr("has failed"))));
    EXPECT_GE(newest_step(folder), 1);
  }
}

TEST(NonFinite, BadWeightsAreNamedAndNeverSaved) {
  const auto folder = damaged("bad_weights");
  const std::string bad = "the parameter h.1.ln_2.weight";
  const auto from =
      with(kTrain12, {"--initialize_from_hf=hf", "--data.tokenizer=hf", "--data.train_tokenizer=null"});
  const auto trained = run(folder, from);
  EXPECT_EQ(trained.code, 4) << trained.output;
  EXPECT_THAT(trained.output,
              HasSubstr("step 0: the loss is nan; the first bad tensor is " + bad + " (element 0)"));
  const auto skipping = run(folder, with(from, {"--trainer.crash_on_nan=false"}));
  EXPECT_EQ(skipping.code, 4) << skipping.output;
  EXPECT_THAT(skipping.output, HasSubstr("after step 1: the first tensor that is not finite is " + bad +
                                         " (element 0); it is not saved"));
  EXPECT_EQ(newest_step(folder), -1);
  for (const std::vector<std::string>& reading :
       {std::vector<std::string>{"generate", "hf", "the moon"}, {"eval", "config.yaml", "--model", "hf"}}) {
    const auto done = run(folder, reading);
    EXPECT_EQ(done.code, 4) << done.output;
    EXPECT_THAT(done.output,
                HasSubstr("bora: hf: the first tensor that is not finite is " + bad + " (element 0): "));
  }
  if (!can_run_workers()) return;
  const auto workers = Launched(folder, 2, {"--restarts", "2"}, from).wait();
  EXPECT_EQ(workers.code, 4) << workers.output;
  EXPECT_THAT(workers.output, HasSubstr("step 0: the loss is nan; the first bad tensor is " + bad + "\n"));
}

// What finds out why writes what it found.
TEST(NonFinite, AForwardPassTellsAndWritesItsTensors) {
  const auto folder = damaged("forward_nan");
  write_atomically(folder + "/ids.json", "[[1, 2, 3, 4]]");
  const auto told =
      run(folder, {"forward", "--model", "hf", "--ids", "ids.json", "--out", "out.safetensors"});
  EXPECT_EQ(told.code, 4) << told.output;
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("loss nan · "),
                    HasSubstr("bora: forward: the loss is not finite; the tensors are written as they are")));
  EXPECT_TRUE(exists(folder + "/out.safetensors"));
}

}  // namespace
}  // namespace bora::golden

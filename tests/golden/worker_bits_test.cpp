// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Any number of workers, split of replicas and data, sharding, number of threads and resume trains what one
// worker trains, bit for bit: a table of ways to train one configuration, and a table of pairs to compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

// Dropout and a mixture of two sources come with the project. Eight lanes are accumulated by whoever has
// several; evaluation has three batches of one source and two of the other; the batch falls to four lanes,
// fewer than some ways have workers; some steps are skipped.
const std::vector<std::string> kTrainBits = {
    "train",
    "config.yaml",
    "--trainer.num_train_steps=12",
    "--trainer.lanes=8",
    "--trainer.train_batch_size=[{start: 0, value: 16}, {start: 4, value: 12}, {start: 8, value: 8}]",
    "--trainer.steps_per_eval=6",
    "--hf_export=true",
    "--data.num_validation_sequences={one: 40, two: 20}",
    "--optimizer.skip_bad_steps={rolling_interval_length: 4, sigma_factor: 0.5}",
    "--optimizer.max_grad_norm=0.5"};
constexpr const char* kWhole = "--trainer.fsdp_axis=null";
constexpr const char* kMoments = "--optimizer.state_dtype=bf16";  // which chance rounds
constexpr const char* kLast = "/runs/run/step-12";

struct Way {
  std::string name;
  int workers = 1, threads = 1;
  std::vector<std::string> more;
  std::string says;          // words of its output
  std::string from;          // goes on with a copy of that way's run ...
  std::int64_t at_step = 0;  // ... at this step
};

const std::vector<Way> kWays = {
    {"one", 1, 1, {}, "8 lanes", "", 0},
    {"one_with_two_threads", 1, 2, {}, "2 threads", "", 0},
    {"two", 2, 1, {}, "2 workers, parameters sharded over them", "", 0},
    {"two_with_two_threads", 2, 2, {}, "2 workers, parameters sharded over them", "", 0},
    {"two_whole", 2, 1, {kWhole}, "2 workers", "", 0},
    {"three", 3, 1, {}, "3 workers, parameters sharded over them", "", 0},
    {"three_whole", 3, 2, {kWhole}, "3 workers", "", 0},
    {"four", 4, 1, {}, "4 workers, parameters sharded over them", "", 0},
    {"four_whole", 4, 1, {kWhole}, "4 workers", "", 0},
    {"replicas_2x2", 4, 1, {"--trainer.replica_ici_axis_size=2"}, "(replica 2 × data 2)", "", 0},
    {"eight", 8, 1, {}, "8 workers, parameters sharded over them", "", 0},
    {"eight_whole", 8, 1, {kWhole}, "8 workers", "", 0},
    {"replicas_4x2", 8, 1, {"--trainer.replica_ici_axis_size=4"}, "(replica 4 × data 2)", "", 0},
    {"one_after_three", 1, 1, {}, "at step 5 of 12", "three", 5},
    {"eight_after_one", 8, 1, {}, "at step 9 of 12", "one", 9},
    {"three_after_eight_whole", 3, 1, {}, "at step 7 of 12", "eight_whole", 7},
    {"two_whole_after_replicas", 2, 2, {kWhole}, "at step 3 of 12", "replicas_2x2", 3},
    {"four_after_two_resumes", 4, 1, {}, "at step 10 of 12", "one_after_three", 10},
    {"bf16_moments", 1, 2, {kMoments}, "8 lanes", "one", 0},
    {"bf16_moments_three", 3, 1, {kMoments}, "3 workers, parameters sharded over them", "one", 0},
    {"bf16_moments_two_whole", 2, 1, {kMoments, kWhole}, "2 workers", "one", 0},
    {"bf16_moments_one_after_three", 1, 1, {kMoments}, "at step 5 of 12", "bf16_moments_three", 5},
    {"bf16_moments_two_after_one", 2, 1, {kMoments}, "at step 9 of 12", "bf16_moments", 9},
};

struct Pair {
  std::string a, b;
};
void PrintTo(const Pair& p, std::ostream* out) { *out << p.a << " and " << p.b; }

const std::vector<Pair> kPairs = {
    {"one", "one_with_two_threads"},
    {"one", "two"},
    {"two", "two_with_two_threads"},
    {"two", "two_whole"},
    {"one", "three"},
    {"three", "three_whole"},
    {"one_with_two_threads", "four"},
    {"three_whole", "four_whole"},
    {"four", "replicas_2x2"},
    {"one", "eight"},
    {"three", "eight_whole"},
    {"replicas_2x2", "replicas_4x2"},
    {"one", "one_after_three"},
    {"two", "eight_after_one"},
    {"four_whole", "three_after_eight_whole"},
    {"eight", "two_whole_after_replicas"},
    {"replicas_4x2", "four_after_two_resumes"},
    {"bf16_moments", "bf16_moments_three"},
    {"bf16_moments", "bf16_moments_two_whole"},
    {"bf16_moments", "bf16_moments_one_after_three"},
    {"bf16_moments", "bf16_moments_two_after_one"},
};

const Way& way(const std::string& name) {
  return *std::find_if(kWays.begin(), kWays.end(), [&](const Way& w) { return w.name == name; });
}

// Where the way has been gone, once for all pairs.
const std::string& trained(const std::string& name);

std::string project_for(const Way& w) {
  const auto name = "workers_" + w.name;
  if (w.name == "one") return small_project(name);
  return copy_project(trained(w.from.empty() ? "one" : w.from), name, w.at_step);
}

std::string go(const Way& w) {
  const auto folder = project_for(w);
  auto arguments = kTrainBits;
  arguments.push_back("--trainer.threads=" + std::to_string(w.threads));
  arguments.insert(arguments.end(), w.more.begin(), w.more.end());
  const auto done = w.workers == 1 ? run(folder, arguments) : run_workers(folder, w.workers, arguments);
  EXPECT_EQ(done.code, 0) << w.name << ": " << done.output;
  EXPECT_THAT(done.output, HasSubstr(w.says)) << w.name;
  return folder;
}

const std::string& trained(const std::string& name) {
  static std::map<std::string, std::string> folders;
  const auto found = folders.find(name);
  return found != folders.end() ? found->second : folders.emplace(name, go(way(name))).first->second;
}

std::vector<Json> records(const std::string& folder) {
  std::vector<Json> out;
  for (const auto& line : split(read_text(folder + "/runs/run/metrics.jsonl"), '\n')) {
    auto record = line.empty() ? Json() : Json::parse(line);
    if (record.contains("train/loss")) out.push_back(std::move(record));
  }
  return out;
}

class WorkerBits : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
};

class WorkerBitsMatrix : public WorkerBits, public testing::WithParamInterface<Pair> {};

TEST_P(WorkerBitsMatrix, BitEqual) {
  const auto &a = trained(GetParam().a), &b = trained(GetParam().b);
  const auto diff = run(a, {"diff", a + kLast, b + kLast});
  EXPECT_EQ(diff.code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
  EXPECT_EQ(read_text(a + "/runs/run/metrics.jsonl"), read_text(b + "/runs/run/metrics.jsonl"));
  const std::string exported = "/runs/run/hf/model.safetensors";
  EXPECT_EQ(read_text(a + exported), read_text(b + exported));
}

INSTANTIATE_TEST_SUITE_P(Pairs, WorkerBitsMatrix, testing::ValuesIn(kPairs),
                         [](const auto& pair) { return pair.param.a + "_and_" + pair.param.b; });

TEST_F(WorkerBits, WorkersThatComputeUnlikeDoNotStart) {
  const auto folder = small_project("unlike_workers");
  if (run(folder, {"version"}).output.find(", AVX2)") != std::string::npos)
    GTEST_SKIP() << "this CPU has no instructions beyond AVX2";
  const auto refused = run_unlike_workers(folder, kTrainBits, "BORA_CPU_TARGET=AVX2");
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output, testing::ContainsRegex("the workers do not compute alike: worker 0 .* with "
                                                     "AVX3 .*, worker 1 .* with AVX2 .*libtorch AVX2.*\n"
                                                     "hint: machines of one kind, or BORA_CPU_TARGET=AVX2"));
  EXPECT_FALSE(exists(folder + "/runs")) << "nothing was begun";
}

// Equal bits say something only of what happens in a run.
TEST_F(WorkerBits, TheConfigurationChangesBatchesAndSkipsSteps) {
  std::set<double> tokens;
  int steps = 0, skipped = 0;
  for (const auto& record : records(trained("one"))) {
    ++steps;
    skipped += record["optim/skipped_step"].get<double>() == 1;
    tokens.insert(record["train/tokens"].get<double>());
  }
  EXPECT_EQ(steps, 12);
  EXPECT_GE(skipped, 1);
  EXPECT_LE(skipped, 6);
  EXPECT_EQ(tokens.size(), 3U);
}

// Blocks are gathered again where they are computed again, and cast each by itself; another axis is cut, some
// parameters are not, and updates are clipped by norms over all workers.
TEST_F(WorkerBits, RecomputedInSixteenBitsWithClippedUpdates) {
  auto arguments = kTrainBits;
  for (const char* more : {"--model.gradient_checkpointing=true", "--trainer.mp=bf16", "--trainer.threads=1",
                           "--trainer.fsdp_axis=[mlp,vocab]", "--optimizer.update_rms_clipping=0.5"})
    arguments.emplace_back(more);
  const auto one = copy_project(trained("one"), "worker_alone_bf16", 0),
             three = copy_project(trained("one"), "workers_bf16", 0);
  const auto first = run(one, arguments), second = run_workers(three, 3, arguments);
  ASSERT_EQ(first.code, 0) << first.output;
  ASSERT_EQ(second.code, 0) << second.output;
  const auto diff = run(one, {"diff", one + kLast, three + kLast});
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

// The library adds in its own order: the same training but for rounding.
TEST_F(WorkerBits, TheFastReductionTrainsTheSameAndNeedsWholeParameters) {
  const std::vector<std::string> steps = {"train", "config.yaml", "--trainer.lanes=4", "--trainer.threads=1",
                                          "--trainer.num_train_steps=4"};
  auto fast = steps;
  fast.emplace_back("--trainer.reduction=fast");
  const auto refused = run_workers(copy_project(trained("one"), "workers_fast_refused", 0), 2, fast);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output,
              HasSubstr("trainer.reduction  fast adds up whole gradients, but parameters are sharded over 2 "
                        "workers; trainer.fsdp_axis: null"));
  fast.emplace_back(kWhole);
  const auto one = copy_project(trained("one"), "workers_fixed_4", 0),
             three = copy_project(trained("one"), "workers_fast_4", 0);
  ASSERT_EQ(run(one, steps).code, 0);
  const auto done = run_workers(three, 3, fast);
  ASSERT_EQ(done.code, 0) << done.output;
  const auto want = losses(one), got = losses(three);
  ASSERT_EQ(want.size(), 4U);
  ASSERT_EQ(got.size(), 4U);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-6 * want[i]) << "step " << i;
}

TEST_F(WorkerBits, EvaluationOfACheckpoint) {
  const auto& folder = trained("one");
  const auto table = [](const std::string& output) {
    return output.substr(std::min(output.find(" one   "), output.size()));  // below its heading
  };
  std::vector<std::string> arguments(kTrainBits);
  arguments[0] = "eval";
  const auto alone = run(folder, arguments), three = run_workers(folder, 3, arguments);
  ASSERT_EQ(alone.code, 0) << alone.output;
  ASSERT_EQ(three.code, 0) << three.output;
  EXPECT_THAT(table(alone.output), HasSubstr(" two   "));
  EXPECT_EQ(table(three.output), table(alone.output));
}

TEST_F(WorkerBits, MoreWorkersThanLanesAreRefused) {
  auto folder = small_project("workers_too_many");
  auto done = run_workers(folder, 3, {"train", "config.yaml", "--trainer.lanes=2", "--trainer.threads=1"});
  EXPECT_NE(done.code, 0);
  EXPECT_THAT(done.output, HasSubstr("3 workers, but the batch of 8 sequences is cut into 2 lanes"));
  EXPECT_FALSE(exists(folder + "/runs/run/step-1"));
}

}  // namespace
}  // namespace bora::golden

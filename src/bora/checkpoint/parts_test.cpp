// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Several workers write one checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/fault_files.h"
#include "bora/checkpoint/async_writer.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/test_files.h"
#include "bora/mesh/test_communicator.h"

namespace bora::checkpoint {
namespace {

using test::error_of;
using test::Folder;
using test::TinyRun;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

// Worker 0 writes the parameters, worker 1 the optimizer's state.
CheckpointContent part_of(const TinyRun& run, int worker) {
  auto content = run.content(400);
  content.part = {worker, 2};
  content.owned = true;
  (worker == 0 ? content.optimizer : content.parameters).clear();
  return content;
}

TEST(CheckpointParts, OneWorkerWaitsForTheOther) {
  Folder folder;
  const TinyRun run(1);
  AsyncWriter first(folder / "run"), second(folder / "run");
  first.save(part_of(run, 0));  // waits on its own thread
  EXPECT_FALSE(exists(folder / "run/step-400"));
  second.save(part_of(run, 1));
  second.wait();
  first.wait();
  EXPECT_THAT(files().list(folder / "run"), ElementsAre("step-400"));
  EXPECT_THAT(files().list(folder / "run/step-400"),
              ElementsAre("manifest.json", "model-worker-0-00001-of-00001.safetensors",
                          "optimizer-worker-1-00001-of-00001.safetensors", "state.json"));
  TinyRun live(2);
  const auto restored = restore_latest(folder / "run", live.parameters(), live.optimizer());
  ASSERT_TRUE(restored);
  EXPECT_TRUE(live.equals(run));
}

TEST(CheckpointParts, AMissingWorkerIsNamedAndNothingIsLeft) {
  Folder folder;
  const TinyRun run(1);
  EXPECT_THAT(error_of([&] { save_checkpoint(folder / "run", part_of(run, 0), {.part_deadline = 0.01}); }),
              HasSubstr("worker 1 did not finish its files within 0.01 s"));
  EXPECT_THAT(files().list(folder / "run"), ElementsAre());
}

TEST(CheckpointParts, AWorkersFailureReachesTheFirst) {
  Folder folder;
  const TinyRun run(1);
  auto twice = part_of(run, 1);
  twice.optimizer.push_back(twice.optimizer[0]);  // a name that is there already
  EXPECT_NE(error_of([&] { save_checkpoint(folder / "run", twice); }), "no error");
  EXPECT_THAT(error_of([&] { save_checkpoint(folder / "run", part_of(run, 0)); }),
              HasSubstr("while saving step-400: worker 1: "));
  EXPECT_THAT(files().list(folder / "run"), ElementsAre());
}

TEST(CheckpointParts, WaitingEndsWithTheWriter) {
  Folder folder;
  const TinyRun run(1);
  {
    AsyncWriter first(folder / "run");
    first.save(part_of(run, 0));
  }
  EXPECT_THAT(files().list(folder / "run"), ElementsAre());
}

// The disk of worker 1 cannot read the newest checkpoint.
class OneCannotRead : public FaultFiles {
 public:
  using FaultFiles::FaultFiles;
  std::unique_ptr<ReadFile> open(const std::string& path) override {
    if (worker == 1 && path.find("step-600/optimizer-") != path.npos) fail_file(path, "open", EIO);
    return FaultFiles::open(path);
  }
  static inline thread_local int worker = 0;
};

// Then nobody uses it.
TEST(CheckpointParts, AllWorkersGoOnFromTheSameOne) {
  Folder folder;
  const TinyRun older(1), newer(2);
  save_checkpoint(folder.path(), older.content(500));
  save_checkpoint(folder.path(), newer.content(600));
  OneCannotRead broken(files());
  const ScopedFileSystem scope(broken);
  TinyRun live[] = {TinyRun(3), TinyRun(4), TinyRun(5)};
  std::int64_t steps[] = {0, 0, 0};
  testing::internal::CaptureStderr();
  const auto errors = mesh::testing::run_workers({.count = 3}, [&](mesh::Communicator& workers) {
    const int rank = OneCannotRead::worker = workers.rank();
    const auto restored = restore_latest(folder.path(), live[rank].parameters(), live[rank].optimizer(),
                                         {.take_state = {}, .workers = &workers});
    steps[rank] = restored ? restored->manifest.step : -1;
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_THAT(steps, ElementsAre(500, 500, 500));
  for (const TinyRun& run : live) EXPECT_TRUE(run.equals(older));
  EXPECT_THAT(log,
              HasSubstr("warning: worker 1: " + (folder / "step-600/optimizer-00001-of-00001.safetensors") +
                        ": cannot open: Input/output error"));
  EXPECT_THAT(files().list(folder.path()), ElementsAre("step-500", "step-600.damaged"));
}

TEST(CheckpointParts, NoneIsLeftForSeveralWorkers) {
  Folder folder;
  save_checkpoint(folder.path(), TinyRun(1).content(5));
  write_file(folder / "step-5/state.json", "");
  TinyRun live[] = {TinyRun(3), TinyRun(4)};
  testing::internal::CaptureStderr();
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& workers) {
    const auto& run = live[workers.rank()];
    EXPECT_FALSE(restore_latest(folder.path(), run.parameters(), run.optimizer(),
                                {.take_state = {}, .workers = &workers}));
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(errors[0],
              HasSubstr("no valid checkpoint is left; the oldest: step-5: state.json: has 0 bytes"));
  EXPECT_THAT(log, testing::Not(HasSubstr("worker 1")));  // it found the same
}

TEST(CheckpointParts, BlocksOfAnArrayAreRestored) {
  Folder folder;
  const TinyRun run(1);
  save_checkpoint(folder / "run", run.content(400));
  const std::vector<std::int64_t> whole{8, 40};
  const mesh::AxisCut cut(whole, 1, 3);
  TinyRun live(2);
  const TinyRun narrow(2, cut.end(1) - cut.begin(1));
  auto parameters = live.parameters();
  parameters[0].array = narrow.arrays[0].array;
  parameters[0].cut = cut;
  parameters[0].worker = 1;
  restore_checkpoint(folder / "run/step-400", parameters, live.optimizer());
  std::vector<float> want(static_cast<std::size_t>(cut.elements(1)));
  cut.extract(1, run.arrays[0].array.data<float>(), want.data());
  EXPECT_EQ(narrow.arrays[0].array.to_vector<float>(), want);

  parameters[0].cut = mesh::AxisCut(std::vector<std::int64_t>{8, 41}, 1, 3);
  EXPECT_THAT(error_of([&] { restore_checkpoint(folder / "run/step-400", parameters, live.optimizer()); }),
              HasSubstr("the checkpoint has [mlp=8, embed=40], the model has [mlp=8, embed=41]"));
}

// Experts over one axis of the mesh, MLP over another, and the rest of both over data.
TEST(CheckpointParts, BlocksOfBlocksOfBlocks) {
  const std::vector<std::int64_t> whole{4, 6, 5}, of_expert{2, 6, 5}, of_model{2, 3, 5};
  std::vector<float> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  static constexpr std::string_view kNames[] = {"expert", "mlp", "embed"};
  CheckpointArray a{.path = "experts", .names = {"expert", "mlp", "embed"}};
  a.outer = {{mesh::AxisCut(whole, 0, 2), 1}, {mesh::AxisCut(of_expert, 1, 2), 0}};
  const auto take = [&](const std::vector<std::int64_t>& sizes) {
    a.array = core::zeros({kNames, sizes});
    a.take(values.data());
    return a.array.to_vector<float>();
  };
  const auto at = [](int e, int m, int d) { return static_cast<float>(30 * e + 5 * m + d); };
  EXPECT_FALSE(a.whole());
  EXPECT_EQ(a.whole_sizes(), whole);
  const auto two = take(of_model);
  EXPECT_EQ(two.front(), at(2, 0, 0));
  EXPECT_EQ(two.back(), at(3, 2, 4));
  a.cut = mesh::AxisCut(of_model, 2, 2);
  a.worker = 1;
  std::vector<float> want;
  for (const int e : {2, 3})
    for (const int m : {0, 1, 2})
      for (const int d : {2, 3, 4}) want.push_back(at(e, m, d));
  EXPECT_EQ(take({2, 3, 3}), want);
  EXPECT_EQ(a.whole_sizes(), whole);
}

}  // namespace
}  // namespace bora::checkpoint

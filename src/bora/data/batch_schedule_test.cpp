// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/batch_schedule.h"

#include <gtest/gtest.h>

#include "bora/base/config.h"
#include "bora/base/error.h"

namespace bora::data {
namespace {

TEST(BatchSchedule, Offsets) {
  const BatchSchedule s({{0, 32}, {1000, 64}, {100000, 128}});
  EXPECT_EQ(s.offset(0), 0);
  EXPECT_EQ(s.offset(1000), 32000);
  EXPECT_EQ(s.offset(50000), 32000 + 49000 * 64);
  EXPECT_EQ(s.offset(150000), 32000 + 99000 * 64 + 50000 * 128);
  EXPECT_EQ(s.batch_size(999), 32);
  EXPECT_EQ(s.batch_size(1000), 64);
  EXPECT_EQ(s.batch_size(std::int64_t{1} << 40), 128);
  EXPECT_EQ(s.largest(), 128);
  EXPECT_FALSE(s.is_constant());
  EXPECT_EQ(BatchSchedule(8).offset(3), 24);
}

TEST(BatchSchedule, StepsOfADataset) {
  const BatchSchedule s({{0, 8}, {10, 16}, {20, 32}});
  EXPECT_EQ(s.num_steps(1000, false) - 1, 42) << "the last full step";
  EXPECT_EQ(s.num_steps(1007, true) - 1, 43) << "the last one, padded";
  EXPECT_EQ(s.num_steps(0, true), 0);
  EXPECT_EQ(s.num_steps(80, true), 10);
  EXPECT_EQ(s.num_steps(81, true), 11);
}

TEST(BatchSchedule, OffsetsAreCumulativeSums) {
  const BatchSchedule s({{0, 3}, {2, 7}, {3, 1}, {9, 5}});
  std::int64_t sum = 0;
  for (std::int64_t step = 0; step < 40; ++step) {
    EXPECT_EQ(s.offset(step), sum);
    for (std::int64_t i = 0; i < s.batch_size(step); ++i) EXPECT_EQ(s.step_of(sum + i), step);
    sum += s.batch_size(step);
  }
}

std::string message(ErrorKind kind, const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  return "";
}

TEST(BatchSchedule, Errors) {
  using Stages = std::vector<BatchSchedule::Stage>;
  const auto of = [](Stages stages) {
    return message(ErrorKind::Config, [&] { BatchSchedule s(std::move(stages)); });
  };
  EXPECT_EQ(of({}), "batch schedule: it has no stage");
  EXPECT_EQ(of({{5, 1}}), "batch schedule: the first stage starts at step 5 but should start at 0");
  EXPECT_EQ(of({{0, 0}}), "batch schedule: the batch size from step 0 on is 0 but should be at least 1");
  EXPECT_EQ(of({{0, 1}, {9, 2}, {9, 3}}),
            "batch schedule: a stage at step 9 follows one at step 9; starts should grow");
  EXPECT_EQ(message(ErrorKind::InvalidArgument, [] { BatchSchedule(1).offset(-1); }),
            "batch schedule: there is no step -1");
  EXPECT_EQ(message(ErrorKind::InvalidArgument, [] { BatchSchedule(1).step_of(-3); }),
            "batch schedule: there is no sequence -3");
}

struct Trainer {
  BatchSchedule train_batch_size{32};
  void bind(Binder& b) { bind_batch_schedule(b, "train_batch_size", train_batch_size, "sequences per step"); }
};

TEST(BatchSchedule, Binds) {
  const auto read = [](const std::string& yaml, std::vector<ConfigProblem>* problems = nullptr) {
    ConfigTree tree;
    tree.merge_text(yaml, "a.yaml");
    Trainer trainer;
    const auto found = read_config(tree, trainer);
    if (problems)
      *problems = found;
    else
      EXPECT_TRUE(found.empty()) << found[0].message;
    return trainer.train_batch_size;
  };
  EXPECT_EQ(read("train_batch_size: 16"), BatchSchedule(16));
  EXPECT_EQ(read("{}"), BatchSchedule(32));
  const BatchSchedule staged({{0, 64}, {64, 128}});
  EXPECT_EQ(read("train_batch_size:\n  - start: 0\n    value: 64\n  - start: 64\n    value: 128\n"), staged);
  std::vector<ConfigProblem> problems;
  read("train_batch_size: [{start: 3, value: 64}]", &problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "batch schedule: the first stage starts at step 3 but should start at 0");
  for (const auto& schedule : {BatchSchedule(7), staged}) {
    Trainer trainer{schedule};
    EXPECT_EQ(read(write_config(trainer)), schedule);
  }
}

}  // namespace
}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Runs tell how they ended, and are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Report, RunsTellHowTheyEnded) {
  const auto folder = small_project("report");
  const auto none = run(folder, {"runs"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.output,
              HasSubstr("runs does not exist\nhint: runs lie in trainer.checkpointer.base_path"));

  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.id=a", "--trainer.stop_at_step=3"}).code, 75);
  EXPECT_THAT(run(folder, {"runs"}).output,
              AllOf(HasSubstr("stopped: trainer.stop_at_step"), HasSubstr("3/40"),
                    HasSubstr("bora train runs/a/config.yaml")));
  const auto done = run(folder, {"train", "config.yaml", "--trainer.id=a"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("report runs/a/report.html"));
  EXPECT_THAT(read_text(folder + "/runs/a/report.html"), HasSubstr("<td>finished</td><td>40 of 40</td>"));

  const auto wild = run(folder, {"train", "config.yaml", "--trainer.id=b", "--optimizer.learning_rate=1e30"});
  EXPECT_EQ(wild.code, 4) << wild.output;
  const auto runs = run(folder, {"runs"}).output;
  EXPECT_THAT(runs, AllOf(HasSubstr("finished"), HasSubstr("failed: "), HasSubstr("bora report runs/b")));

  const auto both = run(folder, {"report", "runs/a", "runs/b", "--out", "both.html"});
  EXPECT_EQ(both.code, 0) << both.output;
  EXPECT_EQ(both.output, "written: both.html\n");
  EXPECT_THAT(read_text(folder + "/both.html"), HasSubstr("<td>optimizer.learning_rate</td>"));
  const auto wrong = run(folder, {"report", "runs/a", "texts"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.output, HasSubstr("texts does not exist\nhint: bora runs lists the runs of a folder"));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/test_faults.h"
#include "bora/report/run_text.h"
#include "bora/report/status.h"

namespace bora::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Page : public testing::Test {
 protected:
  Page() : folder_(path_join(testing::TempDir(), "bora_page")) { remove_all(folder_); }
  std::string run(const std::string& name, const std::string& rate) const {
    const auto directory = path_join(folder_, name);
    files().make_directories(directory);
    write(name, "metrics.jsonl",
          "{\"step\":0,\"train/loss\":3.5,\"train/tokens\":100}\n"
          "{\"step\":1,\"train/loss\":\"NaN\",\"train/tokens\":100,\"other/thing\":1}\n"
          "{\"step\":2,\"train/loss\":3.25,\"train/tokens\":100}\n");
    write(name, "config.yaml", "optimizer:\n  learning_rate: " + rate + "\nlist: [a, b]\n");
    write(name, "run.json", "{\"bora\": \"0.1.0\", \"cpu\": \"fast\", \"lanes\": 2}");
    write(name, "text.jsonl",
          "{\"step\":1,\"name\":\"sample/x\",\"text\":\"old\"}\n"
          "{\"step\":3,\"name\":\"sample/x\",\"text\":\"<b>new\"}\n");
    write_status(directory, {.phase = Phase::Finished, .step = 3, .num_train_steps = 3});
    return directory;
  }
  void write(const std::string& run, const std::string& file, const std::string& text) const {
    write_atomically(path_join(path_join(folder_, run), file), text);
  }
  std::string folder_;
};

TEST_F(Page, ShowsARun) {
  const auto page = report_page({read_run(run("a", "0.1"))});
  EXPECT_THAT(page, AllOf(HasSubstr("<title>a</title>"), HasSubstr("data-name=\"state\">finished</td>"),
                          HasSubstr("data-name=\"steps\">3 of 3</td>"),
                          HasSubstr("data-name=\"tokens that counted\">300</td>"),
                          HasSubstr("train/loss by step"), HasSubstr("step 1: not finite"),
                          HasSubstr("All other numbers"), HasSubstr("&lt;b&gt;new"), Not(HasSubstr("old"))));
  EXPECT_THAT(page, AllOf(HasSubstr("<td>optimizer.learning_rate</td><td>0.1</td>"),
                          HasSubstr("<td>list</td><td>[a, b]</td>"),
                          HasSubstr("<td>run.json: lanes</td><td>2</td>")));
  EXPECT_THAT(page, Not(HasSubstr("differ"))) << "one run";
}

TEST_F(Page, MarksWhereTheModelBegins) {
  const auto directory = run("a", "0.1");
  write("a", "text.jsonl", "{\"step\":3,\"name\":\"sample/Once <\",\"text\":\"Once < upon a time\"}\n");
  EXPECT_THAT(report_page({read_run(directory)}),
              HasSubstr("<pre><b>Once &lt;</b><span class=\"soft\"> \u25b8 </span> upon a time</pre>"));
}

TEST_F(Page, ComparesRuns) {
  const std::vector<RunFiles> runs = {read_run(run("a", "0.1")), read_run(run("b", "0.2"))};
  const auto differing = differing_keys(runs);
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_THAT(differing.at("optimizer.learning_rate"), ElementsAre("0.1", "0.2"));
  EXPECT_THAT(report_page(runs), AllOf(HasSubstr("Where the configurations differ"),
                                       HasSubstr("<td>optimizer.learning_rate</td><td>0.1</td><td>0.2</td>"),
                                       HasSubstr("line s1")));
}

TEST_F(Page, ShowsEachStart) {
  const auto directory = run("a", "0.1");
  write("a", "run.json",
        R"({"bora": "0.1.0", "host": "here", "data": {"one": {"tokens": 7, "fingerprint": "f7"}},
            "starts": [{"started": "May", "step": 0, "command": "bora train x.yaml"},
                       {"started": "June", "step": 5, "workers": 2, "threads": 3, "changed": ["lr: 1 -> 2", "k: a -> <b>"]},
                       3]})");
  const auto read = read_run(directory);
  ASSERT_EQ(read.starts.size(), 3U);
  EXPECT_EQ(read.record.at("data.one.tokens"), "7");
  EXPECT_FALSE(read.record.contains("starts"));
  const auto page = report_page({read});
  EXPECT_THAT(page, AllOf(HasSubstr("Starts of a: 3"), HasSubstr("<td>June</td><td>5</td>"),
                          HasSubstr("lr: 1 -&gt; 2, k: a -&gt; &lt;b&gt;")));
  EXPECT_THAT(
      run_text(read),
      AllOf(HasSubstr("run         a · finished · 3 of 3 steps\nloss        3.25\n"),
            HasSubstr("\ndata        one · 7 tokens · fingerprint f7\n"),
            HasSubstr("\nprogram     Bora 0.1.0\nmachine     here\n"),
            HasSubstr("\nstarts      May · at step 0 · bora train x.yaml\n"
                      "            June · at step 5 · 2 workers · 3 threads each · changed lr: 1 -> 2, "),
            HasSubstr("\nnext        bora report ")));
}

TEST_F(Page, NamesDamagedFilesAndShowsTheRest) {
  const auto directory = run("a", "0.1");
  write("a", "config.yaml", "a: [");
  write("a", "timing.jsonl", "?\n");
  write("a", "run.json", "{");
  write("a", "text.jsonl", "{}\n");
  const auto read = read_run(directory);
  EXPECT_EQ(read.problems.size(), 4U);
  EXPECT_THAT(report_page({read}),
              AllOf(HasSubstr("class=\"warn\""), HasSubstr("config.yaml"), HasSubstr("train/loss by step")));
}

TEST_F(Page, OfNoRunIsAnErrorAndNoFile) {
  const auto out = path_join(folder_, "out.html");
  const auto good = run("a", "0.1");
  EXPECT_THROW(write_report({good, folder_}, out), Error);
  EXPECT_FALSE(exists(out));
  write_report({good}, out);
  EXPECT_THAT(read_text(out), HasSubstr("</html>"));
}

TEST_F(Page, OfARunWithoutNumbersSaysSo) {
  files().make_directories(path_join(folder_, "young"));
  write("young", "run.json", "{}");
  EXPECT_THAT(report_page({read_run(path_join(folder_, "young"))}), HasSubstr("No numbers yet."));
}

TEST_F(Page, IsOldOrNewWhateverFails) {
  bora::test::expect_old_or_new_whatever_fails(folder_, [&](bool fresh) {
    const auto directory = path_join(folder_, "a");
    files().make_directories(directory);
    write("a", "metrics.jsonl", "{\"step\":1,\"train/loss\":3.5}\n");
    write_status(directory,
                 {.phase = fresh ? Phase::Finished : Phase::Running, .step = 3, .num_train_steps = 3});
    write_report({directory}, path_join(folder_, "report.html"));
  });
}

}  // namespace
}  // namespace bora::report

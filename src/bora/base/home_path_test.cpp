// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/home_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/env.h"

namespace bora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HomePath : public testing::Test {
 protected:
  HomePath() : before_(env::home()) { setenv("HOME", "/people/ada", 1); }
  ~HomePath() override {
    if (before_)
      setenv("HOME", before_->c_str(), 1);
    else
      unsetenv("HOME");
  }
  static std::string expanded(std::string path) {
    EXPECT_EQ(expand_home(path), "");
    return path;
  }
  static std::string refused(const std::string& path) {
    auto copy = path;
    auto why = expand_home(copy);
    EXPECT_EQ(copy, path);
    return why;
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(HomePath, TakesALeadingTilde) {
  EXPECT_EQ(expanded("~"), "/people/ada");
  EXPECT_EQ(expanded("~/runs"), "/people/ada/runs");
  EXPECT_EQ(expanded("runs/~"), "runs/~");
  EXPECT_EQ(expanded("./~/runs"), "./~/runs");
  EXPECT_EQ(expanded("a~b"), "a~b");
  EXPECT_EQ(expanded(""), "");
}

TEST_F(HomePath, LeavesAddressesAndOtherDollarsAlone) {
  EXPECT_EQ(expanded("https://host/$HOME/~x"), "https://host/$HOME/~x");
  EXPECT_EQ(expanded("price$/5$"), "price$/5$");
  EXPECT_EQ(expanded("${1..3}.txt"), "${1..3}.txt");
}

TEST_F(HomePath, RefusesWhatOnlyAShellReplaces) {
  EXPECT_EQ(refused("$HOME/runs"),
            "\"$HOME/runs\" holds $HOME, and variables are not replaced in paths; write ~/runs");
  EXPECT_THAT(refused("${HOME}"), HasSubstr("write ~"));
  EXPECT_THAT(refused("a/${DATA_1}/x"),
              HasSubstr("holds ${DATA_1}, and variables are not replaced in paths; write what ${DATA_1} "
                        "stands for"));
  EXPECT_THAT(refused("$DATA/x"),
              HasSubstr("on the command line double quotation marks let the shell do it"));
  EXPECT_EQ(refused("~bob/x"),
            "\"~bob/x\" begins with ~bob, somebody's home folder to a shell; write its whole path, or "
            "./~bob/x for a folder of that name");
}

TEST_F(HomePath, SaysWhereThereIsNoHome) {
  unsetenv("HOME");
  EXPECT_EQ(refused("~/x"),
            "\"~/x\" is in the home folder, and the variable HOME is not set; write the whole path");
}

struct Places {
  std::string one = "cache";
  std::optional<std::string> other;
  std::vector<std::string> many;
  void bind(Binder& b) {
    bind_path(b, "one", one);
    bind_path(b, "other", other);
    bind_path(b, "many", many);
  }
};

TEST_F(HomePath, IsThatOfEveryKey) {
  ConfigTree tree;
  tree.merge_text("one: ~/a\nother: ~/b\nmany: [~/c, d]\n", "x.yaml");
  Places places;
  EXPECT_TRUE(read_config(tree, places).empty());
  EXPECT_EQ(places.one, "/people/ada/a");
  EXPECT_EQ(places.other, "/people/ada/b");
  EXPECT_THAT(places.many, ElementsAre("/people/ada/c", "d"));
}

TEST_F(HomePath, IsAProblemOfTheKey) {
  ConfigTree tree;
  tree.merge_text("one: $HOME/a\nmany: [d, $X/c]\n", "x.yaml");
  Places places;
  const auto problems = read_config(tree, places);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "one = $HOME/a");
  EXPECT_EQ(problems[1].where, "x.yaml:2");
  EXPECT_EQ(problems[1].key, "many");
  EXPECT_THAT(problems[1].message, HasSubstr("\"$X/c\" holds $X"));
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/shell_words.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace bora {
namespace {

TEST(ShellWords, QuotedWhereAShellWouldReadMore) {
  EXPECT_EQ(shell_word("runs/brisk-otter-7"), "runs/brisk-otter-7");
  EXPECT_EQ(shell_word("my runs/a"), "'my runs/a'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a;rm"), "'a;rm'");
  EXPECT_EQ(shell_word("--trainer.seed=1"), "--trainer.seed=1");
  EXPECT_EQ(shell_word("--data.train_urls=[\"a b.txt\"]"), "--data.train_urls='[\"a b.txt\"]'");
  EXPECT_EQ(shell_word("$x=1"), "'$x=1'");
}

TEST(ShellWords, TheProgramFromWhereOneIs) {
  std::array<char, 4096> here{};
  ASSERT_NE(::getcwd(here.data(), here.size()), nullptr);
  ::unsetenv("BORA_CHECKOUT");
  EXPECT_EQ(program_word(), "bora");
  ::setenv("BORA_CHECKOUT", here.data(), 1);
  EXPECT_EQ(program_word(), "./bora");
  ::setenv("BORA_CHECKOUT", "/my code/bora", 1);
  EXPECT_EQ(program_word(), "'/my code/bora/bora'");
  EXPECT_EQ(program_word("/my code/bora"), "./bora");
  ::unsetenv("BORA_CHECKOUT");
}

TEST(ShellWords, AFlagIsReplaced) {
  EXPECT_EQ(with_flag("a.yaml --b=1 --c=2", "--b", "3"), "a.yaml --b=3 --c=2");
  EXPECT_EQ(with_flag("--b=1", "--b", "3"), "--b=3");
  EXPECT_EQ(with_flag("a.yaml --bb=1", "--b", "3"), "a.yaml --bb=1 --b=3");
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/debian_text.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "bora/base/file.h"

namespace bora::run {
namespace {

class DebianText : public testing::Test {
 protected:
  DebianText() : folder_(path_join(testing::TempDir(), fmt::format("bora-deb-{}", getpid()))) {
    remove_all(folder_);
    files().make_directories(path_join(folder_, "text/words"));
    ::setenv("BORA_CACHE", folder_.c_str(), 1);
  }
  ~DebianText() override {
    ::unsetenv("BORA_CACHE");
    remove_all(folder_);
  }
  std::string put(const std::string& name) const {
    write_atomically(path_join(folder_, name), name);
    return path_join(folder_, name);
  }
  std::string folder_;
};

TEST_F(DebianText, PathsOfOneStemHaveTheirOwnEntries) {
  const std::string first = put("text/words/usr_2Fshare_2Fa_2Fwords.txt.txt"),
                    second = put("text/words/usr_2Fshare_2Fb_2Fwords.txt.gz.txt");
  EXPECT_EQ(fetch_debian_text("deb:words/usr/share/a/words.txt"), first);
  EXPECT_EQ(fetch_debian_text("deb:words/usr/share/b/words.txt.gz"), second);
  EXPECT_FALSE(debian_text_is_here("deb:words/usr/share/a/words.index"));
  EXPECT_FALSE(debian_text_is_here("deb:words/usr/share/a_2Fwords.txt")) << "not the path of the first";
  EXPECT_FALSE(debian_text_is_here("deb:words/" + std::string(500, 'x')));
}

TEST_F(DebianText, AnEarlierEntryIsOfThePathThatAsksFirst) {
  const std::string earlier = put("text/words-words.txt");
  EXPECT_EQ(fetch_debian_text("deb:words/usr/share/a/words.txt"), earlier);
  EXPECT_FALSE(debian_text_is_here("deb:words/usr/share/b/words.txt.gz"));
  EXPECT_TRUE(debian_text_is_here("deb:words/usr/share/a/words.txt"));
}

}  // namespace
}  // namespace bora::run

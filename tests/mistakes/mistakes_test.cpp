// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whatever somebody gets wrong who is new here: the message names it, shows both sides, and says what to do next; and
// nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "mistake.h"
#include "project.h"

namespace bora::mistakes {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void expect_words(const Ended& ended, const char* what, const std::vector<std::string>& words) {
  for (const auto& word : words) EXPECT_THAT(ended.output, HasSubstr(word)) << what;
}

void expect_told(const Mistake& mistake) {
  std::vector<std::shared_ptr<FileLock>> held;
  for (const auto& word : mistake.given) held.push_back(Project::give(word));
  for (const auto& [name, content] : mistake.files) {
    files().make_directories(parent_path(name));
    write_atomically(name, content);
  }
  const auto before = Project::content();
  const auto ended = run(mistake.words);
  EXPECT_THAT(ended.code, testing::AnyOf(1, 2, 3, 4)) << ended.output;
  EXPECT_THAT(ended.output, AllOf(HasSubstr("bora: "), Not(HasSubstr("internal error"))));
  expect_words(ended, "names the file, key or flag", mistake.names);
  expect_words(ended, "shows what was found and what is possible", mistake.values);
  expect_words(ended, "says what to do next", mistake.next);
  EXPECT_THAT(Project::changed(before), testing::IsEmpty()) << "left or changed; " << ended.output;
}

TEST(Mistakes, AreToldInFullAndLeaveNothingBehind) {
  Project project;
  for (const auto& group : all_groups()) {
    for (const auto& mistake : group.mistakes) {
      SCOPED_TRACE(testing::Message() << group.path << ":" << mistake.line << ": bora " << mistake.command);
      expect_told(mistake);
      project.restore();
    }
  }
}

TEST(Mistakes, ThePageHasThemAll) {
  const auto groups = all_groups();
  std::size_t all = 0;
  for (const auto& group : groups) {
    EXPECT_FALSE(group.title.empty()) << group.path;
    all += group.mistakes.size();
  }
  EXPECT_GE(all, 200U);
  const auto page = page_of(groups);
  if (const auto to = env::for_tests("BORA_TEST_MISTAKES_PAGE")) return write_atomically(*to, page);
  EXPECT_TRUE(read_text(BORA_SOURCE_DIR "/docs/reference/mistakes.md") == page)
      << "docs/reference/mistakes.md is out of date; run scripts/mistakes_page.sh";
}

}  // namespace
}  // namespace bora::mistakes

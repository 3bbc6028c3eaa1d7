// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The commands and their flags are a promise: scripts of users hold them.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

constexpr const char* kList = BORA_SOURCE_DIR "/tests/golden/flags.txt";

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& line : split(text, '\n')) {
    if (!trim(line).empty()) out.emplace_back(trim(line));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Each line of a that b lacks, with a sign in front.
std::string lines_only_in(const std::vector<std::string>& a, const std::vector<std::string>& b,
                          const char* sign) {
  std::vector<std::string> only;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  std::string text;
  for (const auto& line : only) text += "  " + (sign + line) + "\n";
  return text;
}

TEST(Flags, AreFrozen) {
  auto folder = small_project("flags");
  auto done = run(folder, {"--flags"});
  ASSERT_EQ(done.code, 0) << done.output;
  auto now = sorted_lines(done.output), before = sorted_lines(read_text(kList));
  EXPECT_TRUE(now == before)
      << "The flags differ from tests/golden/flags.txt:\n"
      << lines_only_in(now, before, "+ ") << lines_only_in(before, now, "- ")
      << "If that is meant (a flag that goes away breaks the scripts of users: say so in\n"
         "CHANGELOG.md), update the list:\n  "
      << BORA_PROGRAM << " --flags > " << kList;
}

}  // namespace
}  // namespace bora::golden

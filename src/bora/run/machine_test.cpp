// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bora/base/file.h"

namespace bora::run {
namespace {

// As somebody who is not root, whom nothing is forbidden; in a process of its own.
[[noreturn]] void say_as_nobody(const std::string& path) {
  constexpr unsigned kNobody = 65534;
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::_Exit(1);
  std::fputs(why_not_writable(path).c_str(), stderr);
  std::_Exit(0);
}

TEST(MachineDeathTest, NamesTheFolderThatMayNotBeWritten) {
  const auto folder = testing::TempDir() + "bora_not_writable";
  remove_all(folder);
  files().make_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  EXPECT_EXIT(say_as_nobody(folder + "/runs/a"), testing::ExitedWithCode(0),
              "^.*bora_not_writable/runs/a cannot be written: nothing may be made in .*bora_not_writable$");
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EXIT(say_as_nobody(folder + "/runs/a"), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/lfs_pointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora {
namespace {

const std::string kPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

std::string refusal(const std::string& content) {
  const std::string path = testing::TempDir() + "lfs_pointer_test";
  write_atomically(path, content);
  try {
    refuse_lfs_pointer(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NotFound);
    return e.what();
  }
  return "";
}

TEST(LfsPointer, IsRefusedByName) {
  EXPECT_THAT(refusal(kPointer),
              testing::HasSubstr("lfs_pointer_test: only stands for a file of 12345 bytes that "
                                 "Git LFS has not fetched\nhint: git lfs pull in "));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\n"),
              testing::HasSubstr("of unknown bytes"));
}

TEST(LfsPointer, OtherFilesAreNone) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("version"), "");
  EXPECT_EQ(refusal("x" + kPointer), "");
  EXPECT_EQ(refusal(kPointer + std::string(2000, 'x')), "") << "pointers are short";
  refuse_lfs_pointer(testing::TempDir());
  refuse_lfs_pointer("/nowhere/at/all");
}

}  // namespace
}  // namespace bora

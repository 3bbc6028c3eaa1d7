// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/disk_need.h"

#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/run/hub_name.h"
#include "bora/run/machine.h"

namespace bora::run {
namespace {

TEST(DiskNeed, CheckpointsThatAreKept) {
  EXPECT_EQ(checkpoints_kept({}, 40), 1) << "the last one";
  EXPECT_EQ(checkpoints_kept({{.every = 10}}, 40), 4);
  EXPECT_EQ(checkpoints_kept({{.every = 10}}, 45), 5);
  EXPECT_EQ(checkpoints_kept({{.every = 10, .until = 20}, {.every = 20}}, 60), 4);
  EXPECT_EQ(checkpoints_kept({{.every = 100}}, 40), 1);
  EXPECT_EQ(checkpoints_kept({{.every = 10}}, 45, 20), 3) << "30, 40 and the last one";
  EXPECT_EQ(checkpoints_kept({{.every = 10, .until = 20}, {.every = 20}}, 60, 30), 2);
  EXPECT_EQ(checkpoints_kept({{.every = 10}}, 40, 40), 0) << "it is there";
}

TEST(Machine, FoldersThatCanBeMade) {
  const auto folder = testing::TempDir() + "bora_machine";
  files().make_directories(folder);
  write_atomically(folder + "/file", "x");
  EXPECT_EQ(existing_folder(folder + "/a/b/c"), folder);
  EXPECT_EQ(existing_folder("bora-has-no-such-folder/x"), ".");
  EXPECT_EQ(why_not_writable(folder + "/a/b"), "");
  EXPECT_EQ(why_not_writable(folder + "/file/b"),
            folder + "/file/b cannot be made: " + folder + "/file is a file, no folder");
  EXPECT_GT(free_bytes(folder + "/a/b").value_or(0), 0);
  EXPECT_GT(machine_memory(), 1e8);
  remove_all(folder);
}

TEST(HubName, WhatLooksLikeOne) {
  for (const char* name : {"gpt2", "meta-llama/Llama-2-7b-hf", "me/tiny@refs/pr/1"})
    EXPECT_TRUE(is_on_hub(name)) << name;
  for (const char* name : {"runs", "runs/brisk-otter-7", "./a/b", "../a", "/a/b", "a/b/c", "gs://a"})
    EXPECT_FALSE(is_on_hub(name)) << name;
}

}  // namespace
}  // namespace bora::run

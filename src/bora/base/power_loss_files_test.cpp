// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/power_loss_files.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {
namespace {

void put(const std::string& path, std::string_view content, bool sync) {
  const auto file = files().create(path);
  file->write(as_bytes(content));
  if (sync) file->sync();
  file->close();
}

// What stands at `path` after each of many losses of power, "none" where nothing does.
std::set<std::string> found_at(const PowerLossFiles& disk, const std::string& path, std::size_t from,
                               std::uint64_t schedules) {
  std::set<std::string> out;
  for (std::uint64_t n = 0; n < schedules; ++n) {
    const auto luck = Key::from_seed(n);
    const auto after =
        disk.after_power_loss(from + luck.below(disk.operations() - from + 1, 1'000'000), luck);
    const ScopedFileSystem scope(*after);
    out.insert(exists(path) ? read_text(path) : "none");
  }
  return out;
}

TEST(PowerLossFiles, WhatIsNotSyncedMayBeLostTornOrZero) {
  PowerLossFiles disk;
  {
    const ScopedFileSystem scope(disk);
    files().make_directories("a");
    put("a/x", "old", true);
    files().sync_directory("a");
  }
  const auto before = disk.operations();
  {
    const ScopedFileSystem scope(disk);
    put("a/x", "newer", false);
    EXPECT_EQ(read_text("a/x"), "newer") << "while the power is on";
    EXPECT_EQ(files().list("a"), std::vector<std::string>{"x"});
  }
  const auto found = found_at(disk, "a/x", before, 300);
  for (const auto* content : {"old", "newer", "", "new"}) EXPECT_TRUE(found.contains(content)) << content;
  EXPECT_TRUE(found.contains(std::string("ne\0\0\0", 5)));
  EXPECT_FALSE(found.contains("none")) << "its name was synced";
}

TEST(PowerLossFiles, NamesNeedTheirDirectory) {
  PowerLossFiles disk;
  const ScopedFileSystem scope(disk);
  files().make_directories("a");
  const auto before = disk.operations();
  put("a/x", "1", true);
  EXPECT_EQ(found_at(disk, "a/x", disk.operations(), 200), (std::set<std::string>{"1", "none"}));
  files().sync_directory("a");
  EXPECT_EQ(found_at(disk, "a/x", disk.operations(), 200), std::set<std::string>{"1"});
  files().rename("a/x", "a/y");
  EXPECT_EQ(found_at(disk, "a/y", disk.operations(), 200), (std::set<std::string>{"1", "none"}));
  files().remove("a/y");
  files().sync_directory("a");
  EXPECT_EQ(found_at(disk, "a/y", disk.operations(), 200), std::set<std::string>{"none"});
  EXPECT_GT(disk.operations(), before);
}

TEST(PowerLossFiles, LinksAreNamesThatLeadElsewhere) {
  PowerLossFiles disk;
  const ScopedFileSystem scope(disk);
  files().make_directories("a/b");
  files().make_directories("blobs");
  put("blobs/1", "content", true);
  files().sync_directory("blobs");
  link_to("../../blobs/1", "a/b/x");
  link_to("../a/b", "blobs/back");
  link_to("nowhere", "a/dangling");
  EXPECT_EQ(read_text("a/b/x"), "content");
  EXPECT_EQ(read_text("blobs/back/x"), "content");
  EXPECT_EQ(files().list("blobs/back"), std::vector<std::string>{"x"});
  EXPECT_FALSE(exists("a/dangling"));
  EXPECT_THROW(link_to("../../blobs/1", "a/b/x"), Error) << "it is there";
  link_to("round", "a/round");
  EXPECT_THROW((void)exists("a/round"), Error);
  EXPECT_EQ(found_at(disk, "a/b/x", disk.operations(), 200), (std::set<std::string>{"content", "none"}));
  files().sync_directory("a/b");
  EXPECT_EQ(found_at(disk, "a/b/x", disk.operations(), 200), std::set<std::string>{"content"});
  files().remove("a/b/x");
  EXPECT_FALSE(exists("a/b/x"));
  EXPECT_EQ(read_text("blobs/1"), "content") << "what it led to stays";
}

// A writer that forgets to sync before it renames is caught; base's own is not.
TEST(PowerLossFiles, FindsTheWriterThatDoesNotSync) {
  const auto contents = [](const std::function<void(const std::string&, std::string_view)>& write,
                           std::uint64_t schedules) {
    PowerLossFiles disk;
    std::size_t before = 0;
    {
      const ScopedFileSystem scope(disk);
      write("x", "the old content");
      before = disk.operations();
      write("x", "something new");
    }
    return found_at(disk, "x", before, schedules);
  };
  const auto careless = contents(
      [](const std::string& path, std::string_view content) {
        put(path + ".tmp", content, false);
        files().rename(path + ".tmp", path);
        files().sync_directory(".");
      },
      300);
  EXPECT_GT(careless.size(), 2U);
  const auto schedules = parse_int(env::for_tests("BORA_TEST_POWER_LOSSES").value_or("500")).value_or(500);
  const auto ours =
      contents([](const std::string& path, std::string_view content) { write_atomically(path, content); },
               static_cast<std::uint64_t>(schedules));
  EXPECT_EQ(ours, (std::set<std::string>{"the old content", "something new"}));
}

}  // namespace
}  // namespace bora

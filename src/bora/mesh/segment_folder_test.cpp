// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/segment_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace bora::mesh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SegmentFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    remove_all(place_);
    files().make_directories(place_);
  }
  void TearDown() override { remove_all(place_); }

  // A process that makes a folder with a file in it, says so, and waits to be killed.
  pid_t other() const {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t process = ::fork();
    if (process == 0) {
      const SegmentFolder folder(place_);
      write_atomically(folder.path() + "/segment", "memory");
      [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return process;
  }
  static void kill(pid_t process) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }

  const std::string place_ = ::testing::TempDir() + "bora_segments_" + std::to_string(::getpid());
};

TEST_F(SegmentFolders, GoWithTheirProcess) {
  std::optional<SegmentFolder> folder(std::in_place, place_);
  EXPECT_TRUE(folder->path().starts_with(place_ + "/bora-mpi-")) << folder->path();
  EXPECT_TRUE(exists(folder->path()));
  write_atomically(folder->path() + "/segment", "memory");
  folder.reset();
  EXPECT_THAT(files().list(place_), IsEmpty());
}

TEST_F(SegmentFolders, OfAKilledProcessAreSweptAndThoseOfALivingOneAreNot) {
  const auto alive = other(), killed = other();
  EXPECT_EQ(files().list(place_).size(), 2U) << "both live: the second left the first alone";
  kill(killed);
  {
    const SegmentFolder folder(place_);
    const auto left = files().list(place_);
    ASSERT_EQ(left.size(), 2U);
    for (const auto& name : left) {
      const bool own = place_ + "/" + name == folder.path();
      EXPECT_EQ(exists(place_ + "/" + name + "/segment"), !own) << name;
    }
  }
  kill(alive);
  const SegmentFolder folder(place_);
  EXPECT_EQ(files().list(place_).size(), 1U);
}

TEST_F(SegmentFolders, LeaveWhatIsNotTheirs) {
  const auto name = "bora-mpi-" + std::to_string(::geteuid()) + "-1";
  files().make_directories(place_ + "/vader_segment.host.0.1");
  write_atomically(place_ + "/" + name, "a file");
  ASSERT_EQ(::symlink(".", (place_ + "/" + name + "-link").c_str()), 0);
  { const SegmentFolder folder(place_); }
  EXPECT_THAT(files().list(place_), ElementsAre(name, name + "-link", "vader_segment.host.0.1"));
}

TEST_F(SegmentFolders, NoPlaceIsNoError) {
  const SegmentFolder folder(place_ + "/absent");
  EXPECT_EQ(folder.path(), "");
}

}  // namespace
}  // namespace bora::mesh

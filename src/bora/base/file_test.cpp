// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "bora/base/error.h"
#include "bora/base/exchange.h"
#include "bora/base/posix_files.h"
#include "bora/base/temporary_file.h"
#include "bora/base/text.h"

namespace bora {
namespace {

using Names = std::vector<std::string>;

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(path_join(testing::TempDir(), "bora_file_test." + std::to_string(getpid()))) {
    remove_all(folder_);
    files().make_directories(folder_);
  }
  ~FileTest() override { remove_all(folder_); }

  std::string at(std::string_view name) const { return path_join(folder_, name); }
  static void put(const std::string& path, std::string_view text) {
    auto file = files().create(path);
    file->write(as_bytes(text));
    file->close();
  }
  // The message after the folder's name.
  std::string error(ErrorKind kind, const auto& body) const {
    try {
      body();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind);
      std::string text = e.what();
      for (std::size_t i; (i = text.find(folder_ + "/")) != std::string::npos;)
        text.erase(i, folder_.size() + 1);
      return text;
    }
    return "no error";
  }

  std::string folder_;
};

std::string failure(int error_number) {
  try {
    fail_file("runs/a", "list", error_number);
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(FailFile, SaysWhatToDoWhereMemoryEnds) {
  EXPECT_EQ(
      failure(ENOMEM),
      "runs/a: cannot list: Cannot allocate memory\nhint: fewer programs at once, or a larger ulimit -v");
  EXPECT_EQ(failure(EACCES), "runs/a: cannot list: Permission denied");
}

TEST(TemporaryFile, IsLeftBehindByAProcessThatIsGone) {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_left_behind(fmt::format(".b.html.{}.0.tmp", child), "b.html"));
  EXPECT_FALSE(is_left_behind(base_name(temporary_beside("/a/b.html")), "b.html"))
      << "this process may be writing it";
  EXPECT_FALSE(is_left_behind(fmt::format(".c.html.{}.0.tmp", child), "b.html"));
  for (const auto* other : {".b.html.0.0.tmp", ".b.html.-1.0.tmp", ".b.html.99999999999.0.tmp",
                            ".b.html.x.0.tmp", ".b.html..tmp", ".b.html.tmp", "b.html", ""})
    EXPECT_FALSE(is_left_behind(other, "b.html")) << other;
}

// Nobody asked for those.
TEST(FailFile, NamesNoTemporaryFile) {
  EXPECT_EQ(without_temporary_names(temporary_beside("/a/b.html")), "/a/b.html");
  EXPECT_EQ(without_temporary_names("/runs/.step-9.tmp-4711-0/state.json"), "/runs/step-9/state.json");
  for (const char* other :
       {".tmp", "./.bashrc", "a.12.3.tmp", ".x.12.tmp", ".x.tmp-1", "/.a.tmp-workers", ""})
    EXPECT_EQ(without_temporary_names(other), other);
  try {
    fail_file(temporary_beside("/none/p.html"), "create", EACCES);
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "/none/p.html: cannot create: Permission denied");
  }
}

TEST_F(FileTest, WritesAppendsTruncatesReads) {
  put(at("a"), "hello");
  auto more = files().append(at("a"));
  more->write(as_bytes(", world"));
  more->write({});
  more->sync();
  more->close();
  EXPECT_EQ(read_text(at("a")), "hello, world");
  files().truncate(at("a"), 4);
  EXPECT_EQ(read_text(at("a")), "hell");
  put(at("a"), "x");
  EXPECT_EQ(read_text(at("a")), "x");
}

TEST_F(FileTest, ReadAtIsShortOnlyAtTheEnd) {
  put(at("a"), "0123456789");
  const auto file = files().open(at("a"));
  EXPECT_EQ(file->size(), 10U);
  std::array<std::byte, 4> four{};
  EXPECT_EQ(file->read_at(3, four), 4U);
  EXPECT_EQ(std::to_integer<char>(four[0]), '3');
  EXPECT_EQ(file->read_at(8, four), 2U);
  EXPECT_EQ(file->read_at(10, four), 0U);
  EXPECT_EQ(file->read_at(100, four), 0U);
}

TEST_F(FileTest, MapsTheWholeFile) {
  put(at("a"), "mapped");
  const auto file = files().open(at("a"));
  const auto bytes = file->map();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "mapped");
  EXPECT_EQ(file->map().data(), bytes.data());
  put(at("empty"), "");
  EXPECT_TRUE(files().open(at("empty"))->map().empty());
}

// Pages of this process's memory that files back, in bytes: of /proc/self/statm the third number.
std::int64_t file_pages() { return std::stoll(split(read_text("/proc/self/statm"), ' ')[2]) * 4096; }

TEST_F(FileTest, ForgottenPartsOfAMapLeaveMemoryAndComeBack) {
  const std::string text(8 << 20, 'x');
  put(at("a"), text);
  const auto file = files().open(at("a"));
  const auto bytes = file->map();
  const auto sum = [&] { return std::count(bytes.begin(), bytes.end(), std::byte{'x'}); };
  EXPECT_EQ(sum(), 8 << 20);
  const auto full = file_pages();
  file->forget({});
  file->forget(bytes.subspan(100, (7 << 20)));
  EXPECT_LT(file_pages(), full - (6 << 20));
  EXPECT_EQ(sum(), 8 << 20);
}

TEST_F(FileTest, MappedFilesHoldNoDescriptor) {
  const auto open_now = [] { return files().list("/proc/self/fd").size(); };
  const auto before = open_now();
  std::vector<std::unique_ptr<ReadFile>> many;
  std::vector<std::span<const std::byte>> maps;
  for (int i = 0; i < 50; ++i) {
    const auto path = at("shard" + std::to_string(i));
    put(path, i == 49 ? "" : "shard " + std::to_string(i));
    many.push_back(files().open(path));
  }
  EXPECT_EQ(open_now(), before + 50);
  for (const auto& file : many) maps.push_back(file->map());
  EXPECT_EQ(open_now(), before);
  std::array<std::byte, 4> four{};
  for (std::size_t i = 0; i < 49; ++i) {
    remove_all(at("shard" + std::to_string(i)));  // the map outlives the name too
    EXPECT_EQ(many[i]->map().data(), maps[i].data());
    EXPECT_EQ(many[i]->size(), maps[i].size());
    EXPECT_EQ(many[i]->read_at(6, four), i < 10 ? 1U : 2U);
    EXPECT_EQ(four[0], maps[i][6]);
    EXPECT_EQ(many[i]->read_at(3, four), 4U);
    EXPECT_EQ(std::to_integer<char>(four[1]), 'd');
    EXPECT_EQ(many[i]->read_at(1000, four), 0U);
  }
  EXPECT_TRUE(maps[49].empty());
  EXPECT_EQ(many[49]->size(), 0U);
  EXPECT_EQ(many[49]->read_at(0, four), 0U);
}

TEST_F(FileTest, MapsWhileOthersRead) {
  put(at("a"), std::string(5000, 'x'));
  for (int round = 0; round < 20; ++round) {
    const auto file = files().open(at("a"));
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        std::array<std::byte, 100> some{};
        for (std::uint64_t offset = 0; offset < 5000; offset += 100) {
          wrong += file->read_at(offset, some) != 100 || some[99] != std::byte{'x'} || file->size() != 5000;
        }
      });
    }
    file->map();
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(FileTest, ReadsFilesWithoutASize) { EXPECT_FALSE(read_text("/proc/self/status").empty()); }

TEST_F(FileTest, Info) {
  put(at("a"), "abc");
  const auto info = files().info(at("a"));
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->is_directory);
  EXPECT_EQ(info->size, 3U);
  EXPECT_GT(info->modified, 1.7e9);
  EXPECT_TRUE(files().info(folder_)->is_directory);
  EXPECT_FALSE(files().info(at("b")));
  EXPECT_FALSE(files().info(at("a/b")));
  EXPECT_TRUE(exists(at("a")));
  EXPECT_FALSE(exists(at("b")));
}

TEST_F(FileTest, ListsNamesInOrder) {
  for (auto name : {"b", "a", ".c"}) put(at(name), "");
  EXPECT_EQ(files().list(folder_), (Names{".c", "a", "b"}));
}

TEST_F(FileTest, MakesDirectories) {
  files().make_directories(at("x/y/z"));
  files().make_directories(at("x//y/z/"));
  EXPECT_TRUE(files().info(at("x/y/z"))->is_directory);
  put(at("file"), "");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().make_directories(at("file/sub")); }),
            "file: cannot make directory: Not a directory");
}

TEST_F(FileTest, RenamesAndRemoves) {
  put(at("a"), "1");
  put(at("b"), "2");
  files().rename(at("a"), at("b"));
  EXPECT_EQ(read_text(at("b")), "1");
  EXPECT_FALSE(exists(at("a")));
  files().remove(at("b"));
  EXPECT_FALSE(exists(at("b")));
  files().make_directories(at("d"));
  files().remove(at("d"));
  EXPECT_FALSE(exists(at("d")));
}

TEST_F(FileTest, ErrorsNameThePathAndTheReason) {
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().open(at("no")); }),
            "no: cannot open: No such file or directory");
  EXPECT_EQ(error(ErrorKind::Io, [&] { files().open(folder_ + "/."); }), ".: cannot open: Is a directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().create(at("no/a")); }),
            "no/a: cannot create: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().append(at("no/a")); }),
            "no/a: cannot append to: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().list(at("no")); }),
            "no: cannot list: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().rename(at("no"), at("b")); }),
            "no: cannot rename to b: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().remove(at("no")); }),
            "no: cannot remove: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().truncate(at("no"), 1); }),
            "no: cannot truncate: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().sync_directory(at("no")); }),
            "no: cannot sync directory: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().free_space(at("no")); }),
            "no: cannot stat: No such file or directory");
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { files().try_lock(at("no/a")); }),
            "no/a: cannot lock: No such file or directory");
  files().make_directories(at("full/x"));
  EXPECT_EQ(error(ErrorKind::Io, [&] { files().remove(at("full")); }),
            "full: cannot remove: Directory not empty");
}

TEST_F(FileTest, OnlyFilesAreOpened) {
  const auto refused = [&](const std::string& path, std::string_view what) {
    EXPECT_EQ(error(ErrorKind::Unsupported, [&] { files().open(path); }),
              fmt::format("{}: is {}, not a file\nhint: copy what it gives into a file first",
                          path.starts_with(folder_) ? base_name(path) : path, what));
    EXPECT_TRUE(files().info(path)->is_device);
  };
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  refused(at("pipe"), "a pipe");
  ASSERT_EQ(symlink(at("pipe").c_str(), at("link").c_str()), 0);
  refused(at("link"), "a pipe");
  refused("/dev/zero", "a device");
  refused("/dev/null", "a device");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  at("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    refused(at("socket"), "a socket");
  ::close(socket);
}

TEST_F(FileTest, InfoTellsFilesApart) {
  put(at("a"), "1");
  put(at("b"), "1");
  ASSERT_EQ(link(at("a").c_str(), at("c").c_str()), 0);
  const auto a = *files().info(at("a")), b = *files().info(at("b"));
  EXPECT_TRUE(a.same_file(*files().info(at("c"))));
  EXPECT_FALSE(a.same_file(b));
  EXPECT_FALSE(FileInfo{}.same_file(FileInfo{}));
  EXPECT_EQ(a.modified_ns / 1'000'000'000, static_cast<std::int64_t>(a.modified));
  const auto file = files().open(at("a"));
  put(at("a"), "12345");
  EXPECT_EQ(file->info().size, 1U) << "as it was when it was opened";
  EXPECT_TRUE(file->info().same_file(a));
  EXPECT_EQ(file->size(), 5U);
}

TEST_F(FileTest, NewDirectoriesSurviveALossOfPower) {
  class Synced : public PosixFileSystem {
   public:
    void sync_directory(const std::string& path) override {
      synced.push_back(path);
      PosixFileSystem::sync_directory(path);
    }
    Names synced;
  };
  Synced files;
  files.make_directories(at("a/b//c/"));
  EXPECT_EQ(files.synced, (Names{folder_, at("a"), at("a/b")}));
  files.make_directories(at("a/b/d"));
  EXPECT_EQ(files.synced.back(), at("a/b"));
  EXPECT_EQ(files.synced.size(), 4U);
}

TEST_F(FileTest, TwoDirectoriesChangePlaces) {
  files().make_directories(at("a"));
  files().make_directories(at("b"));
  put(at("a/one"), "1");
  put(at("b/two"), "2");
  if (!change_places(at("a"), at("b"))) GTEST_SKIP() << "this file system cannot exchange directories";
  EXPECT_EQ(files().list(at("a")), Names{"two"});
  EXPECT_EQ(files().list(at("b")), Names{"one"});
  EXPECT_EQ(error(ErrorKind::NotFound, [&] { change_places(at("a"), at("no")); }),
            "a: cannot exchange with no: No such file or directory");
}

TEST_F(FileTest, AFullDeviceIsAnError) {
  if (!exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto file = files().append("/dev/full");
  EXPECT_EQ(error(ErrorKind::Io, [&] { file->write(as_bytes("x")); }),
            "/dev/full: cannot write: No space left on device");
}

TEST_F(FileTest, AClosedFileTakesNoMore) {
  auto file = files().create(at("a"));
  file->close();
  file->close();
  EXPECT_EQ(error(ErrorKind::Io, [&] { file->write(as_bytes("x")); }),
            "a: cannot write: Bad file descriptor");
}

TEST_F(FileTest, LocksExcludeEachOther) {
  auto lock = files().try_lock(at("lock"));
  ASSERT_TRUE(lock);
  EXPECT_FALSE(files().try_lock(at("lock")));
  lock.reset();
  EXPECT_TRUE(files().try_lock(at("lock")));
}

TEST_F(FileTest, FreeSpace) { EXPECT_GT(files().free_space(folder_), 0U); }

TEST_F(FileTest, WriteAtomicallyReplacesAndLeavesNothingElse) {
  write_atomically(at("a"), "old");
  write_atomically(at("a"), "new");
  EXPECT_EQ(read_text(at("a")), "new");
  EXPECT_EQ(files().list(folder_), Names{"a"});
}

TEST_F(FileTest, WriteAtomicallyKeepsTheUsualMode) {
  const mode_t before = umask(022);
  write_atomically(at("a"), "x");
  umask(before);
  struct stat out {};
  ASSERT_EQ(stat(at("a").c_str(), &out), 0);
  EXPECT_EQ(out.st_mode & 0777, 0644U);
}

TEST_F(FileTest, WhatIsTheOwnersIsNobodyElses) {
  const auto mode = [&](const char* name) {
    struct stat out {};
    EXPECT_EQ(stat(at(name).c_str(), &out), 0);
    return out.st_mode & 0777;
  };
  const mode_t before = umask(022);
  write_atomically(at("atomic"), "x", Access::Owner);
  files().create(at("created"), Access::Owner)->close();
  files().append(at("appended"), Access::Owner)->close();
  files().create(at("others"))->close();
  files().append(at("others"), Access::Owner)->close();
  umask(0277);
  files().create(at("narrow"), Access::Owner)->close();
  umask(before);
  for (const char* name : {"atomic", "created", "appended"}) EXPECT_EQ(mode(name), 0600U) << name;
  EXPECT_EQ(mode("others"), 0644U) << "a file that is there keeps its mode";
  EXPECT_EQ(mode("narrow"), 0400U);
}

TEST_F(FileTest, RemoveAll) {
  files().make_directories(at("t/u/v"));
  put(at("t/a"), "1");
  put(at("t/u/b"), "2");
  put(at("kept"), "3");
  ASSERT_EQ(symlink(folder_.c_str(), at("t/link").c_str()), 0);
  remove_all(at("t"));
  EXPECT_EQ(files().list(folder_), Names{"kept"});  // the link's target was not followed
  remove_all(at("t"));
  remove_all(at("kept"));
  EXPECT_TRUE(files().list(folder_).empty());
}

TEST_F(FileTest, RemoveAllReportsWhatItCannotRemove) {
  EXPECT_EQ(error(ErrorKind::Io, [&] { remove_all("/proc/self/status"); }).substr(0, 34),
            "/proc/self/status: cannot remove: ");
}

TEST(Path, Join) {
  EXPECT_EQ(path_join("a", "b"), "a/b");
  EXPECT_EQ(path_join("a/", "b"), "a/b");
  EXPECT_EQ(path_join("/", "b"), "/b");
  EXPECT_EQ(path_join("", "b"), "b");
  EXPECT_EQ(path_join("a", ""), "a");
  EXPECT_EQ(path_join("a", "/b"), "/b");
}

TEST(Path, ParentAndBase) {
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(parent_path("a/b"), "a");
  EXPECT_EQ(parent_path("a//b/"), "a");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/"), "/");
  EXPECT_EQ(base_name("a"), "a");
  EXPECT_EQ(base_name("a/b"), "b");
  EXPECT_EQ(base_name("a/b/"), "b");
  EXPECT_EQ(base_name("/"), "/");
  EXPECT_EQ(base_name(""), "");
}

}  // namespace
}  // namespace bora

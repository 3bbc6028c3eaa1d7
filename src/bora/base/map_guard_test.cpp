// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/map_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora {
namespace {

constexpr std::size_t kTenPages = 40'000;  // ten pages of 4096 bytes
constexpr std::string_view kHint =
    "\nhint: the file was changed while it was in use, or its disk fails; put it back and start again";

class MapGuardTest : public testing::Test {
 protected:
  MapGuardTest() : path_(path_join(testing::TempDir(), "bora_map_guard_test." + std::to_string(getpid()))) {
    write_atomically(path_, std::string(kTenPages, 'x'));
  }
  ~MapGuardTest() override { remove_all(path_); }

  template <class Body>
  static std::string error(Body&& body) {
    try {
      body();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "no error";
  }
  std::string shorter(std::size_t now) const {
    return fmt::format("{}: had {} bytes when it was opened and has {} now{}", path_, kTenPages, now, kHint);
  }

  std::string path_;
};

int sum(std::span<const std::byte> bytes) {
  int out = 0;
  for (const std::byte b : bytes) out += std::to_integer<int>(b);
  return out;
}

TEST_F(MapGuardTest, AMapOfAFileThatShrinksIsAnError) {
  const auto file = files().open(path_);
  const auto bytes = file->map();
  int total = 0;
  read_mapped([&] { total = sum(bytes); });
  EXPECT_EQ(total, 'x' * static_cast<int>(kTenPages));
  files().truncate(path_, 10'000);
  for (int again = 0; again < 3; ++again)
    EXPECT_EQ(error([&] { read_mapped([&] { total = sum(bytes); }); }), shorter(10'000));
  read_mapped([&] { total = sum(bytes.first(10'000)); });
  EXPECT_EQ(total, 'x' * 10'000);
}

TEST_F(MapGuardTest, ReadingAMappedFileIsGuarded) {
  const auto file = files().open(path_);
  file->map();
  std::array<std::byte, 100> some{};
  EXPECT_EQ(file->read_at(39'950, some), 50U);
  file->refuse_shorter();
  files().truncate(path_, kTenPages - 1);  // no signal: the rest of the last page reads as zeros
  EXPECT_EQ(error([&] { file->refuse_shorter(); }), shorter(kTenPages - 1));
  EXPECT_EQ(error([&] { file->read_at(39'950, some); }), shorter(kTenPages - 1));
  files().truncate(path_, 0);
  EXPECT_EQ(error([&] { file->read_at(39'950, some); }), shorter(0));
  EXPECT_EQ(file->size(), kTenPages);
}

TEST_F(MapGuardTest, AnotherFileOfTheSameNameSaysNothing) {
  const auto file = files().open(path_);
  file->map();
  write_atomically(path_, "short");
  file->refuse_shorter();
  std::array<std::byte, 1> one{};
  EXPECT_EQ(file->read_at(kTenPages - 1, one), 1U);
  files().remove(path_);
  file->refuse_shorter();
}

TEST_F(MapGuardTest, ErrorsAndNestingLeaveTheGuardAsItWas) {
  const auto file = files().open(path_);
  const auto bytes = file->map();
  files().truncate(path_, 0);
  EXPECT_EQ(error([] { read_mapped([] { fail(ErrorKind::Corruption, "of the body"); }); }), "of the body");
  int caught = 0;
  const auto outer = [&] {
    try {
      read_mapped([&] { caught = sum(bytes); });
    } catch (const Error&) {
      caught = -1;
    }
  };
  read_mapped(outer);
  EXPECT_EQ(caught, -1);
  EXPECT_EQ(error([&] {
              read_mapped([&] {
                read_mapped([] {});
                caught = sum(bytes);
              });
            }),
            shorter(0));
}

TEST_F(MapGuardTest, EveryThreadHasItsOwn) {
  const auto file = files().open(path_);
  const auto bytes = file->map();
  files().truncate(path_, 0);
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  for (auto& text : errors) {
    threads.emplace_back([&] {
      volatile int some = 0;
      for (int i = 0; i < 20; ++i)
        text = error([&] { read_mapped([&] { some = sum(bytes.subspan(8'192)); }); });
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& text : errors) EXPECT_EQ(text, shorter(0));
}

TEST_F(MapGuardTest, FilesAreToldApart) {
  std::vector<std::unique_ptr<ReadFile>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(files().open(path_));
    others.back()->map();
    if (i % 2 == 0) others.back().reset();  // its place is taken by the next
  }
  const std::string other = path_ + ".other";
  write_atomically(other, std::string(5'000, 'y'));
  const auto file = files().open(other);
  const auto bytes = file->map();
  files().truncate(other, 0);
  volatile int some = 0;
  EXPECT_EQ(error([&] { read_mapped([&] { some = sum(bytes); }); }),
            fmt::format("{}: had 5000 bytes when it was opened and has 0 now{}", other, kHint));
  remove_all(other);
}

using MapGuardDeathTest = MapGuardTest;

TEST_F(MapGuardDeathTest, WithoutAGuardTheProcessEndsWithTheFilesName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read_unguarded = [this] {
    const auto file = files().open(path_);
    const auto bytes = file->map();
    files().truncate(path_, 10'000);
    std::thread([&] { _exit(sum(bytes) > 0 ? 1 : 2); }).join();
  };
  EXPECT_EXIT(
      read_unguarded(), testing::ExitedWithCode(3),
      "bora: .*bora_map_guard_test.*: byte 12288 of 40000 cannot be read any more\nhint: the file was "
      "changed while it was in use");
}

TEST_F(MapGuardDeathTest, OtherBusErrorsStayWhatTheyAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The process's own handler is a sanitizer's in some builds, which ends the process in its own way.
  const auto raise_it = [this] {
    std::signal(SIGBUS, SIG_DFL);
    files().open(path_)->map();
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(raise_it(), testing::KilledBySignal(SIGBUS), "");
  const auto of_no_guard = [this] {
    std::signal(SIGBUS, SIG_DFL);
    const auto file = files().open(path_);
    file->map();
    FILE* plain = std::fopen(path_.c_str(), "rb");
    const void* start = mmap(nullptr, kTenPages, PROT_READ, MAP_PRIVATE, fileno(plain), 0);
    files().truncate(path_, 0);
    _exit(sum({static_cast<const std::byte*>(start), kTenPages}) > 0 ? 1 : 2);
  };
  EXPECT_EXIT(of_no_guard(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/fault_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "bora/base/error.h"

namespace bora {
namespace {

class FaultFilesTest : public testing::Test {
 protected:
  FaultFilesTest() : folder_(path_join(testing::TempDir(), "bora_fault_test." + std::to_string(getpid()))) {
    remove_all(folder_);
    files().make_directories(folder_);
  }
  ~FaultFilesTest() override { remove_all(folder_); }
  std::string at(std::string_view name) const { return path_join(folder_, name); }

  std::string folder_;
};

TEST_F(FaultFilesTest, CountsWithoutFault) {
  FaultFiles counted(files());
  {
    ScopedFileSystem scope(counted);
    write_atomically(at("a"), "text");
    EXPECT_EQ(read_text(at("a")), "text");
  }
  EXPECT_FALSE(counted.fired());
  EXPECT_EQ(counted.fired_at(), "");
  EXPECT_EQ(counted.counted(), 6);  // create, write, sync, close, rename, sync directory
  EXPECT_EQ(counted.count(FileOperation::Open), 1);
  EXPECT_EQ(counted.count(FileOperation::Rename), 1);
}

TEST_F(FaultFilesTest, AtomicWritesSurviveEveryFault) {
  for (const bool short_write : {false, true}) {
    for (const bool stays_broken : {false, true}) {
      remove_all(at("a"));
      write_atomically(at("a"), "old");
      std::int64_t n = 1;
      for (;; ++n) {
        FaultFiles broken(files(), {.nth = n, .short_write = short_write, .stays_broken = stays_broken});
        bool failed = false;
        {
          ScopedFileSystem scope(broken);
          try {
            write_atomically(at("a"), "new");
          } catch (const Error&) {
            failed = true;
          }
        }
        EXPECT_EQ(failed, broken.fired());
        const auto text = read_text(at("a"));
        EXPECT_TRUE(text == "old" || text == "new") << text << " after " << broken.fired_at();
        // Only a process that died leaves its temporary file.
        if (!stays_broken) {
          EXPECT_EQ(files().list(folder_).size(), 1U) << broken.fired_at();
        }
        if (!broken.fired()) break;
      }
      EXPECT_EQ(n, 7);
    }
    remove_all(folder_);
    files().make_directories(folder_);
  }
}

TEST_F(FaultFilesTest, FailsTheChosenKindWithTheChosenError) {
  struct Case {
    FileOperation operation;
    const char* message;
  };
  const auto use_everything = [&] {
    files().make_directories(at("d"));
    auto file = files().create(at("d/a"));
    file->write(as_bytes("abcd"));
    file->sync();
    file->close();
    files().append(at("d/a"))->close();
    files().truncate(at("d/a"), 3);
    files().sync_directory(at("d"));
    files().rename(at("d/a"), at("d/b"));
    link_to("b", at("d/link"));
    const auto lock = files().try_lock(at("d/lock"));
    const auto names = files().list(at("d"));
    const auto text = read_text(at("d/b"));
    files().remove(at("d/b"));
  };
  for (const Case& c :
       {Case{FileOperation::MakeDirectories, "d: cannot make directory: "},
        Case{FileOperation::Create, "d/a: cannot create: "},
        Case{FileOperation::Write, "d/a: cannot write: "}, Case{FileOperation::Sync, "d/a: cannot sync: "},
        Case{FileOperation::Close, "d/a: cannot close: "},
        Case{FileOperation::Append, "d/a: cannot append to: "},
        Case{FileOperation::Truncate, "d/a: cannot truncate: "},
        Case{FileOperation::SyncDirectory, "d: cannot sync directory: "},
        Case{FileOperation::Rename, "d/a: cannot rename: "},
        Case{FileOperation::Link, "d/link: cannot link: "},
        Case{FileOperation::Lock, "d/lock: cannot lock: "}, Case{FileOperation::List, "d: cannot list: "},
        Case{FileOperation::Open, "d/b: cannot open: "}, Case{FileOperation::Read, "d/b: cannot read: "},
        Case{FileOperation::Remove, "d/b: cannot remove: "}}) {
    FaultFiles broken(files(), {.nth = 1, .error_number = EIO, .operations = {c.operation}});
    std::string message;
    {
      ScopedFileSystem scope(broken);
      try {
        use_everything();
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Io);
        message = e.what();
      }
    }
    EXPECT_EQ(message, at(c.message) + "Input/output error");
    EXPECT_TRUE(broken.fired());
    remove_all(at("d"));
  }
}

TEST_F(FaultFilesTest, ShortWriteLeavesTheFrontHalf) {
  FaultFiles broken(files(), {.nth = 1, .operations = {FileOperation::Write}, .short_write = true});
  auto file = broken.create(at("a"));
  try {
    file->write(as_bytes("abcdef"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), at("a") + ": cannot write: No space left on device");
  }
  EXPECT_EQ(broken.fired_at(), "write " + at("a"));
  file->close();
  EXPECT_EQ(read_text(at("a")), "abc");
}

TEST_F(FaultFilesTest, FailsOnceOrStaysBroken) {
  FaultFiles unable(files(), {.nth = 1, .error_number = EIO, .operations = {FileOperation::Rename}});
  EXPECT_THROW(unable.exchange(at("a"), at("b")), Error);
  FaultFiles once(files(), {.nth = 2, .operations = {FileOperation::Create}});
  once.create(at("a"));
  EXPECT_THROW(once.create(at("b")), Error);
  once.create(at("c"));
  FaultFiles forever(files(), {.nth = 2, .operations = {FileOperation::Create}, .stays_broken = true});
  forever.create(at("a"));
  EXPECT_THROW(forever.create(at("b")), Error);
  EXPECT_THROW(forever.create(at("c")), Error);
}

TEST_F(FaultFilesTest, MissingFileIsNotFound) {
  FaultFiles broken(files(), {.nth = 1, .error_number = ENOENT, .operations = {FileOperation::Open}});
  try {
    broken.open(at("a"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NotFound);
  }
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/staged_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bora/base/fault_files.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using test::error_of;
using test::Folder;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

void put(const std::string& place, const std::string& content) {
  StagedDirectory staged(place);
  for (const char* name : {"a", "b"}) write_file(path_join(staged.path(), name), content);
  staged.put_in_place();
}

// Both files' content if they agree.
std::string content_of(const std::string& place) {
  if (!exists(place)) return "nothing";
  EXPECT_THAT(files().list(place), ElementsAre("a", "b"));
  const auto a = read_text(path_join(place, "a"));
  return read_text(path_join(place, "b")) == a ? a : "a mixture";
}

// A file system that cannot exchange directories.
class Plain : public FaultFiles {
 public:
  using FaultFiles::FaultFiles;
  bool exchange(const std::string&, const std::string&) override { return false; }
};

TEST(StagedDirectory, ReplacesWhatStandsThere) {
  Folder folder;
  for (const char* place : {"new", "new", "new/", "in/a/folder"}) {
    put(folder / place, place);
    EXPECT_EQ(content_of(folder / place), place);
  }
  EXPECT_THAT(files().list(folder.path()), ElementsAre("in", "new"));
  {
    const StagedDirectory given_up(folder / "other");
    EXPECT_TRUE(exists(given_up.path()));
  }
  EXPECT_THAT(files().list(folder.path()), ElementsAre("in", "new"));
}

TEST(StagedDirectory, ReplacesALinkNotWhatItPointsTo) {
  Folder folder;
  put(folder / "real", "old");
  ASSERT_EQ(::symlink("real", (folder / "link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (folder / "dangling").c_str()), 0);
  put(folder / "link", "new");
  put(folder / "dangling", "new");
  EXPECT_EQ(content_of(folder / "real"), "old");
  EXPECT_EQ(content_of(folder / "link"), "new");
  EXPECT_EQ(content_of(folder / "dangling"), "new");
}

// A process that died, or a disk that failed, at any operation.
template <class Files>
void fail_everywhere(bool stays_broken) {
  for (const std::string before : {"nothing", "old"}) {
    for (std::int64_t n = 1;; ++n) {
      Folder folder;
      const auto place = folder / "export";
      if (before == "old") put(place, before);
      Files broken(files(), {.nth = n, .error_number = EIO, .stays_broken = stays_broken});
      std::string error = "no error";
      {
        ScopedFileSystem scope(broken);
        testing::internal::CaptureStderr();
        error = error_of([&] { put(place, "new"); });
        testing::internal::GetCapturedStderr();
      }
      if (!broken.fired()) {
        EXPECT_EQ(error, "no error");
        EXPECT_GT(n, 8);
        break;
      }
      const bool between = !exists(place) && exists(folder / ".export.old");  // Plain: neither has the name
      EXPECT_TRUE(!between || stays_broken) << broken.fired_at();
      if (!between) {
        EXPECT_THAT(content_of(place), testing::AnyOf(before, "new")) << broken.fired_at();
      }
      { const StagedDirectory next(place); }
      EXPECT_THAT(content_of(place), testing::AnyOf(before, "new")) << broken.fired_at();
      remove_all(place);
      EXPECT_THAT(files().list(folder.path()), ElementsAre()) << broken.fired_at();
    }
  }
}
TEST(StagedDirectory, IsOldOrNewWhateverFails) { fail_everywhere<FaultFiles>(false); }
TEST(StagedDirectory, IsOldOrNewWhereverItDies) { fail_everywhere<FaultFiles>(true); }
TEST(StagedDirectory, WithoutExchangeTooWhateverFails) { fail_everywhere<Plain>(false); }
TEST(StagedDirectory, WithoutExchangeTooWhereverItDies) { fail_everywhere<Plain>(true); }

TEST(StagedDirectory, SweepsWhatTheDeadLeft) {
  Folder folder;
  files().make_directories(folder / ".export.tmp-4711-0");
  write_file(folder / ".export.tmp-4711-0.lock", "");
  write_file(folder / ".export.tmp-4712-0.lock", "");
  files().make_directories(folder / ".exported.tmp-4711-0");
  const StagedDirectory alive(folder / "export");
  write_file(path_join(alive.path(), "a"), "half");
  put(folder / "export", "new");
  EXPECT_TRUE(exists(path_join(alive.path(), "a")));
  EXPECT_THAT(files().list(folder.path()),
              ElementsAre(base_name(alive.path()), base_name(alive.path()) + ".lock", ".exported.tmp-4711-0",
                          "export"));
}

// Parameters of two layouts, as a model's.
struct Parameters {
  explicit Parameters(std::uint64_t seed) : run(seed) {
    for (std::size_t i = 0; i < 2; ++i) {
      core::Parameter ref;
      ref.path = run.arrays[i].path;
      ref.axes = run.arrays[i].names;
      ref.array = &run.arrays[i].array;
      all.push_back({ref, ref.path, false});
    }
  }
  test::TinyRun run;
  std::vector<HfParameter> all;
};

TEST(HuggingFaceExport, IsOldOrNewWhateverFails) {
  const auto save = [](const std::string& to, std::uint64_t seed) {
    const Parameters parameters(seed);
    save_hugging_face(to, parameters.all, {{"seed", seed}}, {.add_files = [&](const std::string& at) {
                        write_atomically(path_join(at, "tokenizer.json"), std::to_string(seed));
                      }});
  };
  for (std::int64_t n = 1;; ++n) {
    Folder folder;
    save(folder / "model", 1);
    FaultFiles broken(files(),
                      {.nth = n, .error_number = ENOSPC, .short_write = true, .stays_broken = n % 2 == 0});
    std::string error = "no error";
    {
      ScopedFileSystem scope(broken);
      testing::internal::CaptureStderr();
      error = error_of([&] { save(folder / "model", 2); });
      testing::internal::GetCapturedStderr();
    }
    const std::string seed = read_text(folder / "model/tokenizer.json");
    const Parameters live(9);
    load_hugging_face(folder / "model", live.all);
    EXPECT_EQ(read_hf_config(folder / "model")["seed"].dump(), seed) << broken.fired_at();
    EXPECT_EQ(live.run.arrays[0].array.to_vector<float>(),
              test::TinyRun(static_cast<std::uint64_t>(std::stoi(seed))).arrays[0].array.to_vector<float>());
    save(folder / "model", 3);
    EXPECT_THAT(files().list(folder.path()), ElementsAre("model")) << broken.fired_at();
    if (!broken.fired()) {
      EXPECT_EQ(error, "no error");
      EXPECT_EQ(seed, "2");
      EXPECT_GT(n, 15);
      break;
    }
  }
}

}  // namespace
}  // namespace bora::checkpoint

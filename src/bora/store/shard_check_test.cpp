// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/shard_check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "bora/base/fault_files.h"
#include "bora/store/cache_builder.h"
#include "bora/store/test_files.h"
#include "bora/store/test_votes.h"
#include "bora/store/token_cache.h"
#include "bora/store/token_files.h"

namespace bora::store {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kCheckedShard = 20'000;
constexpr std::string_view kRebuild = "\nhint: delete the cache directory; it will be built again";

/// Counts the bytes that are read of shards without their maps.
class CountingFiles : public PosixFileSystem {
 public:
  std::unique_ptr<ReadFile> open(const std::string& path) override {
    return std::make_unique<File>(PosixFileSystem::open(path), path.ends_with(".bin") ? &bytes : nullptr);
  }
  std::atomic<std::uint64_t> bytes{0};

 private:
  struct File : ReadFile {
    File(std::unique_ptr<ReadFile> file, std::atomic<std::uint64_t>* count)
        : inner(std::move(file)), bytes(count) {}
    std::uint64_t size() const override { return inner->size(); }
    FileInfo info() const override { return inner->info(); }
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
      if (bytes != nullptr) *bytes += out.size();
      return inner->read_at(offset, out);
    }
    std::span<const std::byte> map() const override { return inner->map(); }
    void refuse_shorter() const override { inner->refuse_shorter(); }
    std::unique_ptr<ReadFile> inner;
    std::atomic<std::uint64_t>* bytes;
  };
};

class ShardCheck : public testing::Test {
 protected:
  ShardCheck() : folder_("shards") {
    const ScopedFileSystem scope(no_sync_);
    source_ = folder_.write("a.txt", sample_text(1, 150'000));
    build();
    make_older(cache());
  }

  std::string cache() const { return folder_ / "c"; }
  std::string tokens(std::int64_t shard) const { return tokens_path(cache(), shard); }
  void build(const CacheOptions& options = {.threads = 1, .shard_bytes = kCheckedShard}) const {
    build_cache(cache(), {source_}, ByteProcessor(), options);
  }
  std::string open_error() const {
    return error_of(ErrorKind::Corruption, [&] { TokenCache::open(cache()); });
  }
  std::uint64_t bytes_read() const {
    CountingFiles counting;
    const ScopedFileSystem scope(counting);
    TokenCache::open(cache());
    return counting.bytes;
  }
  std::uint64_t all_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& name : files().list(cache())) {
      if (name.ends_with(".bin")) sum += files().info(path_join(cache(), name))->size;
    }
    return sum;
  }
  /// The last one that has tokens and ends a document.
  std::int64_t last_shard() const {
    const auto shards = read_ledger(cache())->shards;
    const auto at = std::find_if(shards.rbegin(), shards.rend(),
                                 [](const auto& shard) { return shard.counts.documents > 0; });
    return at->index;
  }
  /// In place, as a failing disk does it.
  static void overwrite(const std::string& path, std::size_t at, std::string_view bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  static std::string damaged(const std::string& path) {
    return fmt::format("{}: hash differs from the ledger; the file is damaged{}", path, kRebuild);
  }
  /// Tokens of the last shard, with hashes that say so: only the ids are wrong.
  void put_id(std::uint16_t id, std::size_t place) const {
    auto ledger = *read_ledger(cache());
    ShardRecord& record = ledger.shards.at(static_cast<std::size_t>(last_shard()));
    overwrite(tokens(record.index), 2 * place, {reinterpret_cast<const char*>(&id), 2});
    record.tokens = hash128(read_text(tokens(record.index)));
    write_ledger(cache(), ledger);
  }

  NoSyncFiles no_sync_;
  TemporaryFolder folder_;
  std::string source_;
};

TEST_F(ShardCheck, ZeroedFilesAreRefused) {
  overwrite(tokens(0), 0, std::string(files().info(tokens(0))->size, '\0'));
  EXPECT_EQ(open_error(), damaged(tokens(0)));
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { build(); }), damaged(tokens(0)));
}

TEST_F(ShardCheck, PartlyZeroedFilesAreRefused) {
  overwrite(tokens(3), 4096, std::string(512, '\0'));
  EXPECT_EQ(open_error(), damaged(tokens(3)));
}

TEST_F(ShardCheck, OffsetsAreCheckedToo) {
  const std::string offsets = offsets_path(cache(), last_shard());
  overwrite(offsets, 0, std::string(8, '\0'));
  EXPECT_EQ(open_error(), damaged(offsets));
}

TEST_F(ShardCheck, IdsOutsideOfTheVocabularyAreRefused) {
  put_id(258, 17);
  const std::string path = tokens(last_shard());
  const std::string message =
      fmt::format("{}: token 17 is 258, but the cache's vocabulary has ids from 0 to 257{}", path, kRebuild);
  EXPECT_EQ(open_error(), message);
  // What has not been checked, or changes afterwards, is found where it is read.
  const auto unchecked = TokenCache::open_prefix(cache());
  const std::int64_t before =
      unchecked->num_tokens() -
      read_ledger(cache())->shards.at(static_cast<std::size_t>(last_shard())).counts.tokens;
  EXPECT_EQ(unchecked->tokens(before, 17).size(), 17U);
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { unchecked->tokens(before - 5, 100); }), message);
}

TEST_F(ShardCheck, AllIdsOfAFullVocabularyAreKnown) {
  put_id(257, 17);
  TokenCache::open(cache());
}

TEST_F(ShardCheck, ALedgerOfAnotherVocabularyChecksIdsAgain) {
  TokenCache::open(cache());
  auto ledger = *read_ledger(cache());
  ledger.vocab_size = 100;
  write_ledger(cache(), ledger);
  EXPECT_THAT(open_error(), HasSubstr("but the cache's vocabulary has ids from 0 to 99"));
}

TEST_F(ShardCheck, NegativeIdsAreRefused) {
  const ByteProcessor wide("wide", 70'000);
  build_cache(folder_ / "w", {source_}, wide, {.threads = 1, .shard_bytes = kCheckedShard});
  make_older(folder_ / "w");
  auto ledger = *read_ledger(folder_ / "w");
  const std::string path = tokens_path(folder_ / "w", 0);
  overwrite(path, 4 * 9, "\xff\xff\xff\xff");
  ledger.shards[0].tokens = hash128(read_text(path));
  write_ledger(folder_ / "w", ledger);
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { TokenCache::open(folder_ / "w"); }),
              HasSubstr(": token 9 is 4294967295, but the cache's vocabulary has ids from 0 to 69999"));
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { TokenCache::open_prefix(folder_ / "w")->tokens(0, 20); }),
              HasSubstr(": token 9 is -1, but the cache's vocabulary has ids from 0 to 69999"));
}

TEST_F(ShardCheck, FilesAreReadOnceUntilTheyChange) {
  EXPECT_EQ(bytes_read(), all_bytes());
  EXPECT_EQ(bytes_read(), 0U);
  make_older(cache());  // other dates
  EXPECT_EQ(bytes_read(), all_bytes());
  EXPECT_EQ(bytes_read(), 0U);
  const std::string path = tokens(1);
  const auto date = std::filesystem::last_write_time(path);
  write_atomically(path, read_text(path));  // another inode
  std::filesystem::last_write_time(path, date);
  EXPECT_EQ(bytes_read(), files().info(path)->size);
  overwrite(path, 100, "damage");
  EXPECT_EQ(open_error(), damaged(path));
}

TEST_F(ShardCheck, VerifyReadsWhatIsKnown) {
  TokenCache::open(cache());
  const auto date = std::filesystem::last_write_time(tokens(2));
  overwrite(tokens(2), 100, "damage");
  std::filesystem::last_write_time(tokens(2), date);
  const auto cache_of_old = TokenCache::open(cache());
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { cache_of_old->verify(); }), damaged(tokens(2)));
}

TEST(CheckedFiles, AFreshFileIsNotKnownByItsDate) {
  const ShardFile file{"c/tokens-00000.bin", 8, hash128("x"), 2};
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const FileInfo fresh{.size = 8, .modified_ns = now.count(), .inode = 5},
      old{.size = 8, .modified_ns = now.count() - 1'000'000'000, .inode = 5};
  CheckedFiles known;
  EXPECT_FALSE(known.add(file, fresh, 100)) << "it may change again within the same tick";
  EXPECT_FALSE(known.holds(file, fresh, 100));
  EXPECT_TRUE(known.add(file, old, 100));
  EXPECT_TRUE(known.holds(file, old, 100));
  EXPECT_FALSE(known.holds(file, fresh, 100));
  EXPECT_FALSE(known.holds(file, old, 99)) << "a smaller vocabulary";
}

TEST_F(ShardCheck, WhatABuildHasWrittenIsNotReadAgain) {
  struct Old : NoSyncFiles {  // its clock is an hour behind
    std::optional<FileInfo> info(const std::string& path) override {
      auto out = NoSyncFiles::info(path);
      if (out) out->modified_ns -= std::int64_t{3600} * 1'000'000'000;
      return out;
    }
  };
  remove_all(cache());
  {
    Old old;
    const ScopedFileSystem scope(old);
    build();
  }
  make_older(cache());
  EXPECT_EQ(bytes_read(), 0U);
}

TEST_F(ShardCheck, ABrokenNoteIsNoNote) {
  const std::string note = path_join(cache(), "checked.json");
  TokenCache::open(cache());
  const std::string good = read_text(note);
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("{\"format\": \"bora-checked-files\"}"), good + "x",
        std::string("{\"format\": \"bora-checked-files\", \"version\": 1, \"files\": [3]}"), std::string()}) {
    folder_.write("c/checked.json", bad);
    EXPECT_EQ(bytes_read(), all_bytes()) << bad.substr(0, 60);
  }
  remove_all(note);
  files().make_directories(note);
  EXPECT_EQ(bytes_read(), all_bytes()) << "unreadable";
}

// Killed while it wrote the note of a finished cache.
TEST_F(ShardCheck, WhatAKilledProcessHasLeftIsRemoved) {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto gone = fmt::format("c/.checked.json.{}.7.tmp", child),
             alive = fmt::format("c/.checked.json.{}.7.tmp", ::getpid()),
             other = fmt::format("c/.ledger.json.{}.7.tmp", child);
  for (const auto& name : {gone, alive, other}) folder_.write(name, "half");
  TokenCache::open(cache());
  EXPECT_FALSE(exists(folder_ / gone));
  EXPECT_TRUE(exists(folder_ / alive)) << "it may be writing";
  EXPECT_TRUE(exists(folder_ / other));
}

TEST_F(ShardCheck, AReadOnlyCacheIsChecked) {
  // A slow machine has written it while the cache was built.
  remove_all(path_join(cache(), "checked.json"));
  FaultFiles read_only(no_sync_, {.nth = 1, .error_number = EROFS, .stays_broken = true});
  const ScopedFileSystem scope(read_only);
  EXPECT_GT(TokenCache::open(cache())->num_tokens(), 0);
  build();
  EXPECT_TRUE(read_only.fired());
  EXPECT_FALSE(exists(path_join(cache(), "checked.json")));
}

// Also where the cache came with a note of its own, of which no file is still as it was.
TEST_F(ShardCheck, OfAReadOnlyCacheTheUserKeepsTheNote) {
  TokenCache::open(cache());
  ASSERT_TRUE(exists(path_join(cache(), "checked.json")));
  make_older(cache());
  struct ReadOnly : CountingFiles {
    explicit ReadOnly(std::string folder) : fixed(std::move(folder)) {}
    std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
      if (path.starts_with(fixed)) fail_file(path, "create", EROFS);
      return CountingFiles::create(path, access);
    }
    std::string fixed;
  };
  ::setenv("BORA_CACHE", (folder_ / "user").c_str(), 1);
  ReadOnly read_only(cache());
  const ScopedFileSystem scope(read_only);
  TokenCache::open(cache());
  EXPECT_EQ(read_only.bytes, all_bytes());
  TokenCache::open(cache());
  EXPECT_EQ(read_only.bytes, all_bytes()) << "the second time";
  EXPECT_EQ(files().list(folder_ / "user/checked").size(), 1U);
  make_older(cache());
  TokenCache::open(cache());
  EXPECT_EQ(read_only.bytes, 2 * all_bytes());
  ::unsetenv("BORA_CACHE");
}

TEST_F(ShardCheck, WorkersOfAHostShareTheWork) {
  CountingFiles counting;
  const ScopedFileSystem scope(counting);
  constexpr int kWorkers = 3;
  Votes votes(kWorkers);
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> opened{0};
  for (int w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      const CacheTeam team{w, kWorkers, [&](bool mine) { return votes.any(mine); }, w, kWorkers};
      opened += open_cache(cache(), {.threads = 1, .team = team})->num_tokens();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counting.bytes, all_bytes());
  EXPECT_EQ(opened, kWorkers * TokenCache::open(cache())->num_tokens());
  EXPECT_EQ(counting.bytes, all_bytes()) << "the next start";
}

TEST_F(ShardCheck, DamageThatOneWorkerFindsStopsAll) {
  overwrite(tokens(4), 100, "damage");
  remove_all(path_join(cache(), "checked.json"));  // which a slow build leaves
  Votes votes(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      const CacheTeam team{w, 2, [&](bool mine) { return votes.any(mine); }, w, 2};
      try {
        open_cache(cache(), {.threads = 1, .team = team});
      } catch (const Error& e) {
        errors[static_cast<std::size_t>(w)] = e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(errors[0], damaged(tokens(4)));
  EXPECT_THAT(errors[1], HasSubstr("another of the 2 workers that build or read it failed"));
  EXPECT_FALSE(exists(path_join(cache(), "checked.json")));
}

TEST_F(ShardCheck, ProgressIsTold) {
  std::int64_t done = 0, total = 0;
  CacheOptions options{.threads = 1, .shard_bytes = kCheckedShard};
  options.progress = [&](const CacheProgress& progress) {
    EXPECT_TRUE(progress.checks);
    EXPECT_GE(progress.bytes_done, done);
    done = progress.bytes_done;
    total = progress.bytes_total;
  };
  build(options);
  EXPECT_EQ(done, static_cast<std::int64_t>(all_bytes()));
  EXPECT_EQ(total, done);
  done = 0;
  build(options);
  EXPECT_EQ(done, 0);
}

TEST_F(ShardCheck, AnUnfinishedBuildChecksWhatIsThere) {
  auto ledger = *read_ledger(cache());
  ledger.is_finished = false;
  ledger.shards.pop_back();
  write_ledger(cache(), ledger);
  overwrite(tokens(2), 100, "damage");
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { build(); }), damaged(tokens(2)));
}

TEST_F(ShardCheck, ACacheThatShrinksWhileItIsReadIsAnError) {
  const auto open = TokenCache::open(cache());
  const std::int64_t last = read_ledger(cache())->shards.front().counts.tokens - 10;
  EXPECT_EQ(open->tokens(last, 5).size(), 5U);
  const auto size = files().info(tokens(0))->size;
  const auto why = [&](std::uint64_t left) {
    return fmt::format(
        "{}: had {} bytes when it was opened and has {} now\nhint: the file was changed while "
        "it was in use, or its disk fails; put it back and start again",
        tokens(0), size, left);
  };
  // In the last page, whose rest reads as zeros: before the file's end, at it, behind it.
  files().truncate(tokens(0), size - 2);
  EXPECT_EQ(open->tokens(last, 5).size(), 5U) << "what is there is read";
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { open->tokens(last, 10); }), why(size - 2));
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { open->tokens(last, 50); }), why(size - 2));
  for (const std::uint64_t cut : {11, 12, 19}) {
    files().truncate(tokens(0), size - cut);
    EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { open->tokens(last, 5); }), why(size - cut));
  }
  files().truncate(tokens(0), 0);
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { open->tokens(last, 5); }), why(0));
  const std::string offsets = offsets_path(cache(), last_shard());
  files().truncate(offsets, 0);
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { open->document_end(open->num_documents() - 1); }),
              HasSubstr(offsets + ": had "));
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { open->document_at(open->num_tokens() - 1); }),
              HasSubstr(offsets + ": had "));
}

/// Does something to a file at the first piece of text.
struct Meddling : ByteProcessor {
  explicit Meddling(std::function<void()> what) : act(std::move(what)) {}
  void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const override {
    if (first) act();
    first = false;
    ByteProcessor::encode(piece, out);
  }
  std::function<void()> act;
  mutable bool first = true;
};

class ChangingSource : public ShardCheck {
 protected:
  std::string error_after(ErrorKind kind, std::function<void()> what) const {
    remove_all(cache());
    make_older(folder_.path());
    const Meddling meddling(std::move(what));
    return error_of(kind, [&] {
      build_cache(cache(), {source_}, meddling, {.threads = 1, .shard_bytes = kCheckedShard});
    });
  }
};

TEST_F(ChangingSource, OneThatShrinksIsRefused) {
  EXPECT_THAT(error_after(ErrorKind::Io, [&] { files().truncate(source_, 149'000); }),
              HasSubstr(source_ + ": had 150"));
  EXPECT_FALSE(exists(ledger_path(cache())) && read_ledger(cache())->is_finished);
}

TEST_F(ChangingSource, OneThatGrowsIsRefused) {
  const auto size = files().info(source_)->size;
  EXPECT_EQ(error_after(ErrorKind::Io,
                        [&] {
                          const auto more = files().append(source_);
                          more->write(as_bytes("more"));
                          more->close();
                        }),
            fmt::format("{}: had {} bytes when its token cache was begun and has {} now\nhint: let whatever "
                        "writes it finish, delete the cache directory, and start again",
                        source_, size, size + 4));
}

TEST_F(ChangingSource, OneOfTheSameSizeIsRefused) {
  const auto error = error_after(ErrorKind::Config, [&] { overwrite(source_, 5, "changed"); });
  EXPECT_THAT(error, testing::StartsWith("a source changed while its token cache was being built: "));
  EXPECT_THAT(error,
              HasSubstr(fmt::format("the content of {} has changed since the cache was made", source_)));
}

TEST_F(ChangingSource, OneThatGoesIsRefused) {
  EXPECT_THAT(error_after(ErrorKind::Io, [&] { files().remove(source_); }), HasSubstr(" and has none now"));
}

TEST_F(ChangingSource, ANewDateAloneIsNoChange) {
  remove_all(cache());
  const Meddling touching(
      [&] { std::filesystem::last_write_time(source_, std::filesystem::file_time_type::clock::now()); });
  make_older(folder_.path());
  build_cache(cache(), {source_}, touching, {.threads = 1, .shard_bytes = kCheckedShard});
  EXPECT_EQ(read_ledger(cache())->sources, look_up_sources({source_}));
}

TEST_F(ShardCheck, AnImportIsCheckedWithItsOwnHint) {
  const std::string raw = folder_.write("ids.bin", std::string("\1\0\2\0\3\0\4\0", 8));
  import_tokens(folder_ / "i", {raw}, TokenFiles::RawU16, {});
  overwrite(tokens_path(folder_ / "i", 0), 0, "\3");
  EXPECT_EQ(
      error_of(ErrorKind::Corruption, [&] { TokenCache::open(folder_ / "i"); }),
      fmt::format("{}: hash differs from the ledger; the file is damaged\nhint: delete the cache directory, "
                  "and import the tokens again",
                  tokens_path(folder_ / "i", 0)));
}

}  // namespace
}  // namespace bora::store

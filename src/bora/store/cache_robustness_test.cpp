// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Builds that are killed, that meet broken disks, and that several workers share: the finished cache has the
// same bytes whatever happened. BORA_KILL_ROUNDS=200 kills more often than a quick test can.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/fault_files.h"
#include "bora/store/cache_builder.h"
#include "bora/store/test_files.h"
#include "bora/store/test_votes.h"

namespace bora::store {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kShard = 60'000;
constexpr std::uint64_t kFew = 400'000;  // fewer shards where a cache is built hundreds of times

const std::set<FileOperation> kEveryOperation = {
    FileOperation::Open,   FileOperation::Create,       FileOperation::Append,          FileOperation::Read,
    FileOperation::Write,  FileOperation::Sync,         FileOperation::Close,           FileOperation::List,
    FileOperation::Rename, FileOperation::Truncate,     FileOperation::MakeDirectories, FileOperation::Remove,
    FileOperation::Lock,   FileOperation::SyncDirectory};

std::string sample_word(int i) {
  return std::string(static_cast<std::size_t>(10 + i % 50), static_cast<char>('a' + i % 26));
}

/// `text` with a 9 in front of what stands after `key`, in place of its first character.
std::string changed(std::string text, const std::string& key) {
  text.at(text.find(key) + key.size()) = '9';
  return text;
}

class Robustness : public testing::Test {
 protected:
  Robustness() : folder_("robustness") {
    sources_.push_back(folder_.write("a.txt", sample_text(1, 400'000)));
    std::string lines;
    for (int i = 0; i < 900; ++i)
      lines += fmt::format("{{\"text\":\"document {} {}\"}}\n", i, std::string(i % 300, 'x'));
    sources_.push_back(folder_.write("b.jsonl", lines));
    sources_.push_back(folder_.write("c.txt.gz", gzip(sample_text(2, 100'000))));
    const ScopedFileSystem scope(no_sync_);
    build("expected");
    expected_ = contents(folder_ / "expected");
  }

  void build(const std::string& name, CacheTeam team = {}, int threads = 1) const {
    build_cache(folder_ / name, sources_, ByteProcessor(),
                {.threads = threads, .shard_bytes = shard_, .team = std::move(team)});
  }
  void expect_few_shards() {
    shard_ = kFew;
    const ScopedFileSystem scope(no_sync_);
    build("few");
    expected_ = contents(folder_ / "few");
  }

  /// One message for each worker, empty if it did well.
  std::vector<std::string> build_together(const std::string& name, int workers,
                                          const Processor& processor = ByteProcessor()) const {
    Votes votes(workers);
    std::vector<std::string> errors(static_cast<std::size_t>(workers));
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) {
      threads.emplace_back([&, w] {
        try {
          build_cache(folder_ / name, sources_, processor,
                      {.threads = 1, .shard_bytes = shard_, .team = {w, workers, [&](bool mine) {
                                                                       return votes.any(mine);
                                                                     }}});
        } catch (const Error& e) {
          errors[static_cast<std::size_t>(w)] = e.what();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return errors;
  }

  /// Builds in a process that is killed after so many seconds, unless it is done before.
  void build_and_kill(const std::string& name, double seconds, int threads) const {
    const pid_t child = fork();
    if (child == 0) {
      try {
        build(name, {}, threads);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    usleep(static_cast<useconds_t>(seconds * 1e6));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the build failed by itself";
  }

  /// Every n-th counted operation fails once, for every n; what is there afterwards is finished.
  template <class BuildOnce>
  std::int64_t break_each(const Fault& fault, const std::string& message, const BuildOnce& build_once) {
    for (std::int64_t n = 1;; ++n) {
      remove_all(folder_ / "c");
      Fault nth = fault;
      nth.nth = n;
      FaultFiles broken(no_sync_, nth);
      {
        const ScopedFileSystem scope(broken);
        for (const std::string& error : build_once()) {
          if (error.empty()) continue;
          EXPECT_THAT(error, testing::AnyOf(HasSubstr(message), HasSubstr("another of the ")));
        }
      }
      const ScopedFileSystem scope(no_sync_);
      build("c");
      EXPECT_EQ(contents(folder_ / "c"), expected_) << broken.fired_at();
      if (!broken.fired() || HasFailure()) return n;
    }
  }

  NoSyncFiles no_sync_;
  TemporaryFolder folder_;
  std::vector<std::string> sources_;
  std::uint64_t shard_ = kShard;
  std::map<std::string, std::string> expected_;
};

TEST_F(Robustness, KilledAtAnyMoment) {
  const auto wanted = env::for_tests("BORA_KILL_ROUNDS");
  const int rounds = wanted ? std::stoi(*wanted) : 12;
  const double began = monotonic_seconds();
  build("c");
  const double whole = monotonic_seconds() - began;
  const Key key = Key::from_seed(5);
  for (int round = 0; round < rounds; ++round) {
    remove_all(folder_ / "c");
    const auto draw = [&](std::uint64_t n, int what) {
      return key.below(n, static_cast<std::uint64_t>(round * 8 + what));
    };
    const int kills = 1 + static_cast<int>(draw(3, 0));
    for (int i = 0; i < kills; ++i) {
      build_and_kill("c", whole * static_cast<double>(draw(1000, i + 1)) / 1000, 1 + round % 2);
      if (HasFatalFailure()) return;
    }
    const ScopedFileSystem scope(no_sync_);
    build("c");
    ASSERT_EQ(contents(folder_ / "c"), expected_) << "round " << round;
  }
}

TEST_F(Robustness, EveryOperationMayFail) {
  expect_few_shards();
  const auto alone = [&]() -> std::vector<std::string> {
    try {
      build("c");
    } catch (const Error& e) {
      return {e.what()};
    }
    return {};
  };
  EXPECT_GT(break_each({.error_number = EIO, .operations = kEveryOperation}, "Input/output error", alone),
            40);
  break_each({.error_number = EINTR,
              .operations = {FileOperation::Open, FileOperation::Read, FileOperation::Write,
                             FileOperation::Sync, FileOperation::Close}},
             "Interrupted system call", alone);
  break_each(
      {.error_number = ENOSPC,
       .operations = {FileOperation::Create, FileOperation::Write, FileOperation::Sync, FileOperation::Close},
       .short_write = true},
      "No space left on device", alone);
}

TEST_F(Robustness, EveryOperationOfATeamMayFail) {
  expect_few_shards();
  const auto together = [&] { return build_together("c", 2); };
  break_each({.error_number = EIO, .stays_broken = true}, "Input/output error", together);
}

TEST_F(Robustness, SameBytesForAnyNumberOfWorkers) {
  const ScopedFileSystem scope(no_sync_);
  for (const int workers : {1, 2, 3, 5}) {
    const std::string name = fmt::format("w{}", workers);
    for (const auto& error : build_together(name, workers)) EXPECT_EQ(error, "");
    EXPECT_EQ(contents(folder_ / name), expected_) << workers;
    for (const auto& error : build_together(name, workers)) EXPECT_EQ(error, "") << "the second time";
  }
}

TEST_F(Robustness, WhatATeamLeavesOthersFinish) {
  struct Dying : ByteProcessor {
    mutable std::atomic<int> pieces{0};
    int most;
    explicit Dying(int n) : most(n) {}
    void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const override {
      if (pieces++ >= most) fail(ErrorKind::Io, "power cut");
      ByteProcessor::encode(piece, out);
    }
  };
  const ScopedFileSystem scope(no_sync_);
  const Dying all(1 << 30);
  build_cache(folder_ / "all", sources_, all, {.shard_bytes = kShard});
  const Dying some(all.pieces - 1);
  const auto errors = build_together("c", 3, some);
  const auto failed = [&](std::string_view what) {
    return std::count_if(errors.begin(), errors.end(),
                         [&](const auto& e) { return e.find(what) != std::string::npos; });
  };
  EXPECT_EQ(failed("power cut"), 1);
  EXPECT_EQ(failed("another of the 3 workers that build or read it failed\nhint: its own message says why; "
                   "what is finished is kept"),
            2);
  const Dying rest(1 << 30);
  build_cache(folder_ / "c", sources_, rest, {.shard_bytes = kShard});
  EXPECT_EQ(contents(folder_ / "c"), expected_);
  EXPECT_LT(rest.pieces, all.pieces / 2) << "what other workers had finished was made again";
}

TEST_F(Robustness, GoesOnInsideASourceThatCannotBeCut) {
  struct Counting : ByteProcessor {
    mutable std::int64_t bytes = 0;
    std::int64_t most = 1 << 30;
    void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const override {
      bytes += static_cast<std::int64_t>(piece.text.size());
      if (bytes > most) fail(ErrorKind::Stopped, "power cut");
      ByteProcessor::encode(piece, out);
    }
  };
  const ScopedFileSystem scope(no_sync_);
  std::string lines;
  for (int i = 0; i < 9000; ++i) lines += fmt::format("{{\"text\":\"{} {}\"}}\n", i, sample_word(i));
  const std::vector<std::pair<std::string, std::string>> kinds = {{"a.jsonl.gz", gzip(lines)},
                                                                  {"a.jsonl.zst", zstd(lines)},
                                                                  {"a.jsonl.bz2", bzip2(lines)},
                                                                  {"a.json", lines}};
  for (const auto& [name, content] : kinds) {
    remove_all(folder_ / "c");
    const std::vector<std::string> sources = {folder_.write("one.txt", "first"),
                                              folder_.write(name, content)};
    const CacheOptions options{.threads = 1, .shard_bytes = 4'000};
    Counting all;
    build_cache(folder_ / "all", sources, all, options);
    const auto expected = contents(folder_ / "all");
    Counting dies;
    dies.most = all.bytes * 3 / 4;
    EXPECT_THROW(build_cache(folder_ / "c", sources, dies, options), Error);
    const std::string saved = folder_ / "c/partial-00000.json";
    EXPECT_TRUE(exists(saved)) << name;
    const std::string partial = read_text(saved);
    Counting goes_on;
    build_cache(folder_ / "c", sources, goes_on, options);
    EXPECT_EQ(contents(folder_ / "c"), expected) << name;
    EXPECT_LT(goes_on.bytes, all.bytes / 2) << name << ": what was saved was made again";
    // Damaged, of other content, or ahead of the files: the shard begins anew.
    for (const std::string& bad : {partial.substr(0, partial.size() / 2),
                                   changed(partial, "source_hash\": \""), changed(partial, "tokens\": ")}) {
      remove_all(folder_ / "c");
      EXPECT_THROW(build_cache(folder_ / "c", sources, dies, options), Error);
      folder_.write("c/partial-00000.json", bad);
      dies.bytes = 0;
      build_cache(folder_ / "c", sources, ByteProcessor(), options);
      EXPECT_EQ(contents(folder_ / "c"), expected) << name << ": " << bad;
    }
    remove_all(folder_ / "all");
  }
}

TEST_F(Robustness, AWorkerThatOutlivesItsTeamIsInTheWay) {
  const ScopedFileSystem scope(no_sync_);
  files().make_directories(folder_ / "c");
  {
    const auto held = files().try_lock(folder_ / "c/lock-2");
    EXPECT_THAT(error_of(ErrorKind::Io, [&] { build("c"); }), HasSubstr("another process is building it"));
  }
  build("c");
  EXPECT_EQ(contents(folder_ / "c"), expected_);
}

TEST_F(Robustness, ATeamNeedsAVote) {
  EXPECT_THAT(error_of(ErrorKind::InvalidArgument, [&] { build("c", {.workers = 2}); }),
              HasSubstr("a team of 2 workers without a way to agree"));
}

}  // namespace
}  // namespace bora::store

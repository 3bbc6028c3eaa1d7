// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Every bit of every file that says what others hold: it is refused by name, or what is read is what it was. In
// every run one bit of thirteen, so that each place in a byte comes; all of them with BORA_TEST_FLIPS (scripts/torture.sh).
#include <functional>

#include "bora/base/env.h"
#include "bora/store/cache_builder.h"
#include "bora/store/download.h"
#include "bora/store/partial_shard.h"
#include "bora/store/shard_check.h"
#include "bora/store/test_hub.h"

namespace bora::store {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

std::size_t stride() { return env::for_tests("BORA_TEST_FLIPS") ? 1 : 13; }

/// Calls `look` with each bit of a file changed in turn; it returns "" if all is as it was, else the refusal.
/// Returns how many were refused.
std::size_t flip_each_bit(const std::string& path, const std::function<std::string()>& look,
                          const std::function<void(const std::string&, std::size_t)>& check) {
  const std::string whole = read_text(path);
  const auto put = [&](const std::string& text) {
    const auto file = files().create(path);
    file->write(as_bytes(text));
    file->close();
  };
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size() && !testing::Test::HasFailure(); bit += stride()) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    put(flipped);
    const std::string refusal = look();
    if (refusal.empty()) continue;
    ++refused;
    check(refusal, bit);
  }
  put(whole);
  return refused;
}

std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

class FlippedBits : public testing::Test {
 protected:
  FlippedBits() : folder_("flipped"), scope_(no_sync_) {
    sources_ = {folder_.write("a.txt", sample_text(1, 6'000)), folder_.write("b.txt", sample_text(2, 6'000))};
    cache_ = build_cache(folder_ / "c", sources_, ByteProcessor(), {.threads = 1, .shard_bytes = 6'000});
  }

  TemporaryFolder folder_;
  NoSyncFiles no_sync_;
  ScopedFileSystem scope_;
  std::vector<std::string> sources_;
  std::shared_ptr<const TokenCache> cache_;
};

TEST_F(FlippedBits, OfALedgerOfTokens) {
  const std::string path = ledger_path(folder_ / "c");
  const Ledger whole = *read_ledger(folder_ / "c");
  for (const bool is_finished :
       {true, false}) {  // the cut of an unfinished one decides what is still to come
    Ledger ledger = whole;
    ledger.is_finished = is_finished;
    if (!is_finished) ledger.shards.pop_back();
    write_ledger(folder_ / "c", ledger);
    const auto look = [&] { return refusal_of([&] { EXPECT_EQ(*read_ledger(folder_ / "c"), ledger); }); };
    const auto check = [&](const std::string& refusal, std::size_t bit) {
      EXPECT_THAT(refusal, AllOf(testing::StartsWith(path + ": "),
                                 AnyOf(HasSubstr("its own hash does not fit; the ledger is damaged\nhint: "),
                                       HasSubstr("malformed JSON"), HasSubstr("not UTF-8"))))
          << bit;
    };
    const std::size_t bits = 8 * read_text(path).size();
    EXPECT_GT(flip_each_bit(path, look, check), (bits - 8 * 20) / stride())
        << "taken are bits of the name of its hash";
  }
}

TEST_F(FlippedBits, OfTheLedgerOfAWorker) {
  Ledger ledger = *read_ledger(folder_ / "c"), empty = ledger;
  empty.shards.clear();
  write_part_ledger(folder_ / "c", 1, ledger);
  const std::string path = part_ledger_path(folder_ / "c", 1);
  const auto look = [&] {
    return refusal_of([&] {
      Ledger merged = empty;
      merge_part_ledgers(folder_ / "c", merged);
      EXPECT_EQ(merged.shards, ledger.shards);
    });
  };
  flip_each_bit(path, look, [&](const std::string& refusal, std::size_t bit) {
    EXPECT_THAT(refusal, testing::StartsWith(path + ": ")) << bit;
  });
}

// It decides how much of a shard need not be made again.
TEST_F(FlippedBits, OfTheNoteOfHowFarAShardIs) {
  const PartialShard partial{1, 20, {3, 7000, 6990}, hash128("text")};
  write_partial_shard(folder_.path(), 0, partial);
  std::size_t begun_anew = 0, bits = 0;
  const auto look = [&] {
    const auto found = read_partial_shard(folder_.path(), 0);
    EXPECT_TRUE(!found || *found == partial) << bits;
    begun_anew += found ? 0 : 1;
    ++bits;
    return "";
  };
  flip_each_bit(folder_ / "partial-00000.json", look, [](const auto&, auto) {});
  EXPECT_EQ(begun_anew, bits);
}

// Files that it does not know are read again.
TEST_F(FlippedBits, OfTheNoteOfWhatWasChecked) {
  make_older(folder_ / "c");
  remove_all(folder_ / "c/checked.json");
  (void)TokenCache::open(folder_ / "c");
  const auto tokens = cache_->tokens(0, cache_->num_tokens());
  ASSERT_TRUE(exists(folder_ / "c/checked.json"));
  const auto look = [&] {
    return refusal_of([&] {
      const auto cache = TokenCache::open(folder_ / "c");
      EXPECT_TRUE(cache->tokens(0, cache->num_tokens()) == tokens);
    });
  };
  EXPECT_EQ(flip_each_bit(folder_ / "c/checked.json", look, [](const auto&, auto) {}), 0U);
}

TEST(FlippedBitsOfTheHub, AreToldOrAskedFor) {
  test::Hub hub;
  const auto there = hub.fetch(HubFiles::Weights, "me/tiny@" + test::kCommit);
  files().make_directories(hub.path("refs"));
  write_atomically(hub.path("refs/main"), test::kCommit);
  hub.options.offline = true;
  const auto look = [&] {
    const auto said = hub.refusal(HubFiles::Weights);
    return said == "fetched " + there ? "" : said;
  };
  ASSERT_EQ(look(), "");
  const auto ref = hub.path("refs/main"), notes = hub.path("bora-whole");
  EXPECT_EQ(flip_each_bit(ref, look,
                          [&](const std::string& refusal, std::size_t bit) {
                            EXPECT_THAT(refusal, AnyOf(HasSubstr("(" + ref + " says commit "),
                                                       HasSubstr("(" + ref + " names no commit)")))
                                << bit;
                          }),
            (8 * test::kCommit.size() + stride() - 1) / stride());
  const auto told = flip_each_bit(
      path_join(notes, test::kCommit + "-weights"), look, [&](const std::string& refusal, std::size_t bit) {
        EXPECT_THAT(refusal, AllOf(HasSubstr("(it lacks "), HasSubstr(", by a note in " + notes + ")")))
            << bit;
      });
  EXPECT_GT(told, 100 / stride());
}

// A file that was fetched is fetched again, or is the same.
TEST(FlippedBitsOfTheHub, OfADownload) {
  const std::string text = "what the server has";
  const TestServer server([&](const std::string&) { return test::answer(200, "ETag: \"x\"\r\n", text); });
  const TemporaryFolder folder("flipped-download");
  NoSyncFiles no_sync;
  const ScopedFileSystem scope(no_sync);
  const DownloadOptions options{.pause_seconds = 0.001, .allow_private = true};
  const auto fetch = [&] { return download(server.url("/a.txt"), folder.path(), options); };
  testing::internal::CaptureStderr();
  const std::string path = fetch();
  const auto state = path_join(parent_path(path), "state.json");
  const auto look = [&] { return refusal_of([&] { EXPECT_EQ(read_text(fetch()), text); }); };
  EXPECT_EQ(flip_each_bit(state, look, [](const auto&, auto) {}), 0U);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace bora::store

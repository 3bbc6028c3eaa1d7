// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/token_cache.h"

#include <atomic>

#include "bora/base/fault_files.h"
#include "bora/store/cache_builder.h"
#include "bora/store/test_files.h"

namespace bora::store {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kCacheShard = 20'000;
constexpr std::uint64_t kFewBytes = 80'000;  // fewer shards where a test builds a cache hundreds of times

/// Sources of all kinds, and what a cache of them should hold.
class Cache : public testing::Test {
 protected:
  Cache() : folder_("cache") {
    add_text("a.txt", sample_text(1, 150'000));
    std::string lines;
    for (std::uint64_t i = 0; i < 300; ++i) {
      const std::string body(10 + Key::from_seed(9).below(400, i), static_cast<char>('a' + i % 26));
      lines += fmt::format("{{\"text\":\"{}\"}}\n", body);
      expect(body);
    }
    sources_.push_back(folder_.write("b.jsonl", lines));
    for (int i = 0; i < 9; ++i)
      add_text(fmt::format("small{}.txt", i), sample_text(static_cast<std::uint64_t>(i), 999));
    add_text("empty.txt", "");
    const std::string zipped = sample_text(44, 30'000);
    sources_.push_back(folder_.write("z.txt.gz", gzip(zipped)));
    expect(zipped);
    add_text("last.txt", "bye");
  }

  void add_text(const std::string& name, const std::string& text) {
    sources_.push_back(folder_.write(name, text));
    if (!text.empty()) expect(text);
  }
  void expect(const std::string& document) {
    ByteProcessor().encode({document}, tokens_);
    ends_.push_back(static_cast<std::int64_t>(tokens_.size()));
    bytes_ += static_cast<std::int64_t>(document.size());
  }
  std::shared_ptr<const TokenCache> build(const std::string& name, int threads = 1,
                                          std::uint64_t shard = kCacheShard) {
    return build_cache(folder_ / name, sources_, ByteProcessor(), {.threads = threads, .shard_bytes = shard});
  }
  std::string mismatch(const Processor& processor, const std::vector<std::string>& sources,
                       const CacheOptions& options = {}) {
    return error_of(ErrorKind::Config, [&] { build_cache(folder_ / "c", sources, processor, options); });
  }
  std::string hint() const {
    return "\nhint: delete the directory to build the cache again, or use another cache_dir";
  }

  NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  TemporaryFolder folder_;
  std::vector<std::string> sources_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> ends_;
  std::int64_t bytes_ = 0;
};

TEST_F(Cache, HoldsEveryToken) {
  const auto cache = build("c");
  ASSERT_EQ(cache->num_tokens(), static_cast<std::int64_t>(tokens_.size()));
  ASSERT_EQ(cache->num_documents(), static_cast<std::int64_t>(ends_.size()));
  EXPECT_EQ(cache->num_bytes(), bytes_);
  EXPECT_TRUE(cache->tokens(0, cache->num_tokens()) == tokens_);
  for (std::int64_t d = 0; d < cache->num_documents(); ++d) {
    ASSERT_EQ(cache->document_end(d), ends_[static_cast<std::size_t>(d)]) << d;
    ASSERT_EQ(cache->document_begin(d), d == 0 ? 0 : ends_[static_cast<std::size_t>(d - 1)]);
  }
  const Key key = Key::from_seed(3);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto begin = static_cast<std::int64_t>(key.below(tokens_.size(), 2 * i));
    const auto count =
        static_cast<std::int64_t>(key.below(tokens_.size() - static_cast<std::size_t>(begin), 2 * i + 1));
    ASSERT_TRUE(cache->tokens(begin, count) ==
                std::vector<std::int32_t>(tokens_.begin() + begin, tokens_.begin() + begin + count));
  }
  cache->verify();
  EXPECT_GT(cache->ledger().num_shards, 10);
}

TEST_F(Cache, OutOfRange) {
  const auto cache = build("c");
  const auto n = cache->num_tokens();
  EXPECT_TRUE(cache->tokens(n, 0).empty());
  EXPECT_EQ(
      error_of(ErrorKind::InvalidArgument, [&] { cache->tokens(n - 1, 2); }),
      fmt::format("token cache {}: tokens [{}, {}) are outside of its {}", folder_ / "c", n - 1, n + 1, n));
  EXPECT_THROW(cache->tokens(-1, 1), Error);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { cache->document_end(999); }),
            fmt::format("token cache {}: document 999 is outside of its {}", folder_ / "c",
                        cache->num_documents()));
  EXPECT_THROW(cache->document_begin(-1), Error);
}

TEST_F(Cache, SameBytesForAnyNumberOfThreads) {
  build("one", 1);
  const auto expected = contents(folder_ / "one");
  for (int threads : {2, 3, 4}) {
    const std::string name = fmt::format("t{}", threads);
    build(name, threads);
    EXPECT_EQ(contents(folder_ / name), expected) << threads;
  }
}

TEST_F(Cache, WideTokens) {
  const ByteProcessor wide("wide", 65537);
  const auto cache = build_cache(folder_ / "w", sources_, wide, {.shard_bytes = kCacheShard});
  EXPECT_EQ(cache->ledger().bytes_per_token(), 4);
  EXPECT_TRUE(cache->tokens(0, cache->num_tokens()) == tokens_);
  EXPECT_EQ(build("narrow")->ledger().bytes_per_token(), 2);
}

TEST_F(Cache, IsOpenedTheSecondTime) {
  build("c");
  make_older(folder_ / "c");
  TokenCache::open(folder_ / "c");
  const auto before = contents(folder_ / "c");
  struct Never : ByteProcessor {
    void encode(const TextPiece&, std::vector<std::int32_t>&) const override {
      ADD_FAILURE() << "tokenized again";
    }
  };
  FaultFiles counting(no_sync_);
  ScopedFileSystem scope(counting);
  EXPECT_EQ(build_cache(folder_ / "c", sources_, Never())->num_tokens(),
            static_cast<std::int64_t>(tokens_.size()));
  EXPECT_EQ(counting.counted(), 0) << "a finished cache is opened without writing";
  EXPECT_EQ(contents(folder_ / "c"), before);
}

TEST_F(Cache, GoesOnFromFinishedShards) {
  build("whole");
  const auto expected = contents(folder_ / "whole");
  struct Dying : ByteProcessor {
    mutable std::atomic<int> left;
    explicit Dying(int n) : left(n) {}
    void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const override {
      if (left-- == 0) fail(ErrorKind::Stopped, "power cut");
      ByteProcessor::encode(piece, out);
    }
  };
  int pieces = 0;
  for (int dies_after = 0;; dies_after += 13) {
    const Dying dying(dies_after);
    try {
      build_cache(folder_ / "c", sources_, dying, {.threads = 1, .shard_bytes = kCacheShard});
      pieces = dies_after - dying.left;
      break;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(": power cut"));
      EXPECT_THAT(error_of(exists(folder_ / "c/ledger.json") ? ErrorKind::Corruption : ErrorKind::NotFound,
                           [&] { TokenCache::open(folder_ / "c"); }),
                  testing::AnyOf(HasSubstr("unfinished, "), HasSubstr("there is none")));
    }
  }
  EXPECT_EQ(contents(folder_ / "c"), expected);
  EXPECT_LT(pieces, 320) << "finished shards were made again";
}

TEST_F(Cache, ATornShardIsMadeAgain) {
  build("c");
  const auto expected = contents(folder_ / "c");
  auto ledger = *read_ledger(folder_ / "c");
  ledger.is_finished = false;
  ledger.shards.erase(ledger.shards.begin() + 2);
  write_ledger(folder_ / "c", ledger);
  files().truncate(tokens_path(folder_ / "c", 2), 7);
  files().remove(offsets_path(folder_ / "c", 2));
  folder_.write("c/.ledger.json.1.2.tmp", "half");
  build("c", 2);
  EXPECT_EQ(contents(folder_ / "c"), expected);
}

TEST_F(Cache, EveryFaultLeavesACacheThatCanBeFinished) {
  build("whole", 1, kFewBytes);
  const auto expected = contents(folder_ / "whole");
  for (const bool dead : {false, true}) {
    std::int64_t n = 1;
    for (;; ++n) {
      remove_all(folder_ / "c");
      FaultFiles broken(no_sync_,
                        {.nth = n, .error_number = ENOSPC, .short_write = true, .stays_broken = dead});
      {
        ScopedFileSystem scope(broken);
        try {
          build("c", 1, kFewBytes);
        } catch (const Error& e) {
          EXPECT_THAT(e.what(), HasSubstr("No space left on device")) << broken.fired_at();
          EXPECT_THAT(e.what(), HasSubstr(folder_ / "c")) << broken.fired_at();
        }
      }
      ASSERT_TRUE(build("c", 1, kFewBytes)) << broken.fired_at();
      ASSERT_EQ(contents(folder_ / "c"), expected) << broken.fired_at();
      if (!broken.fired()) break;
    }
    EXPECT_GT(n, 40);
  }
}

TEST_F(Cache, ReadFaultsAreReported) {
  build("whole", 1, kFewBytes);
  const auto expected = contents(folder_ / "whole");
  for (std::int64_t n = 1;; ++n) {
    remove_all(folder_ / "c");
    FaultFiles broken(no_sync_, {.nth = n,
                                 .error_number = EIO,
                                 .operations = {FileOperation::Open, FileOperation::Read, FileOperation::List,
                                                FileOperation::Lock}});
    {
      ScopedFileSystem scope(broken);
      try {
        build("c", 1, kFewBytes);
        EXPECT_FALSE(broken.fired());
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("Input/output error"));
      }
    }
    ASSERT_TRUE(build("c", 1, kFewBytes));
    ASSERT_EQ(contents(folder_ / "c"), expected);
    if (!broken.fired()) break;
  }
}

TEST_F(Cache, NamesItsTokenizer) {
  build_cache(folder_ / "c", sources_, ByteProcessor("bytes-1"), {.tokenizer = "old-bytes"});
  EXPECT_THAT(mismatch(ByteProcessor("bytes-2"), sources_, {.tokenizer = "new-bytes"}),
              HasSubstr("made with tokenizer old-bytes (bytes-1) but this run uses new-bytes (bytes-2)\n"));
  EXPECT_NO_THROW(build_cache(folder_ / "c", sources_, ByteProcessor("bytes-1"), {.tokenizer = "the same"}));
}

TEST_F(Cache, MismatchesSayWhatDiffers) {
  build("c");
  EXPECT_EQ(mismatch(ByteProcessor("bytes-2"), sources_),
            fmt::format("token cache {}: it was made with tokenizer bytes-1 but this run uses bytes-2{}",
                        folder_ / "c", hint()));
  EXPECT_THAT(mismatch(ByteProcessor("bytes-2"), sources_, {.tokenizer = "my-bytes"}),
              HasSubstr("it was made with tokenizer bytes-1 but this run uses my-bytes (bytes-2)\n"));
  EXPECT_THAT(mismatch(ByteProcessor("bytes-1", 300), sources_),
              HasSubstr("made with a vocabulary of 258 but this run has 300"));
  EXPECT_THAT(mismatch(ByteProcessor(), sources_, {.format = {.text_key = "body"}}),
              HasSubstr("made from the field \"text\" but this run reads \"body\""));
  EXPECT_THAT(mismatch(ByteProcessor(), sources_, {.format = {.invalid_utf8 = InvalidText::Replace}}),
              HasSubstr("made with invalid_utf8: refuse but this run has replace"));
  auto fewer = sources_;
  fewer.pop_back();
  EXPECT_THAT(
      mismatch(ByteProcessor(), fewer),
      HasSubstr(fmt::format("made from {} files but this run has {}; first difference: {}, now no file",
                            sources_.size(), fewer.size(), sources_.back())));
  auto other = sources_;
  other.back() = folder_.write("last.jsonl", "{}");
  EXPECT_THAT(mismatch(ByteProcessor(), other),
              HasSubstr(fmt::format("made from {} where this run has {}", sources_.back(), other.back())));
  folder_.write("last.txt", "goodbye");
  EXPECT_THAT(mismatch(ByteProcessor(), sources_),
              HasSubstr(fmt::format("source {0} had 3 bytes when the cache was "
                                    "made; {0} has 7 now",
                                    sources_.back())));
  folder_.write("last.txt", "Bye");
  EXPECT_EQ(mismatch(ByteProcessor(), sources_),
            fmt::format("token cache {}: the content of {} has changed since the cache was made{}",
                        folder_ / "c", sources_.back(), hint()));
}

// Pieces of one size, as split -b makes them.
TEST_F(Cache, SourcesInAnotherOrderAreOtherText) {
  const std::vector<std::string> pieces = {folder_.write("a.txt", "first piece"),
                                           folder_.write("b.txt", "other piece")};
  build_cache(folder_ / "c", pieces, ByteProcessor());
  EXPECT_THAT(mismatch(ByteProcessor(), {pieces[1], pieces[0]}),
              HasSubstr(fmt::format("the content of {} has changed since the cache was made", pieces[1])));
  EXPECT_NO_THROW(build_cache(folder_ / "c", pieces, ByteProcessor()));
}

TEST_F(Cache, MovedOrTouchedSourcesAreAccepted) {
  build("c");
  const auto tokens = hash128(read_text(tokens_path(folder_ / "c", 0)));
  auto moved = sources_;
  for (auto& path : moved) path = folder_.write("moved/" + base_name(path), read_text(path));
  EXPECT_EQ(build_cache(folder_ / "c", moved, ByteProcessor())->ledger().sources, look_up_sources(moved));
  EXPECT_EQ(hash128(read_text(tokens_path(folder_ / "c", 0))), tokens);
  make_older(folder_ / "c");
  TokenCache::open(folder_ / "c");
  FaultFiles counting(no_sync_);
  ScopedFileSystem scope(counting);
  build_cache(folder_ / "c", moved, ByteProcessor());
  EXPECT_EQ(counting.counted(), 0) << "the second time the sources are not read again";
}

TEST_F(Cache, RemembersWhatWasDoneWithInvalidText) {
  const std::vector<std::string> sources = {folder_.write("latin1.txt", "caf\xE9")};
  const CacheOptions replace{.format = {.invalid_utf8 = InvalidText::Replace}},
      keep{.format = {.invalid_utf8 = InvalidText::Keep}};
  EXPECT_EQ(build_cache(folder_ / "r", sources, ByteProcessor(), replace)->num_bytes(), 6);
  EXPECT_EQ(build_cache(folder_ / "r", sources, ByteProcessor(), replace)->ledger().format.invalid_utf8,
            InvalidText::Replace);
  EXPECT_EQ(build_cache(folder_ / "k", sources, ByteProcessor(), keep)->num_bytes(), 4);
  EXPECT_THAT(read_text(folder_ / "k/ledger.json"), HasSubstr("\"invalid_utf8\": \"keep\""));
}

TEST_F(Cache, SecondBuilderIsRefused) {
  files().make_directories(folder_ / "c");
  const auto held = files().try_lock(folder_ / "c/lock");
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { build("c"); }),
            fmt::format(
                "token cache {}: another process is building it\nhint: wait until it is done, or use another "
                "cache_dir",
                folder_ / "c"));
}

TEST_F(Cache, NothingToTokenize) {
  const auto build_from = [&](const std::vector<std::string>& sources) {
    return error_of(ErrorKind::NotFound, [&] { build_cache(folder_ / "n", sources, ByteProcessor()); });
  };
  EXPECT_EQ(build_from({folder_ / "empty.txt"}),
            fmt::format("token cache {}: {} holds no document\nhint: give files with text", folder_ / "n",
                        folder_ / "empty.txt"));
  EXPECT_TRUE(contents(folder_ / "n").empty()) << "an empty cache must not stand in the way of the next try";
  EXPECT_THAT(build_from({}), HasSubstr("there is no source file"));
}

TEST_F(Cache, TokensOutsideOfTheVocabulary) {
  EXPECT_EQ(
      error_of(ErrorKind::InvalidArgument,
               [&] { build_cache(folder_ / "v", {folder_ / "last.txt"}, ByteProcessor("x", 100)); }),
      fmt::format("{}: the tokenizer gave id 100, outside of its vocabulary of 100", folder_ / "last.txt"));
}

TEST_F(Cache, ProgressCountsEverything) {
  CacheProgress last;
  std::int64_t calls = 0;
  CacheOptions options{.threads = 2, .shard_bytes = kCacheShard};
  options.progress = [&](const CacheProgress& progress) {
    EXPECT_GE(progress.bytes_done, last.bytes_done);
    EXPECT_GE(progress.counts.tokens, last.counts.tokens);
    last = progress;
    ++calls;
  };
  build_cache(folder_ / "c", sources_, ByteProcessor(), options);
  EXPECT_GT(calls, 10);
  EXPECT_EQ(last.bytes_done, last.bytes_total);
  EXPECT_EQ(last.counts, (TokenCounts{static_cast<std::int64_t>(ends_.size()),
                                      static_cast<std::int64_t>(tokens_.size()), bytes_}));
}

TEST_F(Cache, ProgressMayStopTheBuild) {
  CacheOptions options{.threads = 1, .shard_bytes = kCacheShard};
  options.progress = [](const CacheProgress& progress) {
    if (progress.bytes_done > 100'000) fail(ErrorKind::Stopped, "enough");
  };
  EXPECT_EQ(
      error_of(ErrorKind::Stopped, [&] { build_cache(folder_ / "c", sources_, ByteProcessor(), options); }),
      "enough");
  EXPECT_TRUE(build("c")->tokens(0, static_cast<std::int64_t>(tokens_.size())) == tokens_);
}

TEST_F(Cache, DamageIsFound) {
  build("c");
  const std::string tokens = tokens_path(folder_ / "c", 1), offsets = offsets_path(folder_ / "c", 4);
  const std::string rebuild = "\nhint: delete the cache directory; it will be built again";
  const std::string content = read_text(tokens);
  std::string bad = content;
  bad[100] ^= 1;
  folder_.write("c/" + base_name(tokens), bad);
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { TokenCache::open(folder_ / "c"); }),
            fmt::format("{}: hash differs from the ledger; the file is damaged{}", tokens, rebuild));
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { TokenCache::open_prefix(folder_ / "c")->verify(); }),
            fmt::format("{}: hash differs from the ledger; the file is damaged{}", tokens, rebuild));
  files().truncate(tokens, 100);
  EXPECT_EQ(error_of(ErrorKind::Corruption, [&] { TokenCache::open(folder_ / "c"); }),
            fmt::format("{}: has 100 bytes but the ledger says {}{}", tokens, content.size(), rebuild));
  folder_.write("c/" + base_name(tokens), content);
  const auto cache = TokenCache::open(folder_ / "c");
  const auto size = read_text(offsets).size();
  folder_.write("c/" + base_name(offsets), std::string(size, '\x7f'));
  EXPECT_THAT(error_of(ErrorKind::Corruption,
                       [&] {
                         for (std::int64_t d = 0; d < cache->num_documents(); ++d) cache->document_end(d);
                       }),
              HasSubstr("a document ends at token "));
  files().remove(tokens);
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { TokenCache::open(folder_ / "c"); }), HasSubstr(tokens));
}

class LedgerFile : public Cache {
 protected:
  std::string after(const std::string& from, const std::string& to, ErrorKind kind = ErrorKind::Corruption) {
    if (!exists(folder_ / "c/ledger.json")) build("c");
    const std::string good = read_text(folder_ / "c/ledger.json");
    std::string bad = good.substr(0, good.rfind(",\n")) + "\n}\n";  // without its hash, as older ones
    const auto at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    folder_.write("c/ledger.json", bad);
    std::string message = error_of(kind, [&] { read_ledger(folder_ / "c"); });
    folder_.write("c/ledger.json", good);
    return message.substr(std::min(message.size(), ledger_path(folder_ / "c").size() + 2));
  }
};

TEST_F(LedgerFile, IsCheckedWhenRead) {
  const std::string hint = "\nhint: delete the cache directory; it will be built again";
  EXPECT_EQ(after("bora-token-cache", "zarr"), "format is \"zarr\" instead of \"bora-token-cache\"" + hint);
  EXPECT_EQ(after("\"version\": 1", "\"version\": 4", ErrorKind::Unsupported),
            "format version 4, but this Bora reads versions 1 to 3\nhint: use another cache_dir, or a newer "
            "Bora");
  EXPECT_EQ(after("\"version\": 1", "\"version\": 2", ErrorKind::Corruption), "whole_records is missing");
  EXPECT_EQ(after("\"version\": 1", "\"version\": 3", ErrorKind::Corruption), "invalid_utf8 is missing");
  const auto shards = read_ledger(folder_ / "c")->num_shards;
  EXPECT_EQ(after("\"index\": 1,", "\"index\": 0,"),
            fmt::format("shard 0 after shard 0 of {}{}", shards, hint));
  EXPECT_EQ(after(fmt::format("\"num_shards\": {}", shards), fmt::format("\"num_shards\": {}", shards + 1)),
            fmt::format("is_finished, but lists {} of {} shards{}", shards, shards + 1, hint));
  EXPECT_EQ(after("\"vocab_size\": 258", "\"vocab_size\": -1"),
            "vocab_size should be at least 0 but is -1" + hint);
  EXPECT_THAT(after("\"tokens\": ", "\"tokens\": 1"), testing::StartsWith("tokens is 1"));
  EXPECT_THAT(after("\"tokens_hash\": \"", "\"tokens_hash\": \"x"),
              HasSubstr("tokens_hash should be 32 hexadecimal digits but is \"x"));
  EXPECT_EQ(after("\"sources\": [", "\"sources\": 3, \"other\": ["), "sources should be a list" + hint);
  after("{", "[");
  auto ledger = *read_ledger(folder_ / "c");
  ledger.shard_bytes *= 3;
  write_ledger(folder_ / "c", ledger);
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { build("c"); }), HasSubstr("but its sources give"));
}

TEST_F(LedgerFile, RoundTrip) {
  build("c");
  const auto ledger = *read_ledger(folder_ / "c");
  files().make_directories(folder_ / "d");
  write_ledger(folder_ / "d", ledger);
  EXPECT_EQ(*read_ledger(folder_ / "d"), ledger);
  EXPECT_EQ(read_text(folder_ / "d/ledger.json"), read_text(folder_ / "c/ledger.json"));
  EXPECT_EQ(read_ledger(folder_ / "nowhere"), std::nullopt);
}

TEST(Plan, RefusesMoreShardsThanCanBe) {
  try {
    plan_shards({{"a.txt", 944073709551615}}, 4 << 20);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    EXPECT_STREQ(
        e.what(),
        "a.txt: 944073709551615 bytes in shards of 4194304 are more than 2097152 shards\n"
        "hint: the ledger of its cache is damaged: delete the cache directory; it will be built again");
  }
}

TEST(Plan, CoversEverySourceOnce) {
  const std::vector<Source> sources{
      {"a.txt", 10}, {"b.txt", 0}, {"c.txt", 1000}, {"d.txt.gz", 900}, {"e.txt", 3}};
  for (std::uint64_t shard : {1u, 7u, 100u, 5000u}) {
    std::vector<std::uint64_t> covered(sources.size());
    for (const auto& segments : plan_shards(sources, shard)) {
      EXPECT_FALSE(segments.empty());
      for (const auto& segment : segments) {
        const auto i = static_cast<std::size_t>(segment.source.path[0] - 'a');
        EXPECT_EQ(segment.begin, covered[i]);
        covered[i] = segment.end;
      }
    }
    EXPECT_EQ(covered, (std::vector<std::uint64_t>{10, 0, 1000, 900, 3}));
  }
  EXPECT_EQ(plan_shards(sources, 5000).size(), 1u);
  EXPECT_EQ(default_shard_bytes(sources), 4u << 20);
  EXPECT_EQ(default_shard_bytes({{"a.txt", std::uint64_t{1} << 50}}), 512u << 20);
}

}  // namespace
}  // namespace bora::store

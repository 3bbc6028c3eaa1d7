// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What feeds a run: token caches that are still being built, Parquet files, URLs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "bora/base/file.h"
#include "bora/store/test_server.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> short_run(const std::vector<std::string>& more, int steps = 12) {
  std::vector<std::string> out = {"train", "config.yaml", "--trainer.threads=1",
                                  "--trainer.num_train_steps=" + std::to_string(steps)};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

void expect_same_12_steps(const std::string& a, const std::string& b) {
  EXPECT_EQ(read_text(a + "/runs/run/metrics.jsonl"), read_text(b + "/runs/run/metrics.jsonl"));
  auto diff = run(a, {"diff", a + "/runs/run/step-12", b + "/runs/run/step-12"});
  EXPECT_EQ(diff.code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

constexpr const char* kGrowing = "being built while training begins";

// --- caches that grow ---

TEST(GrowingCaches, TheSameRunAsOnFinishedOnes) {
  const std::map<std::string, std::vector<std::string>> orders = {
      {"in order", {"--data.shuffle=false", "--trainer.steps_per_eval=5"}},
      {"eras", {"--data.shuffle=24"}},
      {"blocks of a part",
       {"--data.shuffle={io_block_size: 4, window_blocks: 3}", "--data.max_train_batches={one: 9, two: 9}"}}};
  for (const auto& [name, arguments] : orders) {
    SCOPED_TRACE(name);
    auto early = small_project("feed_early"), late = small_project("feed_late");
    auto first = run(early, short_run(arguments));
    ASSERT_EQ(first.code, 0) << first.output;
    EXPECT_THAT(first.output, AllOf(HasSubstr(kGrowing), HasSubstr(" bytes each"), HasSubstr("baseline"),
                                    HasSubstr("bits/byte")));
    ASSERT_EQ(run(late, {"cache", "config.yaml"}).code, 0);
    auto second = run(late, short_run(arguments));
    ASSERT_EQ(second.code, 0) << second.output;
    EXPECT_THAT(second.output, Not(HasSubstr(kGrowing)));
    expect_same_12_steps(early, late);
    EXPECT_THAT(read_text(early + "/runs/run/run.json"), HasSubstr("\"two\": ")) << "tokens of each data set";
  }
}

TEST(GrowingCaches, StoppedAndResumed) {
  auto whole = small_project("feed_whole"), parts = small_project("feed_parts");
  ASSERT_EQ(run(whole, short_run({"--data.shuffle=24"})).code, 0);
  auto first = run(parts, short_run({"--data.shuffle=24", "--trainer.stop_at_step=3"}));
  EXPECT_EQ(first.code, 75) << first.output;
  auto killed = run(parts, short_run({"--data.shuffle=24"}), 0.6);  // before, while or after it trains
  auto last = run(parts, short_run({"--data.shuffle=24"}));
  ASSERT_EQ(last.code, 0) << last.output;
  expect_same_12_steps(whole, parts);
}

TEST(GrowingCaches, AFullShuffleWaitsAndSaysSo) {
  auto folder = small_project("feed_full");
  auto done = run(folder, short_run({"--data.shuffle=true"}, 2));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("cache       waiting for all of it: a full shuffle needs its length; an "
                              "era shuffle starts at once (data.shuffle: 4096)"),
                    Not(HasSubstr(kGrowing))));
  auto again = run(folder, short_run({"--data.shuffle=true", "--fresh"}, 2));
  EXPECT_THAT(again.output, Not(HasSubstr("waiting for all"))) << "the cache is there";
}

TEST(GrowingCaches, WhatStopsTheBuildStopsTheRun) {
  auto folder = small_project("feed_bad");
  // The tokenizer comes from the first data set alone, so the build of the cache is the first to read this.
  ASSERT_EQ(run(folder, {"train-tokenizer", "one.txt", "--vocab_size", "300", "--out", "tokenizer"}).code, 0);
  // Far behind what a start looks at before any work.
  std::string text;
  while (text.size() < 3'000'000) text += read_text(folder + "/two.txt");
  write_atomically(folder + "/two.txt", text + "a line\nbroken \xFF here\n");
  auto config = read_text(folder + "/config.yaml");
  const std::string own = "train_tokenizer: {vocab_size: 300}";
  config.replace(config.find(own), own.size(), "tokenizer: tokenizer");
  write_atomically(folder + "/config.yaml", config);
  auto done = run(folder, short_run({"--data.shuffle=24"}));
  EXPECT_EQ(done.code, 3) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr(kGrowing), HasSubstr("two.txt:"), HasSubstr("invalid UTF-8")));
}

TEST(GrowingCaches, SeveralWorkersBuildOneAndWaitForEachOther) {
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  auto alone = small_project("feed_alone"), together = small_project("feed_together");
  const std::vector<std::string> arguments = {"--data.shuffle=24", "--trainer.lanes=4"};
  ASSERT_EQ(run(alone, short_run(arguments)).code, 0);
  auto done = run_workers(together, 3, short_run(arguments));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr(kGrowing));
  expect_same_12_steps(alone, together);
  for (const char* file : {"ledger.json", "tokens-00000.bin", "offsets-00000.bin"}) {
    for (const char* set : {"/cache/one/train/", "/cache/two/train/"})
      EXPECT_TRUE(exists(together + set + file)) << set << file;
  }
}

// --- Parquet ---

// The compact protocol of Thrift, as far as a Parquet file's own structures need it.
class Thrift {
 public:
  Thrift& i32(int field, std::int64_t value) { return head(field, 5).varint(value); }
  Thrift& i64(int field, std::int64_t value) { return head(field, 6).varint(value); }
  Thrift& text(int field, const std::string& value) { return head(field, 8).bytes(value); }
  Thrift& inner(int field, const Thrift& value) { return head(field, 12).raw(value.whole()); }
  /// Of structures.
  Thrift& list(int field, const std::vector<Thrift>& values) {
    head(field, 9).raw({static_cast<char>(values.size() << 4 | 12)});
    for (const auto& value : values) raw(value.whole());
    return *this;
  }
  Thrift& numbers(int field, std::int64_t value) { return head(field, 9).raw({1 << 4 | 5}).varint(value); }
  Thrift& texts(int field, const std::string& value) { return head(field, 9).raw({1 << 4 | 8}).bytes(value); }
  std::string whole() const { return out_ + '\0'; }

 private:
  Thrift& head(int field, int type) {
    out_ += static_cast<char>((field - last_) << 4 | type);
    last_ = field;
    return *this;
  }
  Thrift& varint(std::int64_t value) { return plain(static_cast<std::uint64_t>(value) << 1); }
  Thrift& plain(std::uint64_t value) {
    for (; value >= 128; value >>= 7) out_ += static_cast<char>(value | 128);
    out_ += static_cast<char>(value);
    return *this;
  }
  Thrift& bytes(const std::string& value) {
    plain(value.size());
    return raw(value);
  }
  Thrift& raw(const std::string& value) {
    out_ += value;
    return *this;
  }
  std::string out_;
  int last_ = 0;
};

std::string little_endian(std::size_t value) {
  std::string out(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> 8 * i);
  return out;
}

/// One row group with one page of one required column of strings, not compressed.
std::string parquet(const std::string& column, const std::vector<std::string>& rows) {
  constexpr int kByteArray = 6, kPlain = 0, kRunLength = 3, kRequired = 0, kUtf8 = 0, kUncompressed = 0;
  const auto n = static_cast<std::int64_t>(rows.size());
  std::string values;
  for (const auto& row : rows) values += little_endian(row.size()) + row;
  const auto size = static_cast<std::int64_t>(values.size());
  Thrift page;
  page.i32(1, 0).i32(2, size).i32(3, size).inner(
      5, Thrift().i32(1, n).i32(2, kPlain).i32(3, kRunLength).i32(4, kRunLength));
  const std::string chunk = page.whole() + values;
  const auto length = static_cast<std::int64_t>(chunk.size());
  Thrift meta;
  meta.i32(1, kByteArray).numbers(2, kPlain).texts(3, column).i32(4, kUncompressed).i64(5, n);
  meta.i64(6, length).i64(7, length).i64(9, 4);
  Thrift group;
  group.list(1, {Thrift().i64(2, 4).inner(3, meta)}).i64(2, length).i64(3, n);
  Thrift file;
  file.i32(1, 1)
      .list(2, {Thrift().text(4, "schema").i32(5, 1),
                Thrift().i32(1, kByteArray).i32(3, kRequired).text(4, column).i32(6, kUtf8)})
      .i64(3, n)
      .list(4, {group});
  const std::string footer = file.whole();
  return "PAR1" + chunk + footer + little_endian(footer.size()) + "PAR1";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string one_from(const std::string& file) { return "--data.configs.one.train_urls=[\"" + file + "\"]"; }

TEST(FeedFromParquet, TrainsAndNamesAMissingColumn) {
  auto folder = small_project("feed_parquet");
  const auto lines = lines_of(read_text(folder + "/one.txt"));
  write_atomically(folder + "/one.parquet", parquet("text", lines));
  write_atomically(folder + "/other.parquet", parquet("body", lines));
  auto done = run(folder, short_run({one_from("one.parquet")}, 3));
  if (done.output.find("is not built into this program") != std::string::npos) {
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.output, AllOf(HasSubstr("one.parquet: reading Parquet and Arrow is not built"),
                                   HasSubstr("hint: scripts/setup.sh --arrow, then build again")));
    GTEST_SKIP() << "the Arrow plug-in is not built (scripts/setup.sh --arrow)";
  }
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("step  3/3"));
  // The same documents in lines of a jsonl file are the same training.
  auto jsonl = small_project("feed_jsonl");
  std::string records;
  for (const auto& line : lines) records += "{\"text\": \"" + line + "\"}\n";
  write_atomically(jsonl + "/one.jsonl", records);
  ASSERT_EQ(run(jsonl, short_run({one_from("one.jsonl")}, 3)).code, 0);
  EXPECT_EQ(read_text(folder + "/runs/run/metrics.jsonl"), read_text(jsonl + "/runs/run/metrics.jsonl"));

  auto missing = run(folder, short_run({one_from("other.parquet"), "--trainer.id=other"}, 3));
  EXPECT_EQ(missing.code, 3) << missing.output;
  EXPECT_THAT(missing.output, HasSubstr("other.parquet: no column \"text\"; it has body"));
  auto renamed =
      run(folder, short_run({one_from("other.parquet"), "--trainer.id=renamed",
                             "--data.configs.one.format.text_key=body", "--data.cache_dir=renamed"},
                            3));
  EXPECT_EQ(renamed.code, 0) << renamed.output;
}

// --- http ---

/// Gives files by path; 404 for others.
store::TestServer::Answer files_by_path(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& request) {
    const auto file = files.find(store::TestServer::target(request));
    const std::string body = file == files.end() ? "" : file->second;
    return (file == files.end() ? "HTTP/1.1 404 Not Found\r\n" : "HTTP/1.1 200 OK\r\n") +
           ("Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n") + body;
  };
}

std::string sha256_of(const std::string& file) {
  std::string out(64, '\0');
  FILE* pipe = ::popen(("sha256sum '" + file + "'").c_str(), "r");
  EXPECT_EQ(std::fread(out.data(), 1, out.size(), pipe), out.size());
  ::pclose(pipe);
  return out;
}

/// Downloads go to a folder of the test's own while it lives.
class OwnDownloads {
 public:
  explicit OwnDownloads(const std::string& folder) { ::setenv("BORA_CACHE", folder.c_str(), 1); }
  ~OwnDownloads() { ::unsetenv("BORA_CACHE"); }
  OwnDownloads(const OwnDownloads&) = delete;
  OwnDownloads& operator=(const OwnDownloads&) = delete;
};

const std::string kHere = "--data.allow_private_addresses=true";  // the server is on this machine

TEST(FeedFromUrls, TrainsChecksAndRefuses) {
  auto folder = small_project("feed_http"), local = small_project("feed_local");
  const OwnDownloads downloads(folder + "/downloads");
  const store::TestServer server(files_by_path({{"/one.txt", read_text(folder + "/one.txt")}}));
  const std::string sum = sha256_of(folder + "/one.txt");
  const auto url = server.url("/one.txt");
  auto done = run(folder, short_run({kHere, one_from(url + "#sha256=" + sum)}, 3));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("fetching " + url), HasSubstr("step  3/3")));
  ASSERT_EQ(run(local, short_run({}, 3)).code, 0);
  EXPECT_EQ(read_text(folder + "/runs/run/metrics.jsonl"), read_text(local + "/runs/run/metrics.jsonl"));
  EXPECT_EQ(server.requests(), 2) << "asked for, and fetched once for the tokenizer and the cache";

  const std::string zeros(64, '0');
  auto kept = run(folder, short_run({kHere, one_from(url + "#sha256=" + zeros), "--trainer.id=kept"}, 3));
  EXPECT_EQ(kept.code, 2) << kept.output;
  EXPECT_THAT(kept.output, HasSubstr("its SHA-256 is " + sum + " but " + zeros + " is wanted"));
  remove_all(folder + "/downloads");
  auto wrong = run(folder, short_run({kHere, one_from(url + "#sha256=" + zeros), "--trainer.id=wrong"}, 3));
  EXPECT_EQ(wrong.code, 3) << wrong.output;
  EXPECT_THAT(wrong.output, AllOf(HasSubstr(url + ": came with "), HasSubstr(" bytes and SHA-256 " + sum),
                                  HasSubstr("and SHA-256 " + zeros + " were promised")));
  auto missing =
      run(folder, short_run({kHere, one_from(server.url("/none.txt")), "--trainer.id=missing"}, 3));
  EXPECT_EQ(missing.code, 2) << missing.output;
  EXPECT_THAT(missing.output, HasSubstr("/none.txt: the server says 404: there is no such file"));
  EXPECT_FALSE(exists(folder + "/runs/missing/step-1"));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/data_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/data/test_datasets.h"
#include "bora/store/cache_builder.h"

namespace bora::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string letters(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

/// Two rows of eight: "ab|Cde" with padding, and one with what should not reach a terminal or a page.
Batch batch() {
  Batch b{.step = 3, .sequences = 2, .seq_len = 8, .sources = {1, -1}};
  for (const char c : std::string("abCde\0\0\0<\n\x1b&\x7f\xc2\x85z", 16))
    b.tokens.push_back(static_cast<unsigned char>(c));
  b.segments = {0, 0, 1, 1, 1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  b.loss_weights = {1, 0, 0.5, 0.5, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0};
  return b;
}

TEST(BatchView, RunsOfOneSegmentAndWeight) {
  const BatchView view = view_batch(batch(), {"x", "books"}, letters);
  ASSERT_EQ(view.rows.size(), 2u);
  EXPECT_EQ(view.rows[0].source, "books");
  EXPECT_EQ(view.rows[1].source, "");
  EXPECT_THAT(view.rows[0].runs,
              ElementsAre(TokenRun{0, 0, 1, "a"}, TokenRun{0, 1, 1, "b"}, TokenRun{1, 0, 1, "C"},
                          TokenRun{1, 0.5, 2, "de"}, TokenRun{-1, 0, 3, ""}));
  EXPECT_EQ(view.rows[0].segments, 2);
  EXPECT_EQ(view.rows[0].padding, 3);
  EXPECT_EQ(view.rows[0].counted, 3);
  EXPECT_DOUBLE_EQ(view.padding_share(), 3.0 / 16);
  EXPECT_DOUBLE_EQ(view.counted_share(), 10.0 / 13);
  EXPECT_EQ(view.sources, (std::vector<std::pair<std::string, std::int64_t>>{{"books", 1}}));
}

TEST(BatchView, AsText) {
  const BatchView view = view_batch(batch(), {"x", "books"}, letters);
  const std::string text = batch_text(view, false);
  EXPECT_THAT(text, HasSubstr("step 3 · 2 sequences of 8 tokens · 18.8 % padding · books 1\n"
                              "\n"
                              "row 0 · books · 2 segments · 37.5 % padding · 60.0 % of the rest counts\n"
                              "     0 │ a\n"
                              "     1 │ b\n"
                              "       ┼───\n"
                              "     0 │ C\n"
                              "   0.5 │ de\n"
                              "       │ (3 tokens of padding)\n"));
  EXPECT_THAT(text, HasSubstr("     1 │ ⏎\n       │ ␛&␡\ufffdz\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(batch_text(view, true), HasSubstr("\x1b[90ma\x1b[0m"));
  EXPECT_THAT(batch_text(view, true), HasSubstr("\x1b[33mde\x1b[0m"));
}

TEST(BatchView, AsPage) {
  const std::string page = batch_page(view_batch(batch(), {"x", "<books>"}, letters));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("<title>Batch of step 3</title>"));
  EXPECT_THAT(page, HasSubstr("&lt;books&gt;"));
  EXPECT_THAT(page, HasSubstr("title=\"segment 1, weight 0.5, 2 tokens\">de</span>"));
  EXPECT_THAT(page, HasSubstr("<hr class=\"cut\">"));
  EXPECT_THAT(page, HasSubstr("3 tokens of padding"));
  EXPECT_THAT(page, HasSubstr("&amp;"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, Not(testing::AnyOf(HasSubstr("http"), HasSubstr("<script"), HasSubstr("src="))))
      << "it needs nothing beside it";
}

class Stats : public testing::Test {
 protected:
  Stats() : folder_("stats") {
    std::string lines;
    for (const std::string text : {"a", "bb", "a", "ccccccccc", "a", "bb"})
      lines += "{\"text\":\"" + text + "\"}\n";
    cache_ = store::build_cache(folder_ / "c", {folder_.write("a.jsonl", lines)}, store::ByteProcessor());
  }
  store::TemporaryFolder folder_;
  std::shared_ptr<const store::TokenCache> cache_;
};

TEST_F(Stats, LengthsAndDuplicates) {
  const CacheStats s = cache_stats("a", *cache_);  // with BOS and EOS: 3, 4, 3, 11, 3, 4 tokens
  EXPECT_EQ(s.documents, 6);
  EXPECT_EQ(s.tokens, 28);
  EXPECT_EQ(s.bytes, 16);
  EXPECT_EQ(s.shortest, 3);
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.p95, 4);
  EXPECT_EQ(s.longest, 11);
  EXPECT_DOUBLE_EQ(s.mean(), 28.0 / 6);
  EXPECT_EQ(s.duplicates, 3);
  EXPECT_EQ(s.duplicate_tokens, 10);
  EXPECT_DOUBLE_EQ(s.duplicate_share(), 0.5);
  using Bucket = CacheStats::Bucket;
  EXPECT_THAT(s.lengths, ElementsAre(Bucket{0, 0, 0}, Bucket{2, 3, 9}, Bucket{4, 2, 8}, Bucket{8, 1, 11}));
}

TEST_F(Stats, AsTextAndPage) {
  const std::vector<CacheStats> stats{cache_stats("a&b", *cache_)};
  const std::string text = stats_text(stats);
  EXPECT_THAT(
      text, HasSubstr("data set  tokens  documents  bytes each  mean  median  95 %  longest  duplicates\n"
                      "a&b           28          6        0.57   4.7       3     4       11     50.00 %\n"));
  EXPECT_THAT(text,
              HasSubstr("a&b: documents by length in tokens\n                  2-3            3 █████"));
  EXPECT_THAT(text, Not(HasSubstr("0-1"))) << "from the shortest on";
  const std::string page = stats_page(stats);
  EXPECT_THAT(page, HasSubstr("<td>a&amp;b</td><td>28</td>"));
  EXPECT_THAT(page, HasSubstr("<td>8-15</td><td>1</td>"));
}

}  // namespace
}  // namespace bora::data

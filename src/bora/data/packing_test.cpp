// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/packing.h"

#include <gtest/gtest.h>

#include "bora/data/packed_dataset.h"
#include "bora/data/test_datasets.h"
#include "bora/store/cache_builder.h"

namespace bora::data {
namespace {

using Lengths = std::vector<std::int64_t>;
using Packs = std::vector<Pack>;

TEST(Packing, EachGoesWhereItStillFits) {
  EXPECT_EQ(pack_greedily(Lengths{4, 4, 4, 10, 1, 9, 1}, {10}),
            (Packs{{0, 2}, {2, 3}, {3, 4}, {4, 6}, {6, 7}}));
  EXPECT_EQ(pack_greedily(Lengths{3, 3, 3, 3}, {100, 2}), (Packs{{0, 2}, {2, 4}}));
  EXPECT_EQ(pack_greedily(Lengths{3, 3}, {100, 1}), (Packs{{0, 1}, {1, 2}})) << "padding";
  EXPECT_EQ(pack_greedily(Lengths{}, {10}), Packs{});
  EXPECT_EQ(pack_greedily(Lengths(1000, 1), {100000}).front(), (Pack{0, 64})) << "64 documents at most";
}

TEST(Packing, EmptyDocumentsTakeNoPlace) {
  EXPECT_EQ(pack_greedily(Lengths{0, 5, 0, 0, 6, 0}, {10}), (Packs{{0, 4}, {4, 6}}));
  EXPECT_EQ(pack_greedily(Lengths{0, 0}, {10}), Packs{});
}

TEST(Packing, LongDocuments) {
  const Lengths lengths{3, 25, 4, 12};
  EXPECT_EQ(pack_greedily(lengths, {10, 64, Overlong::Left}), (Packs{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  EXPECT_EQ(pack_greedily(lengths, {10, 64, Overlong::Drop}), (Packs{{0, 4}}));
  GreedyPacker packer({10, 64, Overlong::Right});
  for (const auto n : lengths) packer.add(n);
  EXPECT_EQ(packer.overlong(), 2);
  EXPECT_EQ(packer.lost_tokens(), 17);
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { pack_greedily(lengths, {10}); }),
            "packing: document 1 has 25 tokens but a sequence has 10\nhint: a larger model.seq_len, or "
            "slice_strategy: left, right (which end to keep) or drop");
  EXPECT_EQ(pack_greedily(Lengths{20, 20}, {10, 64, Overlong::Drop}), Packs{});
}

TEST(Packing, Names) {
  EXPECT_EQ(parse_overlong("right"), Overlong::Right);
  EXPECT_EQ(parse_overlong("drop"), Overlong::Drop);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { parse_overlong("middle"); }),
            "packing: slice strategy middle is none of left, right, raise, drop");
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [] { pack_greedily(Lengths{}, {10, 0}); }),
            "packing: 0 documents in sequences of 10 tokens; both should be at least 1");
}

/// Records "abc" as one id a letter; a letter in upper case has weight 0.5. An empty record is left out.
class LetterProcessor : public store::Processor {
 public:
  explicit LetterProcessor(bool weighted = true, std::int64_t per_record = 1)
      : shape_{weighted, per_record} {}
  std::string fingerprint() const override { return "letters"; }
  std::int64_t vocab_size() const override { return 128; }
  void encode(const store::TextPiece&, std::vector<std::int32_t>&) const override {}
  bool takes_records() const override { return true; }
  store::CacheShape shape() const override { return shape_; }
  void encode_record(std::string_view json, store::EncodedRecord& out) const override {
    for (const char c : json.substr(1, json.size() - 2)) {
      out.ids.push_back(c);
      if (shape_.weighted) out.weights.push_back(c >= 'A' && c <= 'Z' ? 0.5F : 1.0F);
    }
    out.ends.push_back(out.ids.size());
    out.text_bytes += static_cast<std::int64_t>(json.size());
  }

 private:
  store::CacheShape shape_;
};

class PackedRows : public testing::Test {
 protected:
  PackedRows() : folder_("packed") {}
  std::shared_ptr<const store::TokenCache> cache(const std::vector<std::string>& documents,
                                                 const store::Processor& processor = LetterProcessor()) {
    std::string lines;
    for (const auto& document : documents) lines += "\"" + document + "\"\n";
    const std::string name = fmt::format("c{}", made_++);
    return store::build_cache(folder_ / name, {folder_.write(name + ".jsonl", lines)}, processor);
  }
  static OneRow row(const Dataset& dataset, std::int64_t index) {
    OneRow out(static_cast<std::size_t>(dataset.seq_len()));
    dataset.read(index, out.row());
    return out;
  }
  static std::string text(const OneRow& row) {
    std::string out;
    for (const auto token : row.tokens) out += token == 0 ? '_' : static_cast<char>(token);
    return out;
  }
  using Ints = std::vector<std::int32_t>;
  using Floats = std::vector<float>;
  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  int made_ = 0;
};

TEST_F(PackedRows, SegmentsWeightsAndPadding) {
  const PackedDataset dataset(cache({"abC", "de", "fghi"}), {8}, {});
  EXPECT_EQ(dataset.size(), 2);
  const OneRow first = row(dataset, 0);
  EXPECT_EQ(text(first), "abCde___");
  EXPECT_EQ(first.segments, (Ints{0, 0, 0, 1, 1, -1, -1, -1}));
  EXPECT_EQ(first.loss_weights, (Floats{1, 0.5, 0, 1, 0, 0, 0, 0})) << "of the token that is predicted";
  EXPECT_EQ(text(row(dataset, 1)), "fghi____");
  EXPECT_DOUBLE_EQ(dataset.padding_share(), 7.0 / 16);
  const OneRow open = row(PackedDataset(dataset), 0);
  EXPECT_EQ(open.tokens, first.tokens);
}

TEST_F(PackedRows, WithoutBlockingThereIsOneSegment) {
  const PackedDataset dataset(cache({"abC", "de"}), {8}, {.block_cross_document_attention = false});
  EXPECT_EQ(row(dataset, 0).segments, (Ints{0, 0, 0, 0, 0, -1, -1, -1}));
}

TEST_F(PackedRows, IgnoredTokensAndLongDocuments) {
  const auto letters = cache({"abcdef", "xy"});
  const auto of = [&](Overlong overlong) {
    const PackedDataset dataset(letters, {4, 64, overlong}, {.ignore_token_id = 'c'});
    return row(dataset, 0);
  };
  EXPECT_EQ(text(of(Overlong::Left)), "abcd");
  EXPECT_EQ(of(Overlong::Left).loss_weights, (Floats{1, 0, 1, 0}));
  EXPECT_EQ(text(of(Overlong::Right)), "cdef");
  EXPECT_EQ(text(of(Overlong::Drop)), "xy__");
  EXPECT_THROW(of(Overlong::Raise), Error);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { PackedDataset(letters, {1}, {}); }),
            "dataset: sequences of 1 tokens; a prediction needs at least 2");
}

TEST_F(PackedRows, ConcatenatedOnesKnowDocumentsAndWeights) {
  const auto letters = cache({"abC", "de", "fG!h", "i"});
  const TokenDataset dataset(letters, 5, {});
  EXPECT_EQ(dataset.size(), 2);
  EXPECT_EQ(text(row(dataset, 0)), "abCde");
  EXPECT_EQ(row(dataset, 0).segments, (Ints{0, 0, 0, 1, 1}));
  EXPECT_EQ(row(dataset, 0).loss_weights, (Floats{1, 0.5, 1, 1, 0}));
  EXPECT_EQ(text(row(dataset, 1)), "fG!hi");
  EXPECT_EQ(row(dataset, 1).segments, (Ints{0, 0, 0, 0, 1})) << "at a document, whatever its tokens are";
  const TokenDataset open(letters, 5, {.block_cross_document_attention = false});
  EXPECT_EQ(row(open, 1).segments, (Ints{0, 0, 0, 0, 0}));
}

TEST_F(PackedRows, EmptyDocumentsAreNoSegments) {
  const auto letters = cache({"ab!", "cd!", "", "e", ""}, LetterProcessor(false));
  EXPECT_EQ(row(TokenDataset(letters, 7, {}), 0).segments, (Ints{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(row(TokenDataset(letters, 3, {}), 1).segments, (Ints{0, 0, 0}));
  EXPECT_EQ(row(TokenDataset(letters, 2, {}), 1).segments, (Ints{0, 1}));
  EXPECT_EQ(row(TokenDataset(letters, 2, {}), 2).segments, (Ints{0, 0}));
}

}  // namespace
}  // namespace bora::data

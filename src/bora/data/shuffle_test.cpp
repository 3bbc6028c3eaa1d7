// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/data/epochs.h"
#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

// A shuffle as a user's own program would have it: every `stride`-th sequence, then those after them, ...
struct StrideShuffle : ShuffleType {
  std::int64_t stride = 2;
  void bind(Binder& b) { b.field("stride", stride, at_least(1), "sequences from one to the next"); }
  PermutationPtr order(std::int64_t size, RandomOrder, const Key&) const override {
    struct Stride final : Permutation {
      Stride(std::int64_t n, std::int64_t by) : Permutation(n), stride(by) {}
      std::int64_t map(std::int64_t index) const override {
        for (std::int64_t first = 0;; ++first) {
          const auto count = (size() - first + stride - 1) / stride;
          if (index < count) return first + index * stride;
          index -= count;
        }
      }
      std::int64_t stride;
    };
    return std::make_unique<Stride>(size, stride);
  }
};

class OwnShuffle : public testing::Test {
 protected:
  OwnShuffle() : before_(shuffle_types()) { shuffle_types().add("stride", {"in steps", StrideShuffle()}); }
  ~OwnShuffle() override { shuffle_types() = before_; }
  Registry<ConfigType<ShuffleType>> before_;
};

struct File {
  Shuffle shuffle;
  void bind(Binder& b) { shuffle.bind_as(b, "shuffle"); }
};

std::vector<std::string> read(const std::string& yaml, File& file) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, file)) lines.push_back(p.where + " " + p.key + " " + p.message);
  return lines;
}

TEST_F(OwnShuffle, OrdersADataSet) {
  File file;
  ASSERT_THAT(read("shuffle: {type: stride, stride: 3}", file), testing::IsEmpty());
  const auto dataset = endless(counting(7), file.shuffle, Key::from_seed(0));
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < 9; ++i) {
    OneRow row(4);
    dataset->read(i, row.row());
    order.push_back(row.tokens[0]);
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 3, 6, 1, 4, 2, 5, 0, 3));
  EXPECT_EQ(file.shuffle.config->needed(0), std::nullopt);
  EXPECT_EQ(write_config(file), "shuffle:\n  type: stride\n  stride: 3\n");
}

TEST_F(OwnShuffle, HasItsOwnWrongKeys) {
  File file;
  EXPECT_THAT(read("shuffle:\n  type: stride\n  strid: 3\n  stride: 0\n", file),
              testing::ElementsAre("my.yaml:3 shuffle.strid unknown key; did you mean shuffle.stride?",
                                   "my.yaml:4 shuffle.stride = 0 must be at least 1"));
  EXPECT_THAT(read("shuffle: {type: strid}", file),
              testing::ElementsAre("my.yaml:1 shuffle.type = strid strid is not known; did you mean "
                                   "`stride`?; available: none, full, era, block, stride"));
}

TEST(Shuffle, IsWrittenAsItIsSpelled) {  // which names runs
  const auto written = [](const std::string& yaml) {
    File file;
    EXPECT_THAT(read(yaml, file), testing::IsEmpty());
    return write_config(file);
  };
  EXPECT_EQ(written("shuffle: false"), "shuffle: false\n");
  EXPECT_EQ(written("shuffle: {type: full}"), "shuffle: true\n");
  EXPECT_EQ(written("shuffle: 1000"), "shuffle: 1000\n");
  EXPECT_EQ(written("shuffle: {type: era, era_length: 5}"), "shuffle: 5\n");
  EXPECT_EQ(written("shuffle: {type: block, window_blocks: 4}"),
            "shuffle:\n  io_block_size: 256\n  window_blocks: 4\n");
  EXPECT_EQ(written("shuffle: {io_block_size: 8}"), "shuffle:\n  io_block_size: 8\n  window_blocks: 512\n");
}

TEST(Shuffle, SaysWhatItWaitsFor) {
  EXPECT_EQ(NoShuffle().needed(7), 8);
  EXPECT_EQ(EraShuffle(10).needed(7), 10);
  EXPECT_EQ(EraShuffle(10).needed(10), 20);
  EXPECT_FALSE(FullShuffle().needed(7));
  EXPECT_THAT(BlockShuffle().why_all(), testing::StartsWith("a block shuffle takes its blocks from"));
}

}  // namespace
}  // namespace bora::data

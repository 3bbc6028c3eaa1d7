// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/read_back.h"

#include "bora/core/create.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using testing::error_of;

constexpr std::string_view kAxis[] = {"a"};
constexpr std::int64_t kSize[] = {3};

TEST(ReadBack, GivesWhatWasAddedAtItsPlace) {
  ReadBack read;
  const auto counted = read.add(arange({kAxis, kSize}, 4, 2));
  const auto one = read.add(Number(full({}, 0.5)));
  const auto known = read.add(Number(7));
  read.wait();
  EXPECT_EQ(std::vector<double>(read.values(counted).begin(), read.values(counted).end()),
            (std::vector<double>{4, 6, 8}));
  EXPECT_EQ(read.value(one), 0.5);
  EXPECT_EQ(read.value(known), 7);
  const auto late = read.add(full({}, 2.0));
  read.wait();
  EXPECT_EQ(read.value(late), 2);
  EXPECT_EQ(read.value(one), 0.5) << "still there";
}

TEST(ReadBack, SaysWhatItHasNot) {
  ReadBack read;
  EXPECT_EQ(error_of([&] { (void)read.values(0); }), "read back: place 0 of 0 has not been added");
  EXPECT_EQ(error_of([&] { read.add(Array()); }),
            "to_vector: the array is empty (it was never given a value)");
  EXPECT_EQ(error_of([] { (void)Number(arange({kAxis, kSize})); }),
            "item: the array has 3 elements, not one\nhint: reduce it first, or to_vector()");
}

}  // namespace
}  // namespace bora::core

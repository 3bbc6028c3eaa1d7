// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// On the device of the tests these run too: there a view is a copy that goes back.
#include "bora/core/host_view.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"
#include "bora/core/update.h"

namespace bora::core {
namespace {

const std::vector<std::string_view> kAb{"a", "b"}, kBa{"b", "a"};
const std::vector<std::int64_t> kSizes{2, 3};
const Shape kShape{kAb, kSizes};

Array counted() {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  return from_data(kShape, std::span<const float>(values));
}

TEST(HostView, ReadsAndWritesAnArray) {
  Array x = counted();
  {
    HostView view(x, HostView::Use::update);
    EXPECT_EQ(view.bytes().size(), 24U);
    EXPECT_EQ(view.floats()[4], 4);
    view.floats()[4] = 9;
    const HostView moved = std::move(view);
    EXPECT_EQ(moved.copied(), default_device() != Device());
  }
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 9, 5}));
  HostView all(x, HostView::Use::write);
  for (float& value : all.floats()) value = 7;
  all.finish();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 7));
  const Array flags = zeros(kShape, DType::boolean);
  EXPECT_EQ(HostView(flags, HostView::Use::read).bytes().size(), 6U);
}

TEST(HostView, SaysWhatItCannotShow) {
  const Array x = counted(), numbers = zeros(kShape, DType::i64);
  EXPECT_EQ(testing::error_of([&] { HostView(numbers, HostView::Use::read).floats(); }),
            "data: a pointer to f32 was asked for, the array holds i64\nhint: cast it first");
  const Array turned = rearrange({x, kAb}, kBa);
  const std::string text = testing::error_of([&] { HostView(turned, HostView::Use::read).bytes(); });
  EXPECT_NE(text.find("the array of sizes [3, 2] is not contiguous\nhint: clone() it first"), text.npos)
      << text;
  EXPECT_EQ(testing::error_of([] { HostView().bytes(); }),
            "data: the array is empty (it was never given a value)");
}

TEST(Update, CopiesPartsOfArrays) {
  Array x = counted(), y = zeros(kShape);
  EXPECT_FALSE(share_memory(x, y));
  copy_into(y, x);
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  const std::vector<std::int64_t> three{3};
  Array last = elements(y, 3, three);
  EXPECT_TRUE(share_memory(y, elements(y, 0, three)));
  EXPECT_FALSE(share_memory(y, last));
  copy_into(last, zeros({std::span(kAb).first(1), three}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 2, 0, 0, 0}));
  EXPECT_EQ(testing::error_of([&] { copy_into(x, last); }),
            "copy_into: an array of sizes [2, 3] takes none of [3]");
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/array.h"

#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;

TEST(DTypeTest, NamesReadBack) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    EXPECT_EQ(from_scalar_type(scalar_type(dtype)), dtype);
    EXPECT_EQ(bytes(dtype), c10::elementSize(scalar_type(dtype)));
    EXPECT_EQ(is_floating(dtype), at::isFloatingType(scalar_type(dtype)));
  }
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("fp32"), DType::f32);
}

TEST(ArrayTest, CountsReferences) {
  EXPECT_TRUE(Array().empty());
  Array x = wrap(values({2, 3}));
  const auto references = [&] { return x.node()->references.load(); };
  EXPECT_EQ(references(), 1);
  {
    const Array y = x;
    Array z;
    z = y;
    EXPECT_EQ(references(), 3);
    const Array moved = std::move(z);
    EXPECT_EQ(references(), 3);
    EXPECT_EQ(moved.node(), x.node());
  }
  EXPECT_EQ(references(), 1);
  x = *&x;
  EXPECT_EQ(references(), 1);
  static_assert(sizeof(Array) == sizeof(void*));
}

TEST(ArrayTest, Accessors) {
  const Array x = wrap(integers({2, 3}, 50).to(at::kInt));
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.size(1), 3);
  EXPECT_EQ(x.numel(), 6);
  EXPECT_EQ(x.sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(x.dtype(), DType::i32);
  EXPECT_EQ(wrap(values({1, 1})).item(), values({1, 1}).item().toDouble());
}

TEST(ArrayTest, ToVectorConvertsInRowMajorOrder) {
  const Tensor t = integers({2, 3}, 50);
  const Array turned = wrap(t.t());
  std::vector<double> want;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) want.push_back(t[j][i].item().toDouble());
  }
  EXPECT_EQ(turned.to_vector<double>(), want);
  EXPECT_EQ(turned.to_vector<float>(), std::vector<float>(want.begin(), want.end()));
  EXPECT_EQ(turned.to_vector<std::int64_t>(), std::vector<std::int64_t>(want.begin(), want.end()));
  EXPECT_EQ(turned.to_vector<std::int32_t>(), std::vector<std::int32_t>(want.begin(), want.end()));
  EXPECT_EQ(wrap(t.gt(20)).to_vector<std::uint8_t>(), wrap(t.gt(20).to(at::kByte)).to_vector<std::uint8_t>());
}

TEST(ArrayTest, DataIsSharedAndACloneIsNot) {
  const Array x = wrap(values({2, 3})), y = x, z = x.clone();
  const float before = x.data<float>()[0];
  x.data<float>()[0] = 5;
  EXPECT_EQ(y.data<float>()[0], 5);
  EXPECT_EQ(z.data<float>()[0], before);
  EXPECT_EQ(static_cast<void*>(x.data<std::byte>()), x.data<float>());
  const Array turned = wrap(values({2, 3}).t());
  EXPECT_EQ(turned.clone().to_vector<float>(), turned.to_vector<float>());
  EXPECT_NO_THROW(turned.clone().data<float>());
}

TEST(ArrayTest, Describes) {
  const NameList names{"batch", "position"};
  const Array x = wrap(values({2, 3}));
  EXPECT_EQ(describe(Operand{x, names}), "[batch=2, position=3]");
  EXPECT_EQ(describe(Names(names)), "[batch, position]");
  EXPECT_EQ(describe(Shape{}), "[]");
  EXPECT_EQ(describe(Operand{Array(), names}), "[batch, position]");
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/torch/shared_ops.h"

#include <c10/util/Exception.h>

#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using at::Tensor;
using testing::values;

constexpr std::int64_t kBig = 200'003;

// What libtorch's own kernels make of it: in parts too small for ours.
Tensor sum_in_parts(const Tensor& a, const Tensor& b) {
  Tensor out = a.clone();
  for (std::int64_t i = 0; i < a.numel(); i += 1000) {
    const std::int64_t n = std::min<std::int64_t>(1000, a.numel() - i);
    out.narrow(0, i, n).copy_(a.narrow(0, i, n).add(b.narrow(0, i, n)));
  }
  return out;
}

class SharedOps : public ::testing::Test {
 protected:
  SharedOps() { share_big_sums(); }
  ~SharedOps() override { kernels::set_threads(before_); }
  Tensor a_ = values({kBig}), b_ = values({kBig}, 1);
  int before_ = kernels::threads();
};

TEST_F(SharedOps, SumsHaveLibtorchsBitsForAnyNumberOfThreads) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const Tensor a = a_.to(type), b = b_.to(type), want = sum_in_parts(a, b);
    ASSERT_EQ(want.scalar_type(), type);
    for (const int threads : {1, 2, 3}) {
      kernels::set_threads(threads);
      EXPECT_TRUE(a.add(b).equal(want)) << type << threads;
      Tensor c = a.clone();
      const auto version = c._version();
      c.add_(b);
      EXPECT_TRUE(c.equal(want)) << type << threads;
      EXPECT_GT(c._version(), version);  // autograd sees the change
      EXPECT_EQ(c.add(0).zero_().abs().sum().item<float>(), 0) << type << threads;
    }
  }
}

TEST_F(SharedOps, AnArrayCanBeAddedToItself) {
  const Tensor twice = a_.mul(2);
  EXPECT_TRUE(a_.add(a_).equal(twice));
  EXPECT_TRUE(a_.clone().add_(a_).equal(twice));
  Tensor c = a_.clone();
  EXPECT_TRUE(c.add_(c).equal(twice));
}

TEST_F(SharedOps, WhatIsNotOursStaysLibtorchs) {
  EXPECT_TRUE(a_.add(b_, 2).equal(a_.add(b_.mul(2))));
  EXPECT_TRUE(a_.add(a_.narrow(0, 0, 1)).equal(a_.add(a_[0].item<float>())));
  EXPECT_EQ(a_.add(b_.to(at::kDouble)).scalar_type(), at::kDouble);
  EXPECT_TRUE(a_.add(b_.to(at::kBFloat16)).equal(a_.add(b_.to(at::kBFloat16).to(at::kFloat))));
  const Tensor wide = values({400, 300});
  EXPECT_TRUE(wide.t().add(wide.t()).equal(wide.mul(2).t()));
  const Tensor shifted = a_.narrow(0, 1, kBig - 1), first = a_.narrow(0, 0, kBig - 1);
  EXPECT_TRUE(first.add(shifted).equal(sum_in_parts(first, shifted)));
  EXPECT_THROW(Tensor(first).add_(shifted), c10::Error);  // part of what is read would be written before
  Tensor zeroed = wide.clone();
  zeroed.t().zero_();
  EXPECT_EQ(zeroed.count_nonzero().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace bora::core

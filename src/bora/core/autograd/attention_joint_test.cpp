// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Parts of attention joined, against attention over all keys at once.
#include "bora/core/autograd/attention_joint.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full_ops.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace bora::core::autograd {
namespace {

using at::Tensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kQueries = 5, kHeads = 3, kDim = 4;

Tensor filled(const std::vector<std::int64_t>& sizes, double value) {
  return at::_ops::full::call(c10::fromIntArrayRefSlow(sizes), value, at::kFloat, {}, {}, {});
}
// Numbers without a pattern, of standard deviation about `size`.
Tensor numbers(const std::vector<std::int64_t>& sizes, double size, int seed) {
  Tensor out = filled(sizes, 0);
  for (std::int64_t i = 0; i < out.numel(); ++i)
    out.mutable_data_ptr<float>()[i] =
        static_cast<float>(size * 1.5 * std::sin(static_cast<double>((i + 1) * (i + 7) + 31 * seed)));
  return out;
}

// scores [head, query, key], values [key, head, dim]
AttentionPart attended(const Tensor& scores, const Tensor& values) {
  const Tensor lse = scores.logsumexp(-1, false);
  const Tensor weights = scores.sub(lse.unsqueeze(-1)).exp();
  return {weights.matmul(values.transpose(0, 1)).transpose(0, 1).contiguous(), lse};
}
AttentionPart of_nothing(double log) {
  return {filled({kQueries, kHeads, kDim}, 0), filled({kHeads, kQueries}, log)};
}
double greatest(const Tensor& x) { return x.abs().max().item<double>(); }

// Blocks of one, two and four keys, whose scores are far apart: a weight in the wrong place is seen.
TEST(AttentionJoint, AsAllKeysAtOnce) {
  const Tensor scores = numbers({kHeads, kQueries, 7}, 4, 1), values = numbers({7, kHeads, kDim}, 1, 2);
  const auto want = attended(scores, values);
  const auto block = [&](std::int64_t first, std::int64_t count) {
    return attended(scores.narrow(-1, first, count), values.narrow(0, first, count));
  };
  AttentionJoint joint;
  joint.add(block(4, 1));
  joint.add(block(5, 2));
  joint.add(block(0, 4));
  const auto got = joint.joined(kInf);
  EXPECT_LT(greatest(got.out.sub(want.out)), 1e-6);
  EXPECT_LT(greatest(got.lse.sub(want.lse)), 4e-6);
  EXPECT_GT(greatest(block(4, 1).out.sub(want.out)), 0.1) << "no block does it alone";
}

// Only the first queries have seen a later block.
TEST(AttentionJoint, OfTheFirstQueries) {
  const Tensor scores = numbers({kHeads, kQueries, 6}, 2, 3), values = numbers({6, kHeads, kDim}, 1, 4);
  const auto all = attended(scores, values), own = attended(scores.narrow(-1, 0, 3), values.narrow(0, 0, 3)),
             other = attended(scores.narrow(-1, 3, 3), values.narrow(0, 3, 3));
  AttentionJoint joint;
  joint.add({own.out.clone(), own.lse});
  joint.add({other.out.narrow(0, 0, 2), other.lse.narrow(-1, 0, 2)});
  const auto got = joint.joined(-kInf);
  EXPECT_LT(greatest(got.out.narrow(0, 0, 2).sub(all.out.narrow(0, 0, 2))), 1e-6);
  EXPECT_TRUE(got.out.narrow(0, 2, 3).equal(own.out.narrow(0, 2, 3))) << "the others are as they were";
  EXPECT_EQ(greatest(got.lse.narrow(-1, 2, 3).sub(own.lse.narrow(-1, 2, 3))), 0);
}

// FlashAttention says so with +inf, cuDNN with -inf. Either is left as it is asked for, and counts as nothing before,
// behind, and alone.
TEST(AttentionJoint, OfQueriesThatSeeNothing) {
  const Tensor scores = numbers({kHeads, kQueries, 3}, 2, 5), values = numbers({3, kHeads, kDim}, 1, 6);
  const auto some = attended(scores, values);
  for (const double log : {kInf, -kInf}) {
    for (const bool before : {true, false}) {
      AttentionJoint joint;
      joint.add(before ? of_nothing(log) : AttentionPart{some.out.clone(), some.lse});
      joint.add(before ? AttentionPart{some.out.clone(), some.lse} : of_nothing(log));
      const auto got = joint.joined(log);
      EXPECT_TRUE(got.out.equal(some.out)) << log << before;
      EXPECT_TRUE(got.lse.equal(some.lse)) << log << before;
    }
    AttentionJoint joint;
    joint.add(of_nothing(log));
    joint.add(of_nothing(log));
    const auto got = joint.joined(log);
    EXPECT_EQ(greatest(got.out), 0);
    EXPECT_TRUE(got.lse.equal(filled({kHeads, kQueries}, log)));
  }
}

// A log of +inf also stands where scores are no numbers: the result still is none.
TEST(AttentionJoint, KeepsWhatIsNotANumber) {
  const Tensor scores = numbers({kHeads, kQueries, 3}, 2, 5), values = numbers({3, kHeads, kDim}, 1, 6);
  const auto some = attended(scores, values);
  for (const bool before : {true, false}) {
    const AttentionPart none{filled({kQueries, kHeads, kDim}, std::nan("")),
                             filled({kHeads, kQueries}, kInf)};
    AttentionJoint joint;
    joint.add(before ? none : AttentionPart{some.out.clone(), some.lse});
    joint.add(before ? AttentionPart{some.out.clone(), some.lse} : none);
    EXPECT_TRUE(joint.joined(kInf).out.isnan().all().item<bool>());
  }
}

// One part is not rounded again, and many are once.
TEST(AttentionJoint, RoundsOnce) {
  const Tensor out = numbers({kQueries, kHeads, kDim}, 1, 7).to(at::kBFloat16),
               lse = numbers({kHeads, kQueries}, 1, 8);
  AttentionJoint one;
  one.add({out, lse});
  EXPECT_TRUE(one.joined(kInf).out.equal(out));
  AttentionJoint many;
  const Tensor more = numbers({kQueries, kHeads, kDim}, 1, 9).to(at::kBFloat16);
  many.add({out, lse});
  for (int i = 0; i < 3; ++i) many.add({more, lse});
  const auto got = many.joined(kInf);
  EXPECT_EQ(got.out.scalar_type(), at::kBFloat16);
  const Tensor want = out.to(at::kFloat).add(more.to(at::kFloat), 3).mul(0.25).to(at::kBFloat16);
  EXPECT_LE(greatest(got.out.to(at::kFloat).sub(want.to(at::kFloat))), 1.0 / 128) << "half a step";
  EXPECT_GT(got.out.eq(want).sum().item<std::int64_t>(), want.numel() * 9 / 10);
}

TEST(GradientSum, AddsInMoreBits) {
  const Tensor big = filled({1, 3, 2}, 256).to(at::kBFloat16),
               small = filled({1, 2, 2}, 0.5).to(at::kBFloat16);
  GradientSum sum;
  sum.add(big);
  EXPECT_TRUE(sum.as(at::kBFloat16).is_same(big)) << "nothing is made of one";
  for (int i = 0; i < 4; ++i) sum.add(small);  // of which each alone is lost in 16 bits
  EXPECT_EQ(sum.as(at::kFloat)[0][1][0].item<float>(), 258);
  EXPECT_EQ(sum.as(at::kFloat)[0][2][0].item<float>(), 256);
  EXPECT_EQ(big[0][0][0].item<float>(), 256) << "and what came is as it was";
}

}  // namespace
}  // namespace bora::core::autograd

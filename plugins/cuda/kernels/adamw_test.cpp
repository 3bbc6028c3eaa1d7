// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

void step(const kernels::AdamW& s, const kernels::Stepped& one) { adamw(s, 1, &one, nullptr); }

TEST(CudaAdamW, AgreesWithThePlainFormula) {
  for (const bool nesterov : {false, true}) {
    for (const std::int64_t n : {1, 7, 2048, 4099}) {
      SCOPED_TRACE(::testing::Message() << n << " elements, nesterov " << nesterov);
      const kernels::AdamW s{1e-2F, 0.9F, 0.95F, 1e-8F, 7, 0.271F, 0.1426F, 0.5F, nesterov, 0.3439F};
      const auto p0 = random<float>(n, 1), g = random<float>(n, 2, 3), m0 = random<float>(n, 3);
      auto v0 = random<float>(n, 4);
      for (float& v : v0) v = std::abs(v);
      List<float> p, m, v;
      List<Bf16> copy(n);
      List<float> largest(1);
      in_all_orders(
          [&] {
            p = p0, m = m0, v = v0, largest[0] = 0;
            step(s, {n, p.data(), g.data(), m.data(), v.data(), 0.1F, copy.data(), largest.data()});
          },
          p, m, v, copy, largest);
      EXPECT_EQ(largest[0], largest_in(copy));
      List<double> want_p, want_m, want_v;
      for (std::int64_t i = 0; i < n; ++i) {
        const double grad = 0.5 * g[i], mean = s.beta1 * double(m0[i]) + (1 - double(s.beta1)) * grad,
                     square = s.beta2 * double(v0[i]) + (1 - double(s.beta2)) * grad * grad;
        const double unbiased = nesterov ? s.beta1 * mean / double(s.correction1_next) +
                                               (1 - double(s.beta1)) * grad / double(s.correction1)
                                         : mean / double(s.correction1);
        const double step = unbiased / (std::sqrt(square / double(s.correction2)) + 1e-8);
        want_m.push_back(mean);
        want_v.push_back(square);
        want_p.push_back(p0[i] - 1e-2 * (step + 0.1 * double(p0[i])));
      }
      expect_close("mean", m, want_m, {1e-5, 1e-6});
      expect_close("square", v, want_v, {1e-5, 1e-6});
      expect_close("parameter", p, want_p, {1e-5, 1e-5});
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(copy[i].bits, from_float<Bf16>(p[i]).bits);
      const auto with_copy = p;
      const auto the_copy = wide(copy);
      p = p0, m = m0, v = v0;
      step(s, {n, p.data(), g.data(), m.data(), v.data(), 0.1F, copy.data()});
      EXPECT_EQ(wide(copy), the_copy) << "of which the largest is not asked";
      p = p0, m = m0, v = v0;
      step(s, {n, p.data(), g.data(), m.data(), v.data(), 0.1F});
      EXPECT_EQ(p, with_copy);
    }
  }
}

// More arrays than a launch takes, each with its own decay: what each would be alone.
TEST(CudaAdamW, StepsManyArrays) {
  constexpr std::int64_t kCount = 130;
  const kernels::AdamW s{1e-2F, 0.9F, 0.95F, 1e-8F, 7, 0.271F, 0.1426F, 0.5F};
  const auto of = [](int seed) {
    List<List<float>> out;
    for (std::int64_t i = 0; i < kCount; ++i)
      out.push_back(random<float>(i % 40 == 9 ? 4099 : i * 5 % 23, static_cast<unsigned>(4 * i + seed)));
    return out;
  };
  const auto gradients = of(1);
  auto many = of(0), alone = many, means = of(2), means_alone = means, squares = of(3);
  for (auto& list : squares)
    for (float& v : list) v = std::abs(v);
  auto squares_alone = squares;
  List<kernels::Stepped> arrays;
  List<List<Bf16>> copies;
  List<float> largest(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto n = std::ssize(many[i]);
    const float decay = 0.01F * static_cast<float>(i);
    copies.emplace_back(n);
    arrays.push_back({n, pointer(many[i]), pointer(gradients[i]), pointer(means[i]), pointer(squares[i]),
                      decay, pointer(copies[i]), i % 3 == 1 ? nullptr : &largest[i]});
    step(s, {n, pointer(alone[i]), pointer(gradients[i]), pointer(means_alone[i]), pointer(squares_alone[i]),
             decay});
  }
  adamw(s, kCount, arrays.data(), nullptr);
  EXPECT_EQ(many, alone);
  EXPECT_EQ(means, means_alone);
  EXPECT_EQ(squares, squares_alone);
  for (std::int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(largest[i], i % 3 == 1 ? 0 : largest_in(copies[i])) << i;
}

}  // namespace
}  // namespace bora::cuda

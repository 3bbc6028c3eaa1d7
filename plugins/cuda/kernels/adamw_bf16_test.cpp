// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw_bf16.h"

#include "adamw.h"
#include "bora/base/key.h"
#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

const kernels::AdamW kBf16Step{1e-2F, 0.9F, 0.95F, 1e-8F, 7, 0.271F, 0.1426F, 0.5F, true, 0.3439F};

std::uint16_t by_plain_chance(float x, std::uint32_t chance) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<std::uint16_t>((bits + chance) >> 16);
}

// Shards of shards: rows of three of five, of which one has the second two.
kernels::WholeIndex of_shard() {
  kernels::WholeIndex index;
  index.cuts = 2;
  index.cut[0] = {2, 3, 1};
  index.cut[1] = {3, 5, 2};
  return index;
}

// The parameter and both moments before they are rounded are those of the kernel with fp32 moments; then each moment
// is rounded by its half of the word of its place in the whole array.
TEST(CudaAdamWBf16, RoundsByTheWordsOfTheWholeArray) {
  for (const auto& index : {kernels::WholeIndex{}, of_shard()}) {
    for (const std::int64_t n : {1, 7, 2048, 4099}) {
      SCOPED_TRACE(::testing::Message() << n << " elements, " << index.cuts << " cuts");
      const Key key = Key::from_seed(3);
      const auto p0 = random<float>(n, 1), g = random<float>(n, 2, 3);
      const auto m0 = random<Bf16>(n, 3);
      auto v0 = random<Bf16>(n, 4);
      for (auto& v : v0) v.bits &= 0x7fff;
      List<float> p;
      List<Bf16> m, v, copy(n);
      List<float> largest(1);
      in_all_orders(
          [&] {
            p = p0, m = m0, v = v0, largest[0] = 0;
            const kernels::SteppedBf16 one{n,
                                           p.data(),
                                           g.data(),
                                           m.data(),
                                           v.data(),
                                           0.1F,
                                           copy.data(),
                                           {key.key, key.stream, index},
                                           largest.data()};
            adamw_bf16(kBf16Step, 1, &one, nullptr);
          },
          p, m, v, copy, largest);
      EXPECT_EQ(largest[0], largest_in(copy));
      auto p2 = p0;
      List<float> m2, v2;
      for (std::int64_t i = 0; i < n; ++i) {
        m2.push_back(to_float(m0[i]));
        v2.push_back(to_float(v0[i]));
      }
      const kernels::Stepped wide{n, p2.data(), g.data(), m2.data(), v2.data(), 0.1F};
      adamw(kBf16Step, 1, &wide, nullptr);
      EXPECT_EQ(p, p2);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t place = index.of(i);
        const auto word = key.words(static_cast<std::uint64_t>(place / 4))[place % 4];
        ASSERT_EQ(m[i].bits, by_plain_chance(m2[i], word & 0xffff)) << i;
        ASSERT_EQ(v[i].bits, by_plain_chance(v2[i], word >> 16)) << i;
        ASSERT_EQ(copy[i].bits, from_float<Bf16>(p[i]).bits) << i;
      }
    }
  }
}

// More arrays than a launch takes: what each would be alone.
TEST(CudaAdamWBf16, StepsManyArrays) {
  constexpr std::int64_t kCount = 50;
  List<List<float>> p, g;
  List<List<Bf16>> m, v;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t n = i % 20 == 9 ? 4099 : i * 5 % 23;
    p.push_back(random<float>(n, static_cast<unsigned>(4 * i)));
    g.push_back(random<float>(n, static_cast<unsigned>(4 * i + 1)));
    m.push_back(random<Bf16>(n, static_cast<unsigned>(4 * i + 2)));
    v.push_back(List<Bf16>(n));
  }
  auto p_alone = p;
  auto m_alone = m, v_alone = v;
  List<kernels::SteppedBf16> arrays;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const kernels::Rounding rounding{7, static_cast<std::uint64_t>(i), {}};
    const float decay = 0.01F * static_cast<float>(i);
    const auto n = std::ssize(p[i]);
    arrays.push_back(
        {n, pointer(p[i]), pointer(g[i]), pointer(m[i]), pointer(v[i]), decay, nullptr, rounding});
    const kernels::SteppedBf16 one{
        n,       pointer(p_alone[i]), pointer(g[i]), pointer(m_alone[i]), pointer(v_alone[i]), decay, nullptr,
        rounding};
    adamw_bf16(kBf16Step, 1, &one, nullptr);
  }
  adamw_bf16(kBf16Step, kCount, arrays.data(), nullptr);
  for (std::int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(p[i], p_alone[i]);
    EXPECT_EQ(wide(m[i]), wide(m_alone[i]));
    EXPECT_EQ(wide(v[i]), wide(v_alone[i]));
  }
}

}  // namespace
}  // namespace bora::cuda

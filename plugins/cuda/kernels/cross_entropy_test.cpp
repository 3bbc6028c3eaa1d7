// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "cross_entropy.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

struct Case {
  std::int64_t rows, vocab, stride;
  float scale = 1, soft_cap = 0, z_loss = 0;
  bool bias = false;
};
const Case kCases[] = {
    {1, 1, 1},
    {4, 7, 9},
    {5, 4096, 4096},
    {3, 5003, 5008, 1, 0, 1e-2F},
    {3, 50, 56, 0.5F, 0, 1e-2F, true},
    {3, 9001, 9001, 2, 3, 1e-3F, true},
    {2, 64, 64, 1, 2},
};

template <class T>
void check(const Case& c) {
  const auto x = random<T>(c.rows * c.stride, 1, 8);
  const auto bias = random<float>(c.bias ? c.vocab : 0, 2);
  List<std::int32_t> targets;
  List<float> weights;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    targets.push_back(r == 1 ? -1 : static_cast<std::int32_t>((r * 7919 + c.vocab - 1) % c.vocab));
    weights.push_back(r == 1 ? 0 : 0.25F * static_cast<float>(r + 1));
  }
  for (const bool gradient : {false, true}) {
    List<T> z;
    List<float> loss(c.rows), lse(c.rows);
    in_all_orders(
        [&] {
          z = x;
          cross_entropy<T>({c.rows,
                            c.vocab,
                            z.data(),
                            c.stride,
                            targets.data(),
                            weights.data(),
                            c.z_loss,
                            loss.data(),
                            lse.data(),
                            gradient,
                            {c.scale, c.soft_cap, pointer(bias)}},
                           nullptr);
        },
        z, loss, lse);
    List<double> want_z = wide(x), want_loss, want_lse;
    for (std::int64_t r = 0; r < c.rows; ++r) {
      double* row = want_z.data() + r * c.stride;
      double total = 0;
      for (std::int64_t i = 0; i < c.vocab; ++i) {
        row[i] = row[i] * static_cast<double>(c.scale) + (c.bias ? static_cast<double>(bias[i]) : 0);
        if (c.soft_cap > 0) row[i] = c.soft_cap * std::tanh(row[i] / static_cast<double>(c.soft_cap));
        total += std::exp(row[i]);
      }
      const double log_sum = std::log(total);
      want_lse.push_back(log_sum);
      want_loss.push_back(targets[r] < 0 ? 0 : log_sum - row[targets[r]]);
      for (std::int64_t i = 0; gradient && i < c.vocab; ++i) {
        const double p = std::exp(row[i]) / total, cap = c.soft_cap;
        const double g = weights[r] * (p * (1 + 2 * c.z_loss * log_sum) - (i == targets[r] ? 1 : 0));
        row[i] = targets[r] < 0 ? 0 : g * c.scale * (cap > 0 ? 1 - std::pow(row[i] / cap, 2) : 1);
      }
    }
    expect_close("loss", loss, want_loss, {2e-6, 4e-6});
    expect_close("lse", lse, want_lse, {2e-6, 2e-6});
    expect_close("x", z, want_z, {5e-5, gradient ? 2e-7 : 2e-6});
    for (std::int64_t r = 0; r < c.rows; ++r) {  // between rows nothing changes
      for (std::int64_t i = c.vocab; i < c.stride; ++i)
        ASSERT_EQ(to_float(z[r * c.stride + i]), to_float(x[r * c.stride + i]));
    }
  }
}

// Of a GPU with room for two rows, or for none.
template <class T, class Run>
void kept_and_not(std::int64_t vocab, const Run& run) {
  const auto before = host::shared_memory();
  const std::int64_t scratch = 256, row = vocab * static_cast<std::int64_t>(sizeof(T));
  for (const bool kept : {true, false}) {
    SCOPED_TRACE(kept ? "kept" : "read again");
    host::set_shared_memory(2 * (scratch + row) - (kept ? 0 : 1));
    run(kept);
  }
  host::set_shared_memory(before);
}

TEST(CudaCrossEntropy, AgreesWithThePlainFormula) {
  for_both_types([](auto t) {
    for (const Case& c : kCases) {
      SCOPED_TRACE(::testing::Message() << c.rows << " x " << c.vocab << ", cap " << c.soft_cap);
      kept_and_not<decltype(t)>(c.vocab, [&](bool) { check<decltype(t)>(c); });
    }
  });
}

// Rows whose target is the last element, that do not count, have no weight, have no target, and have NaN there.
template <class T>
void expect_same_bits(const Case& c, bool gradient) {
  auto x = random<T>(c.rows * c.stride, 1, 8);
  const auto bias = random<float>(c.bias ? c.vocab : 0, 2);
  const auto last = static_cast<std::int32_t>(c.vocab - 1);
  const List<std::int32_t> targets{last, -1, last / 2, last + 1, 9};
  const List<float> weights{0.5F, 1, 0, 1, 1};
  x[4 * c.stride + targets[4]] = from_float<T>(NAN);
  List<T> z, first_z;
  List<float> loss(c.rows), lse(c.rows), first_loss, first_lse;
  const auto same = [](const auto& a, const auto& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
  };
  kept_and_not<T>(c.vocab, [&](bool kept) {
    in_all_orders(
        [&] {
          z = x;
          cross_entropy<T>({c.rows,
                            c.vocab,
                            z.data(),
                            c.stride,
                            targets.data(),
                            weights.data(),
                            c.z_loss,
                            loss.data(),
                            lse.data(),
                            gradient,
                            {c.scale, c.soft_cap, pointer(bias)}},
                           nullptr);
        },
        z, loss, lse);
    if (kept) first_z = z, first_loss = loss, first_lse = lse;
    EXPECT_TRUE(same(z, first_z) && same(loss, first_loss) && same(lse, first_lse));
  });
  EXPECT_TRUE(std::isfinite(loss[0]) && loss[1] == 0 && std::isnan(loss[3]) && std::isnan(loss[4]));
}

TEST(CudaCrossEntropy, HasTheSameBitsWhetherARowIsKept) {
  const Case cases[] = {
      {5, 1003, 1008, 1, 0, 1e-2F},
      {5, 1003, 1003},
      {5, 20483, 20488, 1, 0, 1e-2F},  // more packs than are under way
      {5, 20483, 20488, 0.5F, 3, 1e-2F, true},
      {5, 4096, 4104, 2, 0, 0, true},
  };
  for_both_types([&](auto t) {
    for (const Case& c : cases) {
      SCOPED_TRACE(::testing::Message() << c.vocab << ", " << c.stride << ", cap " << c.soft_cap);
      for (const bool gradient : {false, true}) expect_same_bits<decltype(t)>(c, gradient);
    }
  });
}

// The first element changes between the passes: it is where lse is written to.
TEST(CudaCrossEntropy, ReadsARowOnceThatIsKept) {
  const std::int64_t vocab = 1000;
  kept_and_not<float>(vocab, [&](bool kept) {
    List<float> x(vocab, 0), loss(1);
    const std::int32_t target = 1;
    const float weight = 1;
    cross_entropy<float>({1, vocab, x.data(), vocab, &target, &weight, 0, loss.data(), x.data(), true, {}},
                         nullptr);
    const float mean = 1 / static_cast<float>(vocab), want = kept ? mean : 1;  // exp(lse) = vocab
    EXPECT_NEAR(x[0], want, 1e-3F * want);
    EXPECT_NEAR(x[2], mean, 1e-6F);
  });
}

// Products far from 0 overflow nothing.
TEST(CudaCrossEntropy, OfLargeLogits) {
  List<float> x{1000, 990, -1e30F, -1000}, loss(1), lse(1);
  const std::int32_t target = 1;
  const float weight = 1;
  cross_entropy<float>({1, 4, x.data(), 4, &target, &weight, 0, loss.data(), lse.data(), true, {}}, nullptr);
  EXPECT_NEAR(loss[0], 10, 1e-3);
  EXPECT_NEAR(lse[0], 1000, 1e-3);
  EXPECT_NEAR(x[1], -1, 1e-4);
  EXPECT_EQ(x[2], 0);
}

TEST(CudaCrossEntropy, ATargetBeyondTheVocabularyShows) {
  List<float> x{1, 2, 3}, loss(1), lse(1);
  const std::int32_t target = 3;
  const float weight = 1;
  cross_entropy<float>({1, 3, x.data(), 3, &target, &weight, 0, loss.data(), lse.data(), true, {}}, nullptr);
  EXPECT_TRUE(std::isnan(loss[0]));
  EXPECT_TRUE(std::isnan(x[0]));
}

}  // namespace
}  // namespace bora::cuda

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cross_entropy.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/host_view.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"

namespace bora::core {
namespace {

constexpr std::string_view kBpe[] = {"b", "p", "e"}, kVe[] = {"v", "e"}, kV[] = {"v"}, kBp[] = {"b", "p"},
                           kBpv[] = {"b", "p", "v"};
constexpr std::int64_t kBatch = 2, kPositions = 5, kEmbed = 6, kVocab = 37;

Array normal(std::uint64_t seed, Names names, std::vector<std::int64_t> sizes) {
  return random_normal(Key::from_seed(seed), {names, sizes});
}

// A head and what it is given: a row whose weight is 0, and one of other than weight 1.
struct Head {
  Array hidden = normal(1, kBpe, {kBatch, kPositions, kEmbed}), weight = normal(2, kVe, {kVocab, kEmbed}),
        bias = normal(3, kV, {kVocab}), targets, weights;
  Head() {
    std::vector<std::int32_t> t;
    std::vector<float> w;
    for (int i = 0; i < kBatch * kPositions; ++i) {
      t.push_back(i * 11 % static_cast<int>(kVocab));
      w.push_back(i == 3 ? 0.0F : i == 5 ? 2.5F : 1.0F);
    }
    t[3] = -1;
    const std::vector<std::int64_t> sizes{kBatch, kPositions};
    targets = from_data({kBp, sizes}, std::span<const std::int32_t>(t));
    weights = from_data({kBp, sizes}, std::span<const float>(w));
  }
  HeadOptions with(double scale, double cap, bool has_bias) const {
    return {.logit_scale = scale, .soft_cap = cap, .bias = has_bias ? bias : Array()};
  }
  ValueAndGrad value_and_grad(const std::function<Array()>& f) {
    return core::value_and_grad(std::vector<Array*>{&hidden, &weight, &bias}, f);
  }
};

// The sum of weighted losses from logits of the whole batch, operation by operation.
Array composed(const Head& h, const HeadOptions& options, double z_loss) {
  const Array logits = linear_logits({h.hidden, kBpe}, {h.weight, kVe}, options, kBpv);
  const Array zero = binary(Binary::multiply, {h.targets, kBp}, 0);
  const Array targets = binary(Binary::maximum, {h.targets, kBp}, {zero, kBp}, kBp);
  const Array nll = cross_entropy({logits, kBpv}, "v", {targets, kBp});
  const Array lse = reduce(Reduction::logsumexp, {logits, kBpv}, kV);
  const Array square = binary(Binary::multiply, {unary(Unary::square, {lse, kBp}), kBp}, z_loss);
  const Array loss = binary(Binary::add, {nll, kBp}, {square, kBp}, kBp);
  const Array weighted = binary(Binary::multiply, {loss, kBp}, {h.weights, kBp}, kBp);
  return reduce(Reduction::sum, {weighted, kBp}, kBp);
}

void expect_near(const Array& got, const Array& want, const std::string& what) {
  const auto a = got.to_vector<float>(), b = want.to_vector<float>();
  ASSERT_EQ(a.size(), b.size()) << what;
  float largest = 0.1F;
  for (const float x : b) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 4e-6F * largest) << what << " at " << i;
}

TEST(LinearCrossEntropy, IsTheSameAsOperationByOperation) {
  for (const double scale : {1.0, 0.25, -1.5}) {
    for (const double cap : {0.0, 2.0, 30.0}) {
      for (const bool has_bias : {false, true}) {
        Head h;
        const auto what = fmt::format("scale {}, cap {}, bias {}", scale, cap, has_bias);
        const auto fused = h.value_and_grad([&] {
          return linear_cross_entropy({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, {h.weights, kBp},
                                      {h.with(scale, cap, has_bias), 1e-2, 3})
              .loss;
        });
        const auto want = h.value_and_grad([&] { return composed(h, h.with(scale, cap, has_bias), 1e-2); });
        expect_near(fused.value, want.value, what + ": loss");
        for (std::size_t i = 0; i < 3; ++i)
          expect_near(fused.gradients[i], want.gradients[i], what + fmt::format(": gradient {}", i));
      }
    }
  }
}

// The composition above uses the same formula for the logits: here it is written once more.
TEST(LinearCrossEntropy, LogitsAreScaledThenShiftedThenCapped) {
  const Head h;
  const auto plain = linear_logits({h.hidden, kBpe}, {h.weight, kVe}, {}, kBpv).to_vector<float>();
  const auto got =
      linear_logits({h.hidden, kBpe}, {h.weight, kVe}, h.with(0.5, 3, true), kBpv).to_vector<float>();
  const auto bias = h.bias.to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], 3 * std::tanh((0.5F * plain[i] + bias[i % kVocab]) / 3), 1e-5F);
}

TEST(LinearCrossEntropy, ALossThatIsScaledScalesEveryGradient) {
  Head h;
  const auto run = [&](double by) {
    return h.value_and_grad([&] {
      const auto sums = linear_cross_entropy({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp},
                                             {h.weights, kBp}, {.head = h.with(0.5, 4, true)});
      return binary(Binary::multiply, {sums.loss, {}}, by);
    });
  };
  const auto one = run(1), three = run(3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto a = one.gradients[i].to_vector<float>(), b = three.gradients[i].to_vector<float>();
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_FLOAT_EQ(3 * a[k], b[k]);
  }
}

// log softmax of logits of the whole batch, [b, p, v].
Array log_probs(const Head& h, const HeadOptions& options) {
  return log_softmax({linear_logits({h.hidden, kBpe}, {h.weight, kVe}, options, kBpv), kBpv}, kV);
}

Array log_prob_of(const Head& h, const HeadOptions& options) {
  return linear_log_prob({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, options, 3);
}

TEST(LinearLogProb, IsLogSoftmaxOfTheTarget) {
  Head h;
  for (const auto& options : {h.with(1, 0, false), h.with(0.5, 3, true)}) {
    const auto got = log_prob_of(h, options).to_vector<float>(),
               all = log_probs(h, options).to_vector<float>();
    const auto targets = h.targets.to_vector<std::int32_t>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float want = targets[i] < 0 ? 0 : all[i * kVocab + static_cast<std::size_t>(targets[i])];
      EXPECT_NEAR(got[i], want, 1e-5);
    }
  }
}

// -log sigmoid(beta · (log p of row 0 - log p of row 1)), row 0 being the one that is preferred.
Array preference(const Array& log_prob, const Array& weights) {
  static constexpr std::string_view kP[] = {"p"}, kB[] = {"b"};
  const Array weighted = binary(Binary::multiply, {log_prob, kBp}, {weights, kBp}, kBp);
  const Array rows = reduce(Reduction::sum, {weighted, kBp}, kP);
  const std::vector<float> signs{0.1F, -0.1F};
  const std::vector<std::int64_t> two{2};
  const Array sign = from_data({kB, two}, std::span<const float>(signs));
  const Array margin = reduce(Reduction::sum, {binary(Binary::multiply, {rows, kB}, {sign, kB}, kB), kB}, kB);
  const Array e = unary(Unary::exp, {unary(Unary::negative, {margin, {}}), {}});
  return unary(Unary::log1p, {e, {}});
}

TEST(LinearLogProb, APreferenceHasTheGradientOfTheComposition) {
  for (const bool plain : {true, false}) {
    Head h;
    const auto options = [&] { return plain ? HeadOptions() : h.with(0.5, 3, true); };
    const auto got = h.value_and_grad([&] { return preference(log_prob_of(h, options()), h.weights); });
    const auto want = h.value_and_grad([&] {
      const Array logits = linear_logits({h.hidden, kBpe}, {h.weight, kVe}, options(), kBpv);
      const Array zero = binary(Binary::multiply, {h.targets, kBp}, 0);
      const Array targets = binary(Binary::maximum, {h.targets, kBp}, {zero, kBp}, kBp);
      const Array nll = cross_entropy({logits, kBpv}, "v", {targets, kBp});
      return preference(unary(Unary::negative, {nll, kBp}), h.weights);
    });
    expect_near(got.value, want.value, "value");
    for (std::size_t i = 0; i < 3; ++i)
      expect_near(got.gradients[i], want.gradients[i], fmt::format("gradient {}", i));
  }
}

TEST(LinearScores, RanksAndMostProbableTokens) {
  Head h;
  {
    const HostView weight(h.weight,
                          HostView::Use::update);  // tokens 4 and 30 are the same: they tie everywhere
    auto* row = weight.floats().data();
    std::copy(row + 4 * kEmbed, row + 5 * kEmbed, row + 30 * kEmbed);
  }
  auto targets = h.targets.to_vector<std::int32_t>();
  targets[0] = 4;
  targets[1] = 30;
  h.targets = from_data({kBp, h.targets.sizes()}, std::span<const std::int32_t>(targets));
  const auto options = h.with(0.5, 3, false);
  const auto got = linear_scores({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp},
                                 {.head = options, .chunk = 3, .rank = true, .top = 7});
  EXPECT_EQ(got.top_ids.sizes(), (std::vector<std::int64_t>{kBatch, kPositions, 7}));
  EXPECT_EQ(got.log_prob.to_vector<float>(), log_prob_of(h, options).to_vector<float>());
  const auto all = log_probs(h, options).to_vector<float>();
  const auto ranks = got.rank.to_vector<std::int32_t>(), ids = got.top_ids.to_vector<std::int32_t>();
  const auto probs = got.top_log_prob.to_vector<float>();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const float* p = all.data() + i * kVocab;
    std::vector<std::int32_t> order(kVocab);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
    const auto place = std::find(order.begin(), order.end(), targets[i]) - order.begin();
    EXPECT_EQ(ranks[i], targets[i] < 0 ? -1 : place) << i;
    for (std::size_t k = 0; k < 7; ++k) {
      EXPECT_EQ(ids[i * 7 + k], order[k]) << i;
      EXPECT_NEAR(probs[i * 7 + k], p[order[k]], 1e-5);
    }
  }
  const auto plain = linear_scores({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, {.head = options});
  EXPECT_TRUE(plain.rank.empty() && plain.top_ids.empty() && plain.top_log_prob.empty());
}

TEST(LinearScores, PlainOpsAgree) {
  Head h;
  const auto options = h.with(0.5, 3, false);
  const ScoreOptions all{.head = options, .rank = true, .top = 3};
  const auto scores = [&] { return linear_scores({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, all); };
  const auto got = scores();
  const PlainOpsScope plain;
  const auto want = scores();
  EXPECT_EQ(got.rank.to_vector<std::int32_t>(), want.rank.to_vector<std::int32_t>());
  EXPECT_EQ(got.top_ids.to_vector<std::int32_t>(), want.top_ids.to_vector<std::int32_t>());
  const auto near = [](const Array& x, const Array& y) {
    const auto a = x.to_vector<float>(), b = y.to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5F);
  };
  near(got.log_prob, want.log_prob);
  near(got.top_log_prob, want.top_log_prob);
  near(linear_log_prob({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, options, 1024), got.log_prob);
}

std::string error_of_scores(std::int32_t target, std::int64_t top) {
  const Head h;
  auto targets = h.targets.to_vector<std::int32_t>();
  targets[2] = target;
  const Array changed = from_data({kBp, h.targets.sizes()}, std::span<const std::int32_t>(targets));
  try {
    linear_scores({h.hidden, kBpe}, {h.weight, kVe}, {changed, kBp}, {.top = top});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(LinearScores, NumbersOfTokensThatCannotBe) {
  EXPECT_EQ(error_of_scores(0, 38), "linear_scores: the 38 most probable of 37 tokens");
  EXPECT_EQ(error_of_scores(0, -1), "linear_scores: the -1 most probable of 37 tokens");
  EXPECT_EQ(error_of_scores(0, 37), "no error");
}

TEST(LinearScores, TargetsOutsideTheVocabulary) {
  EXPECT_EQ(error_of_scores(37, 0),
            "linear_scores: target 37 at position 2 is outside the vocabulary of 37\nhint: the "
            "tokenizer and the model disagree on vocab_size");
}

std::string refusal_of_options(const HeadOptions& options) {
  const Head h;
  try {
    linear_cross_entropy({h.hidden, kBpe}, {h.weight, kVe}, {h.targets, kBp}, {h.weights, kBp},
                         {.head = options});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(CrossEntropy, PositionsOfAHeadTogether) {
  const auto there = Device::Type::cuda;
  EXPECT_EQ(head_chunk(Device::Type::cpu, DType::bf16, 50257), 1024);
  EXPECT_EQ(head_chunk(there, DType::bf16, 256), 8192);
  EXPECT_EQ(head_chunk(there, DType::bf16, 50257), 8192);
  EXPECT_EQ(head_chunk(there, DType::f32, 50257), 5120);
  EXPECT_EQ(head_chunk(there, DType::bf16, 151936), 3328);
  EXPECT_EQ(head_chunk(there, DType::f32, 1 << 20), 1024);
  EXPECT_EQ(head_chunk(there, DType::f32, 0), 8192);
}

// A chunk of 0 never ended, numbers as targets lost their fractions.
TEST(LinearCrossEntropy, ChunksAndTargetsThatCannotBe) {
  const Head h;
  const auto refusal = [&](const Array& targets, std::int64_t chunk, double z_loss = 0) -> std::string {
    try {
      linear_cross_entropy({h.hidden, kBpe}, {h.weight, kVe}, {targets, kBp}, {h.weights, kBp},
                           {.z_loss = z_loss, .chunk = chunk});
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  for (const std::int64_t chunk : {0, -1}) {
    EXPECT_EQ(refusal(h.targets, chunk),
              fmt::format(
                  "linear_cross_entropy: chunk is {}; it must be at least 1: how many positions are computed "
                  "together",
                  chunk));
  }
  EXPECT_EQ(refusal(h.targets, 8, -0.5),
            "linear_cross_entropy: z_loss is -0.5; it must be at least 0 and finite");
  EXPECT_EQ(
      refusal(cast({h.targets, kBp}, DType::f32), 8),
      "linear_cross_entropy: the targets [b=2, p=5] hold f32, but they are ids: i32\nhint: cast them to i32");
}

TEST(LinearCrossEntropy, HeadOptionsThatCannotBe) {
  EXPECT_EQ(refusal_of_options({.logit_scale = 0}),
            "linear_cross_entropy: the head's logit_scale is 0; it must be finite and not 0");
  EXPECT_EQ(refusal_of_options({.soft_cap = -1}),
            "linear_cross_entropy: the head's soft_cap is -1; it must be above 0, or 0 for none");
  EXPECT_EQ(refusal_of_options({.soft_cap = std::numeric_limits<double>::infinity()}),
            "linear_cross_entropy: the head's soft_cap is inf; it must be above 0, or 0 for none");
  EXPECT_EQ(refusal_of_options({.bias = normal(1, kV, {5})}),
            "linear_cross_entropy: axis v is 37 in [v=37, e=6] but 5 in [v=5]\nhint: one name has one size; "
            "rename one of the two axes if they are different things");
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention by libtorch's ops of FlashAttention (core/autograd/flash_attention.h): against plain ops and the CPU, what
// it is not asked for, and its memory. The device of the tests has them after their description and is counted; a GPU
// (TEST_DEVICE=cuda) has them itself.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "bora/core/attention.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/device_kernels.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "fake_device.h"

namespace bora::core {
namespace {

constexpr Device kCpu{};
const Device kFlash = default_device();
const bool kCounted = kFlash.type == Device::Type::test;
using FlashNames = std::vector<std::string_view>;

Array made_there(std::uint64_t seed, const FlashNames& names, const std::vector<std::int64_t>& sizes,
                 DType type, Device device) {
  return to(cast({random_normal(Key::from_seed(seed), {names, sizes}), names}, type), device);
}

struct FlashCase {
  std::string_view name;
  AttentionRule rule = {};
  std::vector<std::int32_t> segments = {};
  std::int64_t queries = 6, head_dim = 8, keys = 6;
  std::optional<DType> type = {};
  bool with_sinks = false, with_slopes = false, known = true, again = false;
};

const FlashNames kOfQ{"b", "t", "h", "g", "d"}, kOfK{"b", "s", "h", "d"}, kOfRows{"b", "t"};

// The results, then the gradients of q, k and v.
std::vector<float> flash_results(const FlashCase& c, Device device, DType type) {
  const DeviceScope there(device);
  Array q = made_there(1, kOfQ, {2, c.queries, 2, 3, c.head_dim}, type, device),
        k = made_there(2, kOfK, {2, c.keys, 2, c.head_dim}, type, device),
        v = made_there(3, kOfK, {2, c.keys, 2, c.head_dim}, type, device);
  AttentionRule rule = c.rule;
  if (!c.segments.empty()) {
    const std::vector<std::int64_t> sizes{2, c.keys};
    const std::span<const std::int32_t> which(c.segments);
    rule.query_segments = rule.key_segments =
        c.known ? from_segments({kOfRows, sizes}, which) : from_data({kOfRows, sizes}, which);
    rule.segment_names = {"b", "t"};
  }
  const FlashNames heads{"h", "g"};
  if (c.with_sinks) rule.sinks = made_there(4, heads, {2, 3}, type, device);
  if (c.with_slopes) rule.slopes = made_there(5, heads, {2, 3}, DType::f32, device);
  rule.sink_names = rule.slope_names = {"h", "g"};
  const auto attend = [&](const Array& one, const Array& two, const Array& three) {
    return attention({one, kOfQ}, {two, kOfK}, {three, kOfK}, {"t", "s", "d"}, rule);
  };
  Array out;
  const std::vector<Array*> parameters{&q, &k, &v};
  const auto result = value_and_grad(parameters, [&] {
    if (c.again) {
      const std::vector<Array> all{q, k, v};
      out = checkpoint(
          [&](std::span<const Array> in) { return std::vector<Array>{attend(in[0], in[1], in[2])}; }, all)[0];
    } else {
      out = attend(q, k, v);
    }
    const Array wide = cast({out, kOfQ}, DType::f32);
    return reduce(Reduction::sum, {unary(Unary::square, {wide, kOfQ}), kOfQ}, kOfQ);
  });
  std::vector<float> numbers;
  const auto append = [&](const Array& x, const FlashNames& names) {
    const auto more = cast({x, names}, DType::f32).to_vector<float>();
    numbers.insert(numbers.end(), more.begin(), more.end());
  };
  append(out, kOfQ);
  append(result.gradients[0], kOfQ);
  append(result.gradients[1], kOfK);
  append(result.gradients[2], kOfK);
  return numbers;
}

void expect_within_rounding(const std::vector<float>& got, const std::vector<float>& want, float near) {
  ASSERT_EQ(got.size(), want.size());
  float most = 0;
  for (const float x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], near * most) << i;
}

// -1 where nothing is counted.
std::int64_t times(const std::string& name) {
  if (!kCounted) return -1;
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}
const std::string kForward = "aten::_flash_attention_forward", kBackward = "aten::_flash_attention_backward";

TEST(FlashAttention, AsPlainOps) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  const FlashCase cases[] = {
      {.name = "causal"},
      {.name = "scaled", .rule = {.scale = 0.7}},
      {.name = "all keys", .rule = {.causal = false}},
      {.name = "window", .rule = {.window = 2}},
      {.name = "window of all", .rule = {.causal = false, .window = 3}},
      {.name = "window beyond the row", .rule = {.window = 100}},
      {.name = "documents", .segments = {0, 0, 1, 1, 1, -1, 4, 4, 4, 4, 3, 3}},
      {.name = "documents in a window",
       .rule = {.window = 2},
       .segments = {0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2}},
      {.name = "documents, all their keys",
       .rule = {.causal = false},
       .segments = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}},
      {.name = "a document in each row", .segments = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}},
      {.name = "last queries", .rule = {.offset = 3}, .queries = 3},
      {.name = "queries before the last keys", .rule = {.offset = 1, .window = 2}, .queries = 3},
      {.name = "one query", .rule = {.offset = 5}, .queries = 1},
      {.name = "large heads", .head_dim = 256},
      {.name = "computed again", .segments = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, .again = true}};
  for (const auto& c : cases) {
    for (const auto type : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(std::string(c.name) + " in " + std::string(name(type)));
      fake_device::reset();
      const auto got = flash_results(c, kFlash, type);
      if (kCounted) {
        EXPECT_EQ(times(kForward), c.again ? 2 : 1);
        EXPECT_EQ(times(kBackward), 1);
        EXPECT_EQ(fake_device::counts().synchronizations, 4) << "for the four results";
      }
      EXPECT_EQ(flash_results(c, kFlash, type), got) << "the same bits again";
      EXPECT_LE(times("attention.forward"), 0);
      EXPECT_LE(times("aten::_softmax"), 0);
      std::vector<float> plain;
      {
        const PlainOpsScope scope;
        plain = flash_results(c, kFlash, type);
      }
      EXPECT_LE(times(kForward), c.again ? 4 : 2) << "none in a scope of plain ops";
      const float near = kCounted ? 0.01F : 0.02F;  // a GPU rounds in between
      expect_within_rounding(got, plain, near);
      expect_within_rounding(got, flash_results(c, kCpu, type), near);
    }
  }
}

// Of many blocks of a GPU, whose sums would come in any order.
TEST(FlashAttention, OfLongRowsHasTheSameBits) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  FlashCase c{.name = "long", .queries = 400, .head_dim = 64, .keys = 400};
  for (const bool documents : {false, true}) {
    for (int i = 0; documents && i < 800; ++i) c.segments.push_back(i % 400 / 150);
    const auto got = flash_results(c, kFlash, DType::bf16);
    EXPECT_EQ(flash_results(c, kFlash, DType::bf16), got);
    expect_within_rounding(got, flash_results(c, kCpu, DType::bf16), 0.02F);
  }
}

// What the op does not have is made of plain operations, and a line says so, once.
TEST(FlashAttention, SaysWhatItDoesNotHave) {
  struct Refused {
    FlashCase what;
    std::string reason;
  };
  const std::vector<std::int32_t> two{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1},
      back{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  const Refused cases[] = {
      {{.name = "capped", .rule = {.soft_cap = 2}}, "a soft cap"},
      {{.name = "sinks", .with_sinks = true}, "sinks"},
      {{.name = "slopes", .with_slopes = true}, "slopes (ALiBi)"},
      {{.name = "fp32", .type = DType::f32}, "neither bf16 nor fp16"},
      {{.name = "a head of 12", .head_dim = 12}, "heads of a size that is no multiple of 8, or above 256"},
      {{.name = "a head of 264", .head_dim = 264}, ""},
      {{.name = "a segment comes again", .segments = back},
       "segments that are not known beforehand, or not whole"},
      {{.name = "segments of the device", .segments = two, .known = false}, ""},
      {{.name = "behind all keys", .rule = {.offset = 4}, .queries = 3},
       "queries that do not stand at the last keys"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what.name);
    const auto type = c.what.type.value_or(DType::bf16);
    const fake_device::AttentionBy flash(fake_device::Attention::flash);
    fake_device::reset();
    testing::internal::CaptureStderr();
    const auto got = flash_results(c.what, kFlash, type);
    flash_results(c.what, kFlash, type);
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, c.reason.empty()
                        ? ""
                        : "bora: attention of plain operations on " + name(kFlash) + " (" + c.reason +
                              "): slower, and its memory grows with the square of the length\n");
    EXPECT_LE(times(kForward), 0);
    expect_within_rounding(got, flash_results(c.what, kCpu, type), 0.02F);
  }
}

TEST(FlashAttention, OfALibraryWithoutIt) {
  if (!kCounted) GTEST_SKIP() << "a GPU's libtorch has it";
  const fake_device::AttentionBy plain(fake_device::Attention::plain);
  fake_device::reset();
  testing::internal::CaptureStderr();
  flash_results({.name = "causal"}, kFlash, DType::bf16);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("(no such op in this libtorch)"));
  EXPECT_EQ(times(kForward), 0);
  EXPECT_GT(times("aten::_softmax"), 0);
}

// The backward pass alone asks for a fixed order, whatever the process has asked for, and leaves that as it was. The
// device refuses one without.
TEST(FlashAttention, LeavesTheSettingsOfTheProcess) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  auto& context = at::globalContext();
  const bool before = context.deterministicAlgorithms();
  for (const bool on : {false, true}) {
    for (const bool warns : {false, true}) {
      context.setDeterministicAlgorithms(on, warns);
      fake_device::reset();
      flash_results({.name = "causal"}, kFlash, DType::bf16);
      EXPECT_EQ(times(kBackward), kCounted ? 1 : -1);
      EXPECT_EQ(context.deterministicAlgorithms(), on);
      EXPECT_EQ(context.deterministicAlgorithmsWarnOnly(), warns);
    }
  }
  context.setDeterministicAlgorithms(before, false);
}

// Bytes beyond what is there before, at most, of a pass forward and backward over a row of `n`.
double bytes_of_a_row(std::int64_t n) {
  const FlashNames of_q{"t", "d"}, of_k{"s", "d"};
  Array q = made_there(1, of_q, {n, 8}, DType::bf16, kFlash),
        k = made_there(2, of_k, {n, 8}, DType::bf16, kFlash),
        v = made_there(3, of_k, {n, 8}, DType::bf16, kFlash);
  const std::vector<Array*> parameters{&q, &k, &v};
  fake_device::count_memory_anew();
  const auto before = device_memory(kFlash).live;
  (void)value_and_grad(parameters, [&] {
    const Array out = attention({q, of_q}, {k, of_k}, {v, of_k}, {"t", "s", "d"}, {});
    return reduce(Reduction::sum, {cast({out, of_q}, DType::f32), of_q}, of_q);
  });
  return static_cast<double>(device_memory(kFlash).peak - before);
}

TEST(FlashAttention, TakesMemoryByTheLength) {
  if (!kCounted) GTEST_SKIP() << "what a GPU takes is told by the part `memory` of scripts/on_gpu.sh";
  double flash = 0, plain = 0;
  {
    const fake_device::AttentionBy how(fake_device::Attention::flash);
    flash = bytes_of_a_row(1024) / bytes_of_a_row(256);
  }
  {
    const fake_device::AttentionBy how(fake_device::Attention::plain);
    plain = bytes_of_a_row(1024) / bytes_of_a_row(256);
  }
  EXPECT_LT(flash, 4.2);
  EXPECT_GT(plain, 10);
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention by libtorch's ops of FlashAttention (core/autograd/flash_attention.h): against plain ops and the CPU, what
// it is not asked for, and its memory. The device of the tests has them after their description and is counted; a GPU
// (TEST_DEVICE=cuda) has them itself.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_case.h"
#include "bora/core/device_kernels.h"
#include "bora/core/plain_ops.h"

namespace bora::core {
namespace {

const std::string kForward = "aten::_flash_attention_forward", kBackward = "aten::_flash_attention_backward";

TEST(FlashAttention, AsPlainOps) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  for (const auto& c : cases_in_one_pass())
    for (const auto type : {DType::bf16, DType::f16}) expect_as_plain_ops(c, type, kForward, kBackward);
}

// Of many blocks of a GPU, whose sums would come in any order.
TEST(FlashAttention, OfLongRowsHasTheSameBits) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  AttentionCase c{.name = "long", .queries = 400, .head_dim = 64, .keys = 400};
  for (const bool documents : {false, true}) {
    for (int i = 0; documents && i < 800; ++i) c.segments.push_back(i % 400 / 150);
    const auto got = results_of(c, kThere, DType::bf16);
    EXPECT_EQ(results_of(c, kThere, DType::bf16), got);
    expect_within_rounding(got, results_of(c, kCpu, DType::bf16), 0.02F);
  }
}

// What the op does not have is made of plain operations, and a line says so, once.
TEST(FlashAttention, SaysWhatItDoesNotHave) {
  struct Refused {
    AttentionCase what;
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
    const auto got = results_of(c.what, kThere, type);
    results_of(c.what, kThere, type);
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, c.reason.empty()
                        ? ""
                        : "bora: attention of plain operations on " + name(kThere) + " (" + c.reason +
                              "): slower, and its memory grows with the square of the length\n");
    EXPECT_LE(times(kForward), 0);
    expect_within_rounding(got, results_of(c.what, kCpu, type), 0.02F);
  }
}

TEST(FlashAttention, OfALibraryWithoutIt) {
  if (!kCounted) GTEST_SKIP() << "a GPU's libtorch has it";
  const fake_device::AttentionBy plain(fake_device::Attention::plain);
  fake_device::reset();
  testing::internal::CaptureStderr();
  results_of({.name = "causal"}, kThere, DType::bf16);
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
      results_of({.name = "causal"}, kThere, DType::bf16);
      EXPECT_EQ(times(kBackward), kCounted ? 1 : -1);
      EXPECT_EQ(context.deterministicAlgorithms(), on);
      EXPECT_EQ(context.deterministicAlgorithmsWarnOnly(), warns);
    }
  }
  context.setDeterministicAlgorithms(before, false);
}

// Bytes beyond what is there before, at most, of a pass forward and backward over a row of `n`.
double bytes_of_a_row(std::int64_t n) {
  const HeadNames of_q{"t", "d"}, of_k{"s", "d"};
  Array q = made_there(1, of_q, {n, 8}, DType::bf16, kThere),
        k = made_there(2, of_k, {n, 8}, DType::bf16, kThere),
        v = made_there(3, of_k, {n, 8}, DType::bf16, kThere);
  const std::vector<Array*> parameters{&q, &k, &v};
  count_memory_anew(kThere);
  const auto before = device_memory(kThere).live;
  (void)value_and_grad(parameters, [&] {
    const Array out = attention({q, of_q}, {k, of_k}, {v, of_k}, {"t", "s", "d"}, {});
    return reduce(Reduction::sum, {cast({out, of_q}, DType::f32), of_q}, of_q);
  });
  return static_cast<double>(device_memory(kThere).peak - before);
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

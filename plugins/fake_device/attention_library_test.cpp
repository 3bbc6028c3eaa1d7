// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention by a library of its own (core/attention_library.h), as cuDNN: against plain ops, FlashAttention and the CPU,
// what it is not asked for, and what the choice among all three says. On a GPU (TEST_DEVICE=cuda) it is cuDNN itself.
#include "bora/core/attention_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attention_case.h"
#include "bora/core/runtime.h"
#include "bora/core/shape.h"

namespace bora::core {
namespace {

using fake_device::Attention;
using fake_device::AttentionBy;

const std::string kLibraryForward = "library.forward", kLibraryBackward = "library.backward";
const std::string kFlashForward = "aten::_flash_attention_forward";

// Why there is nothing to test on a GPU.
std::string why_no_library_there() {
  const auto& library = attention_library(kThere.type);
  if (library.name.empty()) return "no library";
  return library.why_not.empty() ? "" : library.name + ": " + library.why_not;
}

class LibraryAttention : public testing::Test {
 protected:
  void SetUp() override {
    by.emplace(Attention::library);
    if (const auto why = why_no_library_there(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override { fake_device::refuse_attention("", true); }
  std::optional<AttentionBy> by;
};

TEST_F(LibraryAttention, AsPlainOps) {
  for (const auto& c : cases_in_one_pass())
    expect_as_plain_ops(c, DType::bf16, kLibraryForward, kLibraryBackward);
}

TEST_F(LibraryAttention, AsFlashAttention) {
  for (const auto& c : cases_in_one_pass()) {
    SCOPED_TRACE(c.name);
    by.emplace(Attention::library);
    const auto got = results_of(c, kThere, DType::bf16);
    by.emplace(Attention::flash);
    fake_device::reset();
    const auto flash = results_of(c, kThere, DType::bf16);
    EXPECT_LE(times(kLibraryForward), 0);
    EXPECT_EQ(times(kFlashForward), kCounted ? (c.again ? 2 : 1) : -1);
    expect_within_rounding(got, flash, kCounted ? 0.01F : 0.02F);
  }
}

TEST_F(LibraryAttention, OfLongRowsHasTheSameBits) {
  AttentionCase c{.name = "long", .queries = 400, .head_dim = 64, .keys = 400};
  for (const bool documents : {false, true}) {
    for (int i = 0; documents && i < 800; ++i) c.segments.push_back(i % 400 / 150);
    const auto got = results_of(c, kThere, DType::bf16);
    EXPECT_EQ(results_of(c, kThere, DType::bf16), got);
    expect_within_rounding(got, results_of(c, kCpu, DType::bf16), 0.02F);
  }
}

// Queries, keys and values are pieces of one product, and are read where they lie; or in another order of axes, which is
// put right before.
TEST_F(LibraryAttention, ReadsHeadsWhereTheyLie) {
  const HeadNames apart{"t", "x", "b", "d"}, together{"b", "t", "x", "d"};
  for (const auto& names : {together, apart}) {
    const auto results = [&](Device device) {
      const DeviceScope there(device);
      std::vector<std::int64_t> sizes;
      for (const auto name : names) sizes.push_back(name == "b" ? 2 : name == "t" ? 6 : name == "x" ? 12 : 8);
      Array x = made_there(1, names, sizes, DType::bf16, device);
      const std::vector<Array*> parameters{&x};
      const auto result = value_and_grad(parameters, [&] {
        auto in_queries = names, in_keys = names;
        std::replace(in_queries.begin(), in_queries.end(), std::string_view("x"), std::string_view("h"));
        std::replace(in_keys.begin(), in_keys.end(), std::string_view("t"), std::string_view("s"));
        std::replace(in_keys.begin(), in_keys.end(), std::string_view("x"), std::string_view("h"));
        const std::vector<std::int64_t> pieces{4, 4, 4};
        const auto qkv = split({x, names}, "x", pieces);
        const Array out =
            attention({qkv[0], in_queries}, {qkv[1], in_keys}, {qkv[2], in_keys}, {"t", "s", "d"}, {});
        const Array wide = cast({out, in_queries}, DType::f32);
        return reduce(Reduction::sum, {unary(Unary::square, {wide, in_queries}), in_queries}, in_queries);
      });
      return cast({result.gradients[0], names}, DType::f32).to_vector<float>();
    };
    fake_device::reset();
    const auto got = results(kThere);
    EXPECT_EQ(times(kLibraryForward), kCounted ? 1 : -1);
    expect_within_rounding(got, results(kCpu), kCounted ? 0.01F : 0.02F);
  }
}

// What the library does not have goes to FlashAttention, and what that does not have to plain operations. A line says
// what was passed over and why, once.
TEST_F(LibraryAttention, SaysWhatItDoesNotHave) {
  const std::string library = attention_library(kThere.type).name, device = name(kThere),
                    slow = ": slower, and its memory grows with the square of the length\n";
  struct Refused {
    AttentionCase what;
    std::string said;
    bool flash = false;
  };
  const Refused cases[] = {
      {{.name = "fp16", .type = DType::f16},
       "bora: attention by FlashAttention on " + device + " (" + library + ": fp16)\n",
       true},
      {{.name = "scaled fp16", .rule = {.scale = 0.5}, .type = DType::f16}, "", true},
      {{.name = "fp32", .type = DType::f32},
       "bora: attention of plain operations on " + device + " (neither bf16 nor fp16)" + slow},
      {{.name = "capped", .rule = {.soft_cap = 2}},
       "bora: attention of plain operations on " + device + " (a soft cap)" + slow},
      {{.name = "sinks", .with_sinks = true},
       "bora: attention of plain operations on " + device + " (sinks)" + slow}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what.name);
    const auto type = c.what.type.value_or(DType::bf16);
    fake_device::reset();
    testing::internal::CaptureStderr();
    const auto got = results_of(c.what, kThere, type);
    results_of(c.what, kThere, type);
    const auto said = testing::internal::GetCapturedStderr();
    if (c.flash)
      EXPECT_EQ(said, c.said);
    else
      EXPECT_THAT(said, testing::AnyOf("", c.said)) << "the tests of FlashAttention may have had it said";
    EXPECT_LE(times(kLibraryForward), 0);
    EXPECT_EQ(times(kFlashForward), !kCounted ? -1 : c.flash ? 2 : 0);
    expect_within_rounding(got, results_of(c.what, kCpu, type), 0.02F);
  }
}

// A library that refuses a plan, or computes nothing here: too old, not built.
TEST_F(LibraryAttention, ThatRefusesIsPassedOver) {
  if (!kCounted) GTEST_SKIP() << "cuDNN refuses what it likes";
  for (const bool all : {false, true}) {
    const std::string why = all ? "it is 0.9, and this program needs 1.0 or newer" : "heads of 8";
    fake_device::refuse_attention(why, all);
    fake_device::reset();
    testing::internal::CaptureStderr();
    const auto got = results_of({.name = "causal"}, kThere, DType::bf16);
    results_of({.name = "causal"}, kThere, DType::bf16);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "bora: attention by FlashAttention on test (library of the tests 1.0: " + why + ")\n");
    EXPECT_EQ(times(kLibraryForward), 0);
    EXPECT_EQ(times(kFlashForward), 2);
    expect_within_rounding(got, results_of({.name = "causal"}, kCpu, DType::bf16), 0.01F);
  }
  fake_device::refuse_attention("heads of 8", false);
  testing::internal::CaptureStderr();
  results_of({.name = "a head of 12", .head_dim = 12}, kThere, DType::bf16);
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::AnyOf("", testing::HasSubstr("(heads of a size that is no multiple of 8, or above 256)")));
}

// Prompts come in any length, and each would take a plan.
TEST_F(LibraryAttention, IsForTrainingAlone) {
  const DeviceScope there(kThere);
  const Array q = made_there(1, kOfQ, {2, 6, 2, 3, 8}, DType::bf16, kThere),
              k = made_there(2, kOfK, {2, 6, 2, 8}, DType::bf16, kThere);
  fake_device::reset();
  testing::internal::CaptureStderr();
  attention({q, kOfQ}, {k, kOfK}, {k, kOfK}, {"t", "s", "d"}, {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_LE(times(kLibraryForward), 0);
  EXPECT_EQ(times(kFlashForward), kCounted ? 1 : -1);
}

// One question in a call, also where the block is computed again; none in the backward pass.
TEST_F(LibraryAttention, IsAskedOnceInACall) {
  if (!kCounted) GTEST_SKIP() << "cuDNN does not count";
  for (const auto& c : cases_in_one_pass()) {
    SCOPED_TRACE(c.name);
    fake_device::reset();
    results_of(c, kThere, DType::bf16);
    EXPECT_EQ(times("library.ready"), times(kLibraryForward));
    EXPECT_GT(times("library.ready"), 0);
  }
}

// Its bits are not FlashAttention's: a resume with the other one says so.
TEST_F(LibraryAttention, StandsInTheArithmetic) {
  const auto words = [] { return runtime_info().arithmetic; };
  EXPECT_THAT(words(), testing::EndsWith(", attention by " + attention_library(kThere.type).name + ")"));
  by.emplace(Attention::flash);
  EXPECT_THAT(words(), testing::Not(testing::HasSubstr("attention")));
  if (!kCounted) return;
  by.emplace(Attention::library);
  fake_device::refuse_attention("too old", true);
  EXPECT_THAT(words(), testing::Not(testing::HasSubstr("attention")));
}

}  // namespace
}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/mxfp4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "bora/base/json.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;

struct Tensor {
  std::string name, type;
  Sizes shape;
  std::vector<std::uint8_t> bytes;
};

// A safetensors file, byte by byte.
void write(const std::string& path, const std::vector<Tensor>& tensors) {
  Json header;
  std::string data;
  for (const auto& t : tensors) {
    const auto begin = data.size();
    data.append(t.bytes.begin(), t.bytes.end());
    header[t.name] = {{"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const auto text = header.dump();
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) size[i] = static_cast<char>(text.size() >> (8 * i));
  write_atomically(path, size + text + data);
}

// One expert of two rows and one group: 16 bytes count up from 0x10 · row, so that row 0 has the values of 0 to 15 in
// its low bits and 0 in its high ones, row 1 the same with 0.5.
std::vector<std::uint8_t> counting() {
  std::vector<std::uint8_t> out;
  for (std::uint8_t i = 0; i < 32; ++i) out.push_back(i);
  return out;
}

class Mxfp4 : public ::testing::Test {
 protected:
  std::string with(const std::vector<Tensor>& tensors) const {
    write(folder_ / "model.safetensors", tensors);
    return folder_.path();
  }
  std::string error_of(const std::vector<Tensor>& tensors) const {
    try {
      const auto model = open_stored_tensors(with(tensors));
      for (const auto& name : model->names()) (void)model->floats(name);
      return "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
  }
  test::Folder folder_;
};

TEST_F(Mxfp4, BlocksAndScalesAreOneTensorOfFloats) {
  const auto model = open_stored_tensors(with({{"x.up_blocks", "U8", {1, 2, 1, 16}, counting()},
                                               {"x.up_scales", "U8", {1, 2, 1}, {127, 129}},
                                               {"x.up_bias", "F32", {1}, {0, 0, 128, 63}}}));
  EXPECT_EQ(model->names(), (std::vector<std::string>{"x.up", "x.up_bias"}));
  const auto info = model->find("x.up");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->shape, (Sizes{1, 32, 2}));
  EXPECT_EQ(info->type, "MXFP4");
  EXPECT_EQ(info->file, folder_ / "model.safetensors");
  EXPECT_EQ(model->floats("x.up_bias"), std::vector<float>{1});
  const auto got = model->floats("x.up");
  const float low[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.F, -0.5, -1, -1.5, -2, -3, -4, -6};
  ASSERT_EQ(got.size(), 64U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(got[4 * i], low[i]) << i;
    EXPECT_EQ(std::signbit(got[4 * i]), std::signbit(low[i])) << i;
    EXPECT_EQ(got[4 * i + 1], 4 * low[i]) << "times 2 to the power of 129 - 127";
    EXPECT_EQ(got[4 * i + 2], 0) << "the high bits come second";
    EXPECT_EQ(got[4 * i + 3], 2);
  }
}

// Places, rows and groups each where they belong: the first number of every block is 1, and scales tell them apart.
TEST_F(Mxfp4, EveryBlockHasItsScale) {
  std::vector<std::uint8_t> blocks(std::size_t{2 * 3 * 2 * 16});
  for (std::size_t b = 0; b < 12; ++b) blocks[16 * b] = 0x02;
  std::vector<std::uint8_t> scales;
  for (std::uint8_t b = 0; b < 12; ++b) scales.push_back(static_cast<std::uint8_t>(120 + b));
  const auto model = open_stored_tensors(
      with({{"w_blocks", "U8", {2, 3, 2, 16}, blocks}, {"w_scales", "U8", {2, 3, 2}, scales}}));
  EXPECT_EQ(model->find("w")->shape, (Sizes{2, 64, 3}));
  const auto got = model->floats("w");
  for (std::size_t place = 0; place < 2; ++place)
    for (std::size_t in = 0; in < 64; ++in)
      for (std::size_t row = 0; row < 3; ++row) {
        const auto block = (place * 3 + row) * 2 + in / 32;
        const float want = in % 32 == 0 ? std::ldexp(1.F, static_cast<int>(block) - 7) : 0;
        EXPECT_EQ(got[(place * 64 + in) * 3 + row], want) << place << ", " << in << ", " << row;
      }
}

TEST_F(Mxfp4, TheSmallestAndTheLargestScale) {
  auto bytes = counting();
  const auto model = open_stored_tensors(
      with({{"w_blocks", "U8", {1, 2, 1, 16}, bytes}, {"w_scales", "U8", {1, 2, 1}, {0, 252}}}));
  const auto got = model->floats("w");
  EXPECT_EQ(got[4], std::ldexp(0.5F, -127));
  EXPECT_EQ(got[4 * 7 + 1], std::ldexp(6.F, 125));
}

// Both halves of a gated MLP out of one tensor in MXFP4.
TEST_F(Mxfp4, FillsTheColumnsOfParameters) {
  const auto from =
      with({{"up_blocks", "U8", {1, 2, 1, 16}, counting()}, {"up_scales", "U8", {1, 2, 1}, {127, 127}}});
  static constexpr std::string_view kNames[] = {"expert", "out", "in"};
  const std::array<std::int64_t, 3> sizes{1, 1, 32};
  std::array<core::Array, 2> halves{core::zeros({kNames, sizes}), core::zeros({kNames, sizes})};
  std::vector<HfParameter> parameters;
  for (std::size_t i = 0; i < 2; ++i) {
    core::Parameter p{.id = i, .path = i == 0 ? "gate" : "up"};
    p.axes.assign(std::begin(kNames), std::end(kNames));
    p.inputs = {"in"};
    p.array = &halves[i];
    for (const auto& piece : hf_pieces(p, i == 0 ? "up[::2]" : "up[1::2]", false))
      parameters.push_back(piece);
  }
  load_hugging_face(from, parameters);
  EXPECT_EQ(halves[0].to_vector<float>()[2 * 7], 6);
  EXPECT_EQ(halves[0].to_vector<float>()[1], 0);
  EXPECT_EQ(halves[1].to_vector<float>()[2 * 7], 6);
  EXPECT_EQ(halves[1].to_vector<float>()[1], 0.5);
}

TEST_F(Mxfp4, WhatDoesNotFitIsNamed) {
  const Tensor blocks{"w_blocks", "U8", {1, 2, 1, 16}, counting()};
  const Tensor scales{"w_scales", "U8", {1, 2, 1}, {127, 127}};
  const auto at = " in " + (folder_ / "model.safetensors");
  const std::string hint =
      "\nhint: MXFP4 is w_blocks [place, row, group, 16] and w_scales [place, row, group], both U8";
  EXPECT_EQ(error_of({blocks}), "w_blocks is U8 [1, 2, 1, 16]" + at + ", but w_scales is not there" + hint);
  auto others = scales;
  others.shape = {2, 1};
  EXPECT_EQ(error_of({blocks, others}),
            "w_blocks is U8 [1, 2, 1, 16]" + at + ", but w_scales is U8 [2, 1]" + at + hint);
  others.shape = {1, 1, 2};
  EXPECT_THAT(error_of({blocks, others}), HasSubstr(", but w_scales is U8 [1, 1, 2]" + at));
  others = {"w_scales", "I8", {1, 2, 1}, {127, 127}};
  EXPECT_THAT(error_of({blocks, others}), HasSubstr(", but w_scales is I8 [1, 2, 1]" + at));
  auto narrow = blocks;
  narrow.shape = {1, 2, 2, 8};
  EXPECT_THAT(error_of({narrow, scales}), HasSubstr("w_blocks is U8 [1, 2, 2, 8]" + at + ", but "));
  EXPECT_EQ(error_of({blocks, scales, {"w", "F32", {1}, {0, 0, 0, 0}}}),
            "w_blocks is U8 [1, 2, 1, 16]" + at + ", and beside it w is F32 [1]" + at +
                "\nhint: remove one of the two");
}

TEST_F(Mxfp4, NumbersThatAreNoneAreRefused) {
  const Tensor blocks{"w_blocks", "U8", {1, 2, 1, 16}, counting()};
  EXPECT_EQ(error_of({blocks, {"w_scales", "U8", {1, 2, 1}, {127, 255}}}),
            (folder_ / "model.safetensors") + ": place 1 of w_scales is 255, which is no number in MXFP4");
  EXPECT_EQ(error_of({blocks, {"w_scales", "U8", {1, 2, 1}, {127, 254}}}),
            (folder_ / "model.safetensors") + ": w has numbers beyond fp32");
}

}  // namespace
}  // namespace bora::checkpoint

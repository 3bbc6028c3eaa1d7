// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/gguf_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/test_faults.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

std::string written_path() { return testing::TempDir() + "bora_gguf_writer.gguf"; }

template <class T>
T at(const std::string& bytes, std::size_t place) {
  T out;
  std::memcpy(&out, bytes.data() + place, sizeof out);
  return out;
}

GgufTensor tensor(std::string name, GgufType type, std::vector<std::int64_t> shape,
                  std::vector<float> values) {
  return {std::move(name), type, std::move(shape), [values] { return values; }};
}

std::string write_error_of(const GgufContent& content) {
  try {
    write_gguf(written_path(), content);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

// Every byte of a small file, as the format's description has them.
TEST(GgufWriter, WritesTheFormat) {
  write_gguf(written_path(), {{{"a.b", 7U}, {"c", std::vector<std::string>{"x", "yz"}}},
                              {tensor("t", GgufType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                               tensor("u", GgufType::bf16, {2}, {1, -2})}});
  const auto bytes = read_text(written_path());
  EXPECT_EQ(bytes.substr(0, 4), "GGUF");
  EXPECT_EQ(at<std::uint32_t>(bytes, 4), 3U);
  EXPECT_EQ(at<std::uint64_t>(bytes, 8), 2U) << "tensors";
  EXPECT_EQ(at<std::uint64_t>(bytes, 16), 2U) << "pairs";
  const std::string pairs(
      "\3\0\0\0\0\0\0\0a.b\4\0\0\0\7\0\0\0"
      "\1\0\0\0\0\0\0\0c\11\0\0\0\10\0\0\0\2\0\0\0\0\0\0\0"
      "\1\0\0\0\0\0\0\0x\2\0\0\0\0\0\0\0yz",
      19 + 9 + 16 + 19);
  EXPECT_EQ(bytes.substr(24, pairs.size()), pairs);
  const std::string infos(
      "\1\0\0\0\0\0\0\0t\2\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\1\0\0\0\0\0\0\0u\1\0\0\0\2\0\0\0\0\0\0\0\36\0\0\0\40\0\0\0\0\0\0\0",
      41 + 33);
  EXPECT_EQ(bytes.substr(24 + pairs.size(), infos.size()), infos);
  const std::size_t data = 192;  // 161 bytes come before, padded to 32
  ASSERT_EQ(bytes.size(), data + 32 + 32);
  EXPECT_EQ(at<float>(bytes, data + 20), 6.0F);
  EXPECT_EQ(at<std::uint16_t>(bytes, data + 34), 0xC000) << "-2 in bf16";
}

TEST(GgufWriter, PacksBlocksWithAScale) {
  std::vector<float> values(64, 0.0F);
  values[0] = -2;
  values[1] = 1;
  values[31] = 0.5F;
  write_gguf(written_path(), {{}, {tensor("t", GgufType::q8_0, {1, 64}, values)}});
  const auto bytes = read_text(written_path());
  const std::size_t data = bytes.size() - 96;  // 68 bytes, padded
  EXPECT_FLOAT_EQ(half_to_float(at<std::uint16_t>(bytes, data)), half_to_float(float_to_half(2.0F / 127)));
  EXPECT_EQ(at<std::int8_t>(bytes, data + 2), -127);
  EXPECT_EQ(at<std::int8_t>(bytes, data + 3), 64) << "63.5, away from zero";
  EXPECT_EQ(at<std::int8_t>(bytes, data + 2 + 31), 32) << "31.75";
  EXPECT_EQ(at<std::uint16_t>(bytes, data + 34), 0) << "a block of zeros";
}

TEST(GgufWriter, WhatTheScaleOfABlockCannotHoldIsRefused) {
  const auto refusal = [](float value) -> std::string {
    std::vector<float> values(64, 0.0F);
    values[40] = value;
    try {
      write_gguf(written_path(), {{}, {tensor("t", GgufType::q8_0, {1, 64}, values)}});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(8e6F), "");
  EXPECT_EQ(
      refusal(-1e8F),
      "t: holds 100000000 in magnitude, and the scales of Q8_0 are f16, up to 65504\nhint: bf16 or f32");
  EXPECT_EQ(refusal(std::nanf("")), "t: holds nan, which Q8_0 has no number for\nhint: bf16 or f32");
}

TEST(GgufWriter, StoresOddRowsAsTheyAre) {
  write_gguf(written_path(), {{}, {tensor("t", GgufType::q8_0, {2, 3}, {1, 2, 3, 4, 5, 6})}});
  const auto bytes = read_text(written_path());
  EXPECT_EQ(at<float>(bytes, bytes.size() - 32), 1.0F);
}

TEST(GgufWriter, IsOldOrNewWhateverFails) {
  test::Folder folder;
  bora::test::expect_old_or_new_whatever_fails(folder.path(), [&](bool fresh) {
    write_gguf(
        folder / "m.gguf",
        {{{"a.b", 7U}}, {tensor("t", GgufType::f32, {64}, std::vector<float>(64, fresh ? 2.0F : 1.0F))}});
  });
}

// Two exports of one name at once: the one that ends last is there, whole.
TEST(GgufWriter, TwoAtOnceDoNotShareATemporaryFile) {
  const auto folder = testing::TempDir() + "bora_gguf_twice";
  const auto file = folder + "/m.gguf";
  remove_all(folder);
  files().make_directories(folder);
  const auto inner = tensor("t", GgufType::f32, {2}, {3, 4});
  write_gguf(file, {{}, {{"t", GgufType::f32, {2}, [&] {
                            write_gguf(file, {{}, {inner}});  // begins and ends while the other is at work
                            return std::vector<float>{1, 2};
                          }}}});
  const auto bytes = read_text(file);
  EXPECT_EQ(at<float>(bytes, bytes.size() - 32), 1.0F);
  EXPECT_EQ(files().list(folder), std::vector<std::string>{"m.gguf"});
  remove_all(folder);
}

TEST(GgufWriter, Errors) {
  const auto t = tensor("t", GgufType::f32, {2}, {1, 2});
  EXPECT_EQ(write_error_of({{}, {t, t}}), written_path() + ": two tensors t");
  EXPECT_EQ(write_error_of({{{"a", 1U}, {"a", 2U}}, {}}), written_path() + ": two values of a");
  EXPECT_EQ(write_error_of({{}, {tensor("t", GgufType::f32, {3}, {1, 2})}}),
            written_path() + ": tensor t: its source gave 2 values instead of 3");
  try {
    parse_gguf_type("q4_0");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "GGUF: numbers of type q4_0 are not written\nhint: f32, bf16 or q8_0");
  }
}

}  // namespace
}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/safetensors.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "bora/base/test_faults.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using core::DType;
using test::error_of;
using test::Folder;
using test::kind_of;
using test::write_file;
using testing::ElementsAre;

std::string with_size(const std::string& header, std::uint64_t size, std::size_t data) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[static_cast<std::size_t>(i)] = static_cast<char>(size >> 8 * i & 0xff);
  return out + header + std::string(data, 'x');
}
std::string file_of(const std::string& header, std::size_t data) {
  return with_size(header, header.size(), data);
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape, int begin,
                  int end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, type, shape, begin,
                     end);
}

// A tensor with a value, under a key that the format does not define, of so many lists in lists.
std::string nested(std::size_t levels) {
  return R"({"a":{"x":)" + std::string(levels, '[') + std::string(levels, ']') +
         R"(,"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
}

std::vector<float> values(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i) * 0.5f - 3;
  return out;
}

TEST(Safetensors, IsOldOrNewWhateverFails) {
  Folder folder;
  const auto a = values(64);
  bora::test::expect_old_or_new_whatever_fails(folder.path(), [&](bool fresh) {
    write_safetensors(folder / "m.safetensors",
                      {tensor_of_floats(fresh ? "b" : "a", DType::f32, {8, 8}, a),
                       tensor_of_floats("c", DType::bf16, {64}, a)},
                      {{"format", "pt"}});
  });
}

TEST(Safetensors, WritesAndReadsBack) {
  Folder folder;
  const auto a = values(12), b = values(3);
  const std::vector<std::int64_t> ids = {1, -2};
  write_safetensors(
      folder / "m.safetensors",
      {tensor_of_floats("b", DType::f32, {3}, b), tensor_of_floats("a", DType::f32, {3, 4}, a),
       tensor_of_floats("half", DType::f16, {3}, b), tensor_of_floats("brain", DType::bf16, {3}, b),
       tensor_of_bytes("ids", DType::i64, {2}, std::as_bytes(std::span(ids))),
       tensor_of_floats("scalar", DType::f32, {}, std::span(b).first(1)),
       tensor_of_floats("none", DType::f32, {0, 7}, {})},
      {{"format", "pt"}, {"by", "bora"}});
  const SafetensorsFile file(folder / "m.safetensors");
  std::vector<std::string> order;
  for (const auto& tensor : file.tensors()) order.push_back(tensor.name);
  EXPECT_THAT(order, ElementsAre("ids", "a", "b", "none", "scalar", "brain", "half"));
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair("by", "bora"), std::pair("format", "pt")));
  EXPECT_EQ(file.floats("a"), a);
  EXPECT_EQ(file.floats("half"), b);
  EXPECT_EQ(file.floats("brain"), b);
  EXPECT_EQ(file.floats("none").size(), 0u);
  EXPECT_EQ(file.at("a").shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(std::memcmp(file.bytes(file.at("ids")).data(), ids.data(), 16), 0);
  const std::string bytes = read_text(folder / "m.safetensors");
  EXPECT_EQ((8 + static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1])) % 8, 0);
  EXPECT_THAT(files().list(folder.path()), ElementsAre("m.safetensors"));
}

TEST(Safetensors, EqualContentGivesEqualBytes) {
  Folder folder;
  const auto a = values(4);
  write_safetensors(folder / "1",
                    {tensor_of_floats("x", DType::f32, {4}, a), tensor_of_floats("y", DType::bf16, {4}, a)});
  write_safetensors(folder / "2",
                    {tensor_of_floats("y", DType::bf16, {4}, a), tensor_of_floats("x", DType::f32, {4}, a)});
  EXPECT_EQ(read_text(folder / "1"), read_text(folder / "2"));
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
  Folder folder;
  for (const std::string& header :
       {std::string("{}"), std::string("{\"__metadata__\":{}}  "), std::string("{\"__metadata__\":null}"),
        "{" + entry("a", "F4", "[2,2]", 0, 2) + "}", "{" + entry("a", "C64", "[0]", 0, 0) + "}",
        std::string(R"({"a":{"dtype":"U8","extra":{"b":[1,{"c":null}]},"shape":[2],"data_offsets":[0,2]}})"),
        nested(125), "{" + entry("b", "U8", "[1]", 1, 2) + "," + entry("a", "BOOL", "[1]", 0, 1) + "}"}) {
    const std::size_t data =
        header.find("[0,2]") != std::string::npos || header.find("[1,2]") != std::string::npos ? 2 : 0;
    write_file(folder / "m", file_of(header, data));
    EXPECT_EQ(error_of([&] { SafetensorsFile file(folder / "m"); }), "no error") << header;
  }
}

TEST(Safetensors, RefusesEveryBrokenRule) {
  Folder folder;
  const std::string good = entry("a", "F32", "[2]", 0, 8);
  struct Case {
    std::string bytes, message;
  };
  const auto head = [&](const std::string& header, std::size_t data = 8) { return file_of(header, data); };
  const std::string h = "safetensors header: ";
  const std::vector<Case> cases = {
      {"", "safetensors: the file has 0 bytes, less than the 8 of a header size"},
      {"1234567", "safetensors: the file has 7 bytes, less than the 8 of a header size"},
      {with_size("{}", 100'000'001, 0),
       "safetensors: header size 100000001 is above the format's limit of 100000000"},
      {with_size("{}", ~0ull, 0),
       "safetensors: header size 18446744073709551615 is above the format's limit of 100000000"},
      {with_size("{}", 3, 0), "safetensors: header size 3 is larger than the file (10 bytes)"},
      {head(""), h + "does not begin with {"},
      {head(" {}"), h + "does not begin with {"},
      {head("{"), h + "malformed JSON at byte 10"},
      {head("{}x"), h + "malformed JSON at byte 11"},
      {head(std::string("{}\0", 3)), h + "malformed JSON at byte 11: a zero byte"},
      {head(std::string("{}\0{}", 5)), h + "malformed JSON at byte 11: a zero byte"},
      {head(nested(126)), h + "tensor a: x is nested deeper than 127 levels"},
      {head("{\"\xff\":1}"), h + "malformed JSON at byte 11"},
      {head("{" + good + "," + good + "}"), h + "tensor a appears twice"},
      {head(R"({"a":1})"), h + "a should be an object but is a number"},
      {head(R"({"a":[]})"), h + "a should be an object but is a list"},
      {head(R"({"a":null})"), h + "a should be an object but is null"},
      {head(R"({"__metadata__":{"k":1}})"), h + "__metadata__: k should be a string but is a number"},
      {head(R"({"__metadata__":{"k":{}}})"), h + "__metadata__: k should be a string but is an object"},
      {head(R"({"__metadata__":{"k":"v","k":"w"}})"), h + "__metadata__ key k appears twice"},
      {head(R"({"__metadata__":{},"__metadata__":{}})"), h + "__metadata__ appears twice"},
      {head(R"({"__metadata__":null,"__metadata__":{}})"), h + "__metadata__ appears twice"},
      {head(R"({"a\u0000\u001bb":1})"), h + R"(a\u0000\u001bb should be an object but is a number)"},
      {head(R"({"a":{"shape":[2],"data_offsets":[0,8]}})"), h + "tensor a: dtype is missing"},
      {head(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})"), h + "tensor a: shape is missing"},
      {head(R"({"a":{"dtype":"F32","shape":[2]}})"), h + "tensor a: data_offsets is missing"},
      {head(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
       h + "tensor a: dtype appears twice"},
      {head(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})"),
       h + "tensor a: unknown dtype \"F33\""},
      {head(R"({"a":{"dtype":5,"shape":[2],"data_offsets":[0,8]}})"), h + "tensor a: dtype is a number"},
      {head(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})"), h + "tensor a: shape is a number"},
      {head(R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})"), h + "tensor a: shape is a string"},
      {head(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
       h + "tensor a: shape contains a negative number"},
      {head(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})"),
       h + "tensor a: shape contains not a whole number"},
      {head(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
       h + "tensor a: shape contains a list"},
      {head(R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,8]}})"),
       h + "tensor a: shape contains a boolean"},
      {head(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})"),
       h + "tensor a: shape contains 9223372036854775808, which is too large"},
      {head(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})"),
       h + "tensor a: data_offsets has 3 numbers, not 2"},
      {head(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,-8]}})"),
       h + "tensor a: data_offsets contains a negative number"},
      {head("{" + entry("a", "F32", "[2]", 8, 0) + "}"),
       h + "tensor a: data_offsets [8, 0] end before they begin"},
      {head("{" + entry("a", "F32", "[1]", 4, 8) + "}"),
       h + "tensor a: data_offsets [4, 8] leave a hole after 0"},
      {head("{" + entry("a", "F32", "[1]", 0, 4) + "," + entry("b", "F32", "[1]", 2, 6) + "}"),
       h + "tensor b: data_offsets [2, 6] overlap what ends at 4"},
      {head("{" + entry("a", "F32", "[3]", 0, 8) + "}"),
       h + "tensor a: data_offsets [0, 8] hold 8 bytes, but F32 [3] needs 12"},
      {head("{" + entry("a", "F4", "[1]", 0, 8) + "}"),
       h + "tensor a: data_offsets [0, 8] hold 8 bytes, but F4 [1] needs an impossible number"},
      {head("{" + entry("a", "F32", "[4294967296,4294967296]", 0, 8) + "}"),
       h + "tensor a: data_offsets [0, 8] hold 8 bytes, but F32 [4294967296, 4294967296] needs an impossible "
           "number"},
      {head("{" + good + "}", 9), "safetensors: tensors end at byte 8 of the data, but the file holds 9"},
      {head("{" + good + "}", 7), "safetensors: tensors end at byte 8 of the data, but the file holds 7"},
      {head("{}", 1), "safetensors: tensors end at byte 0 of the data, but the file holds 1"},
  };
  const std::string path = folder / "m.safetensors";
  for (const Case& c : cases) {
    write_file(path, c.bytes);
    EXPECT_EQ(error_of([&] { SafetensorsFile file(path); }), path + ": " + c.message);
    EXPECT_EQ(kind_of([&] { SafetensorsFile file(path); }), ErrorKind::Corruption);
  }
}

TEST(Safetensors, WhatGitLfsHasNotFetchedIsCalledSo) {
  Folder folder;
  const std::string path = folder / "m.safetensors";
  write_file(path, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_EQ(
      error_of([&] { SafetensorsFile file(path); }).find(path + ": only stands for a file of 12345 bytes"),
      0U);
}

TEST(Safetensors, TruncationAtEveryByteIsSeen) {
  Folder folder;
  const auto a = values(8);
  write_safetensors(folder / "m", {tensor_of_floats("x", DType::f32, {8}, a),
                                   tensor_of_floats("y", DType::bf16, {4, 2}, a)});
  const std::string whole = read_text(folder / "m");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(folder / "cut", whole.substr(0, n));
    EXPECT_THROW(SafetensorsFile(folder / "cut"), Error) << n;
  }
}

TEST(Safetensors, AFileThatShrinksWhileItIsOpenIsAnError) {
  Folder folder;
  const std::string path = folder / "m.safetensors";
  const auto a = values(10'000);
  write_safetensors(path, {tensor_of_floats("x", DType::f32, {10'000}, a)});
  const SafetensorsFile file(path);
  std::vector<std::byte> out(40'000);
  file.copy(file.at("x"), out);
  EXPECT_EQ(std::memcmp(out.data(), a.data(), out.size()), 0);
  EXPECT_EQ(error_of([&] { file.copy(file.at("x"), std::span(out).first(4)); }),
            path + ": tensor x has 40000 bytes, not 4");
  const auto size = bora::files().info(path)->size;
  for (const std::uint64_t left : {size - 1, std::uint64_t{5'000}}) {
    bora::files().truncate(path, left);
    const std::string what = fmt::format(
        "{}: had {} bytes when it was opened and has {} now\nhint: the file was changed while it was in use, "
        "or "
        "its disk fails; put it back and start again",
        path, size, left);
    EXPECT_EQ(error_of([&] { file.copy(file.at("x"), out); }), what);
    EXPECT_EQ(error_of([&] { file.floats("x"); }), what);
    EXPECT_EQ(kind_of([&] { file.floats("x"); }), ErrorKind::Corruption);
  }
}

TEST(Safetensors, ErrorsOfReading) {
  Folder folder;
  const std::vector<std::int64_t> ids = {1, 2};
  const std::string path = folder / "m.safetensors";
  write_safetensors(path, {tensor_of_bytes("token_ids", DType::i64, {2}, std::as_bytes(std::span(ids)))});
  const SafetensorsFile file(path);
  EXPECT_EQ(error_of([&] { file.at("token_id"); }), path + ": no tensor token_id; did you mean `token_ids`?");
  EXPECT_EQ(
      error_of([&] { file.floats("token_ids"); }),
      path +
          ": tensor token_ids is I64; only F64, F32, BF16 and F16 can be read as floats\nhint: store it as one of these");
  EXPECT_EQ(kind_of([&] { SafetensorsFile missing(folder / "none"); }), ErrorKind::NotFound);
}

TEST(Safetensors, ErrorsOfWriting) {
  Folder folder;
  const auto a = values(4);
  const auto x = tensor_of_floats("x", DType::f32, {4}, a);
  const std::string path = folder / "m";
  EXPECT_EQ(error_of([&] { write_safetensors(path, {x, x}); }), path + ": two tensors are named x");
  EXPECT_EQ(error_of([&] { write_safetensors(path, {tensor_of_floats("x", DType::f32, {5}, a)}); }),
            path + ": tensor x: its source gave 16 bytes instead of 20");
  EXPECT_EQ(error_of([&] { write_safetensors(path, {tensor_of_floats("x", DType::f32, {-4}, a)}); }),
            path + ": tensor x: size -4 is negative");
  EXPECT_EQ(
      error_of([&] { write_safetensors(path, {tensor_of_floats("__metadata__", DType::f32, {4}, a)}); }),
      path + ": a tensor cannot be named \"__metadata__\"");
  EXPECT_EQ(error_of([&] { write_safetensors(path, {tensor_of_floats("x", DType::i64, {4}, a)}); }),
            "x: i64 is no floating type");
  EXPECT_THAT(files().list(folder.path()), ElementsAre());  // nothing left behind
}

TEST(Safetensors, ReadsTheFilesOfThePythonLibrary) {
  const std::string path = std::string(BORA_SHARED_DIR) + "/data/models/llama-gqa/model.safetensors";
  if (!exists(path)) GTEST_SKIP() << path << " is not here";
  const SafetensorsFile file(path);
  EXPECT_FALSE(file.tensors().empty());
  for (const auto& tensor : file.tensors()) {
    for (const float x : file.floats(tensor.name)) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(ShardedSafetensors, OneFileWithoutAnIndex) {
  Folder folder;
  const auto a = values(4);
  EXPECT_THAT(write_sharded(folder.path(), "model", {tensor_of_floats("x", DType::f32, {4}, a)}),
              ElementsAre("model.safetensors"));
  const SafetensorsModel model(folder.path());
  EXPECT_EQ(model.floats("x"), a);
}

TEST(ShardedSafetensors, SplitsByBudgetAndReadsBack) {
  Folder folder;
  const auto a = values(16);
  std::vector<TensorSource> tensors;
  for (const char* name : {"e", "d", "c", "b", "a"})
    tensors.push_back(tensor_of_floats(name, DType::f32, {16}, a));
  tensors.push_back(tensor_of_floats("tiny", DType::bf16, {1}, std::span(a).first(1)));
  EXPECT_THAT(write_sharded(folder.path(), "model", tensors, {.max_shard_bytes = 130}),
              ElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                          "model-00003-of-00003.safetensors", "model.safetensors.index.json"));
  const Json index = parse_json(read_text(folder / "model.safetensors.index.json"), "index");
  EXPECT_EQ(index["metadata"]["total_size"], 5 * 64 + 2);
  EXPECT_EQ(index["weight_map"]["e"], "model-00001-of-00003.safetensors");
  for (const std::string& path : {folder.path(), folder / "model.safetensors.index.json"}) {
    const SafetensorsModel model(path);
    EXPECT_THAT(model.names(), ElementsAre("a", "b", "c", "d", "e", "tiny"));
    EXPECT_EQ(model.floats("a"), a);
    EXPECT_EQ(model.at("tiny").type, StoredType::BF16);
    EXPECT_EQ(error_of([&] { model.floats("f"); }).find(folder / "model.safetensors.index.json: no tensor f"),
              0u);
  }
  write_safetensors(folder / "model.safetensors", {tensors.front()});
  EXPECT_THAT(SafetensorsModel(folder.path()).names(), ElementsAre("e")) << "as in transformers";
}

TEST(ShardedSafetensors, RefusesNamesThatReachElsewhere) {
  Folder folder;
  const auto a = values(1);
  files().make_directories(folder / "in");
  write_safetensors(folder / "secret.safetensors", {tensor_of_floats("x", DType::f32, {1}, a)});
  const std::string path = folder / "in/model.safetensors.index.json";
  for (const std::string& shard :
       {std::string("../secret.safetensors"), folder / "secret.safetensors", std::string(""),
        std::string("."), std::string(".."), std::string("a/../../secret.safetensors"),
        std::string("..\\secret.safetensors"), std::string("a\0b.safetensors", 15),
        std::string("C:x.safetensors"), std::string("/dev/zero"), std::string("model.bin"),
        std::string(300, 'a') + ".safetensors"}) {
    write_file(path, Json{{"weight_map", {{"x", shard}}}}.dump());
    EXPECT_EQ(kind_of([&] { SafetensorsModel model(path); }), ErrorKind::Corruption) << shard;
    EXPECT_EQ(error_of([&] { SafetensorsModel model(path); }),
              path + ": weight_map: x is said to be in " + Json(shard.substr(0, 300)).dump() +
                  ", which is not the plain name of a .safetensors file");
  }
}

TEST(ShardedSafetensors, ErrorsOfTheIndex) {
  Folder folder;
  const auto a = values(1);
  write_safetensors(folder / "s.safetensors", {tensor_of_floats("x", DType::f32, {1}, a)});
  const std::string path = folder / "m.index.json";
  write_file(path, "{}");
  EXPECT_EQ(error_of([&] { SafetensorsModel model(path); }), path + ": weight_map is missing");
  write_file(path, R"({"weight_map":{"x":5}})");
  EXPECT_EQ(error_of([&] { SafetensorsModel model(path); }), path + ": weight_map: x should be a file name");
  write_file(path, R"({"weight_map":{"y":"s.safetensors"}})");
  EXPECT_EQ(error_of([&] { SafetensorsModel model(path); }),
            path + ": weight_map: y is said to be in s.safetensors, which does not hold it");
  write_file(path, R"({"weight_map":{"x":"s.safetensors","y":"t.safetensors","z":"t.safetensors",)"
                   R"("v":"t.safetensors","w":"u.safetensors"}})");
  EXPECT_EQ(kind_of([&] { SafetensorsModel model(path); }), ErrorKind::NotFound);
  EXPECT_EQ(error_of([&] { SafetensorsModel model(path); }),
            path + ": 2 of 3 shards are not there:\n  t.safetensors, which holds y and 2 more tensors\n" +
                "  u.safetensors, which holds w\nhint: fetch them into " + folder.path());
  EXPECT_EQ(error_of([&] { SafetensorsModel model(folder.path()); }),
            folder.path() + ": holds neither model.safetensors nor model.safetensors.index.json");
}

TEST(Half, EveryValueSurvives) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value))
      EXPECT_EQ(float_to_half(value) & 0x7e00, 0x7e00);
    else
      EXPECT_EQ(float_to_half(value), half) << bits;
  }
}

TEST(Half, TensorsBeyondItAreRefused) {
  std::vector<std::byte> out(4);
  const auto store = [&](float value) -> std::string {
    try {
      from_floats(std::vector<float>{1, value}, core::DType::f16, out, "w");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  for (const float fits : {65519.0f, -65504.0f, INFINITY, NAN}) EXPECT_EQ(store(fits), "");
  EXPECT_EQ(store(-1e6f), "w: holds -1000000, and f16 goes up to 65504\nhint: bf16 or f32");
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(float_to_half(65519.9f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(-INFINITY), 0xfc00);
  EXPECT_EQ(float_to_half(1 + 0x1p-11f), 0x3c00);      // a tie goes to even
  EXPECT_EQ(float_to_half(1 + 3 * 0x1p-11f), 0x3c02);  // so does this one
  EXPECT_EQ(float_to_half(1 + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  for (float x = 1e-8f; x < 7e4f; x *= 1.0007f) {  // against double: the nearest of all halves
    const std::uint16_t h = float_to_half(x);
    if (h == 0x7c00 || h == 0) continue;
    const double below = half_to_float(h - 1), here = half_to_float(h), above = half_to_float(h + 1);
    EXPECT_LE(std::fabs(here - x), std::fabs(below - x));
    if (h != 0x7bff) {
      EXPECT_LE(std::fabs(here - x), std::fabs(above - x));
    }
  }
}

TEST(Convert, WidensFromAnyAddress) {
  std::vector<std::byte> bytes(1 + 8);
  const double x = 0.1;
  std::memcpy(bytes.data() + 1, &x, 8);
  float out;
  to_floats(DType::f64, std::span(bytes).subspan(1), {&out, 1}, "x");
  EXPECT_EQ(out, 0.1f);
  EXPECT_EQ(error_of([&] { to_floats(DType::f32, bytes, {&out, 1}, "x"); }),
            "x: 1 elements of f32 do not fit 9 bytes");
}

}  // namespace
}  // namespace bora::checkpoint

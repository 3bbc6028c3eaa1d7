// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/gguf_reader.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/gguf_writer.h"

namespace bora::checkpoint {
namespace {

using ::testing::HasSubstr;

std::string path() { return testing::TempDir() + "bora_gguf_reader.gguf"; }

// A file, byte by byte.
class FileBytes {
 public:
  explicit FileBytes(std::uint32_t version = 3) {
    text_ = "GGUF";
    add(version);
  }
  template <class T>
  FileBytes& add(T x) {
    text_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  FileBytes& counts(std::uint64_t tensors, std::uint64_t pairs) { return add(tensors).add(pairs); }
  FileBytes& string(const std::string& s) {
    add<std::uint64_t>(s.size());
    text_ += s;
    return *this;
  }
  FileBytes& kind(std::uint32_t k) { return add(k); }
  template <class T>
  FileBytes& pair(const std::string& key, std::uint32_t k, T x) {
    return string(key).kind(k).add(x);
  }
  // One axis.
  FileBytes& tensor(const std::string& name, std::uint64_t size, std::uint32_t type, std::uint64_t offset) {
    return string(name).add<std::uint32_t>(1).add(size).add(type).add(offset);
  }
  FileBytes& data(std::size_t bytes) {
    text_.append((32 - text_.size() % 32) % 32 + bytes, '\0');
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

GgufHeader header_of(const FileBytes& bytes) { return parse_gguf_header(as_bytes(bytes.text()), "a.gguf"); }

std::string refusal_of(const std::string& bytes, ErrorKind kind = ErrorKind::Corruption) {
  try {
    parse_gguf_header(as_bytes(bytes), "a.gguf");
    return "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
}
std::string refusal_of(const FileBytes& bytes, ErrorKind kind = ErrorKind::Corruption) {
  return refusal_of(bytes.text(), kind);
}

TEST(GgufReader, EveryKindOfValue) {
  FileBytes bytes(2);
  bytes.counts(0, 14)
      .pair<std::uint8_t>("u8", 0, 200)
      .pair<std::int8_t>("i8", 1, -100)
      .pair<std::uint16_t>("u16", 2, 60000)
      .pair<std::int16_t>("i16", 3, -30000)
      .pair<std::uint32_t>("u32", 4, 4000000000U)
      .pair<std::int32_t>("i32", 5, -2000000000)
      .pair<float>("f32", 6, 1e-5F)
      .pair<std::uint8_t>("bool", 7, 1)
      .pair<std::uint64_t>("u64", 10, std::uint64_t{1} << 63)
      .pair<std::int64_t>("i64", 11, std::int64_t{-1} << 62)
      .pair<double>("f64", 12, 0.1);
  bytes.string("text").kind(8).string("a\"b");
  bytes.string("list").kind(9).kind(3).add<std::uint64_t>(2).add<std::int16_t>(-1).add<std::int16_t>(2);
  bytes.string("lists").kind(9).kind(9).add<std::uint64_t>(1).kind(8).add<std::uint64_t>(1).string("x");
  const auto header = header_of(bytes);
  EXPECT_EQ(header.version, 2U);
  Json all = Json::object();
  for (const auto& [key, value] : header.metadata) all[key] = value;
  EXPECT_EQ(all.dump(),
            R"({"bool":true,"f32":1e-05,"f64":0.1,"i16":-30000,"i32":-2000000000,"i64":-4611686018427387904,)"
            R"("i8":-100,"list":[-1,2],"lists":[["x"]],"text":"a\"b","u16":60000,"u32":4000000000,)"
            R"("u64":9223372036854775808,"u8":200})");
}

TEST(GgufReader, ReadsWhatTheWriterWrites) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 20.5F;
  const auto tensor = [&](const char* name, GgufType type) {
    return GgufTensor{name, type, {2, 32}, [values] { return values; }};
  };
  write_gguf(
      path(),
      {{{"a", 1U}}, {tensor("f", GgufType::f32), tensor("b", GgufType::bf16), tensor("q", GgufType::q8_0)}});
  const GgufFile file(path());
  EXPECT_EQ(file.names(), (std::vector<std::string>{"b", "f", "q"}));
  EXPECT_EQ(file.find("q")->shape, (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(file.find("q")->type, "Q8_0");
  EXPECT_FALSE(file.contains("x"));
  EXPECT_EQ(*file.value("a"), 1);
  EXPECT_EQ(file.value("b"), nullptr);
  EXPECT_EQ(file.floats("f"), values);
  EXPECT_EQ(file.floats("b"), values) << "few enough digits";
  const auto q = file.floats("q");
  // of the first row, -20.5 to 10.5
  const float scale = half_to_float(float_to_half(20.5F / 127));
  EXPECT_EQ(q[0], -127 * scale);
  file.forget("q");
  try {
    file.floats("ff");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NotFound);
    EXPECT_THAT(e.what(), HasSubstr("no tensor ff"));
  }
}

TEST(GgufReader, ReadsHalves) {
  FileBytes bytes;
  bytes.counts(1, 0).tensor("h", 2, 1, 0).data(0).add<std::uint16_t>(0x3C00).add<std::uint16_t>(0xC000);
  write_atomically(path(), bytes.text());
  EXPECT_EQ(GgufFile(path()).floats("h"), (std::vector<float>{1, -2}));
}

TEST(GgufReader, RefusesOtherFiles) {
  EXPECT_THAT(
      refusal_of("PK\3\4 and so on"),
      HasSubstr("a.gguf: no GGUF file: it begins with \"PK\\u0003\\u0004\" instead of \"GGUF\"\nhint: "));
  EXPECT_THAT(refusal_of(""), HasSubstr("it begins with \"\" instead"));
  EXPECT_THAT(refusal_of(FileBytes(1).counts(0, 0), ErrorKind::Unsupported),
              HasSubstr("version 1 is not read; 2 and 3 are"));
  EXPECT_THAT(refusal_of(FileBytes(0x03000000).counts(0, 0), ErrorKind::Unsupported),
              HasSubstr("the numbers are big endian (version 0x03000000)"));
}

// Cut anywhere, a file is refused, and never read beyond its end.
TEST(GgufReader, RefusesCutFiles) {
  FileBytes bytes;
  bytes.counts(1, 1).string("k").kind(9).kind(8).add<std::uint64_t>(1).string("v");
  bytes.tensor("t", 4, 0, 0).data(16);
  EXPECT_EQ(refusal_of(bytes), "no error");
  for (std::size_t n = 0; n < bytes.text().size(); ++n)
    EXPECT_THAT(refusal_of(bytes.text().substr(0, n)), HasSubstr("a.gguf: ")) << n;
  EXPECT_THAT(refusal_of("GGUF\3"),
              HasSubstr("the version needs 4 bytes at byte 4, but the file ends 1 bytes later"));
  EXPECT_THAT(
      refusal_of(bytes.text().substr(0, bytes.text().size() - 1)),
      HasSubstr("tensor t ends at byte 16 of the data, but the file has 15 bytes of data\nhint: fetch"));
}

TEST(GgufReader, RefusesCountsAndLengths) {
  constexpr auto kHuge = ~std::uint64_t{0};
  EXPECT_THAT(
      refusal_of(FileBytes().counts(kHuge, 0)),
      HasSubstr("18446744073709551615 tensors are announced, but the 8 bytes that follow hold 0 at most"));
  EXPECT_THAT(refusal_of(FileBytes().counts(0, 1)), HasSubstr("1 values are announced, but the 0 bytes"));
  EXPECT_THAT(
      refusal_of(FileBytes().counts(0, 1).add(kHuge).add(kHuge)),
      HasSubstr("key 0 is said to be 18446744073709551615 bytes long at byte 32, but the file ends 8 bytes"));
  EXPECT_THAT(
      refusal_of(FileBytes().counts(0, 1).string("k").kind(9).kind(12).add<std::uint64_t>(kHuge / 8 + 1)),
      HasSubstr("k is said to have 2305843009213693952 elements, but the 0 bytes that follow hold 0"));
  EXPECT_THAT(refusal_of(FileBytes().counts(0, 1).string("k").kind(13).add(kHuge)),
              HasSubstr("k is of kind 13, but kinds are 0 to 12"));
  EXPECT_THAT(refusal_of(FileBytes().counts(0, 1).pair<std::uint8_t>("k", 7, 2).add(kHuge)),
              HasSubstr("k is 2, but true or false is 1 or 0"));
  EXPECT_THAT(
      refusal_of(FileBytes().counts(0, 2).pair(std::string("k"), 4, 1U).pair(std::string("k"), 4, 1U)),
      HasSubstr("there are two values of k"));
  EXPECT_THAT(refusal_of(FileBytes()
                             .counts(0, 1)
                             .string("k")
                             .kind(9)
                             .kind(9)
                             .add<std::uint64_t>(1)
                             .kind(9)
                             .add<std::uint64_t>(1)
                             .kind(9)
                             .add<std::uint64_t>(1)
                             .kind(9)
                             .add<std::uint64_t>(1)
                             .add(kHuge)
                             .add(kHuge)),
              HasSubstr("k is nested more than 4 times"));
}

TEST(GgufReader, RefusesTensors) {
  constexpr auto kHuge = ~std::uint64_t{0};
  const auto one = [](std::uint64_t size, std::uint32_t type, std::uint64_t offset) {
    return FileBytes().counts(1, 0).tensor("t", size, type, offset).data(64);
  };
  EXPECT_EQ(refusal_of(one(16, 0, 0)), "no error");
  EXPECT_THAT(refusal_of(one(256, 12, 0), ErrorKind::Unsupported),
              HasSubstr("tensor t has numbers of kind Q4_K (12); F32, F16, BF16 and Q8_0 are read\nhint: "));
  EXPECT_THAT(refusal_of(one(1, 99, 0), ErrorKind::Unsupported),
              HasSubstr("tensor t has numbers of kind 99; "));
  EXPECT_THAT(refusal_of(one(33, 8, 0)),
              HasSubstr("tensor t is Q8_0 with rows of 33, but these are blocks of 32"));
  EXPECT_THAT(refusal_of(one(1, 0, 8)),
              HasSubstr("tensor t begins at byte 8, which is no multiple of the alignment 32"));
  EXPECT_THAT(refusal_of(one(1, 0, 64)),
              HasSubstr("tensor t ends at byte 68 of the data, but the file has 64"));
  EXPECT_THAT(refusal_of(one(1, 0, kHuge - 31)),
              HasSubstr("tensor t is said to have 4 bytes at byte 18446744073709551584"));
  EXPECT_THAT(refusal_of(one(0, 0, 0)),
              HasSubstr("tensor t is said to be 0 long along axis 0 behind 1 elements"));
  EXPECT_THAT(refusal_of(one(kHuge, 0, 0)),
              HasSubstr("tensor t is said to be 18446744073709551615 long along axis 0"));
  EXPECT_THAT(refusal_of(FileBytes().counts(1, 0).string("t").add<std::uint32_t>(5).add(kHuge).add(kHuge)),
              HasSubstr("tensor t has 5 axes, but must have 1 to 4"));
  EXPECT_THAT(refusal_of(FileBytes().counts(2, 0).tensor("t", 1, 0, 0).tensor("t", 1, 0, 32).data(64)),
              HasSubstr("there are two tensors t"));
  EXPECT_THAT(refusal_of(FileBytes().counts(2, 0).tensor("t", 16, 0, 0).tensor("u", 1, 0, 32).data(64)),
              HasSubstr("tensor u begins at byte 32 of the data, but t ends at 64"));
}

TEST(GgufReader, TakesTheAlignment) {
  const auto with = [](std::uint32_t alignment, std::uint64_t offset) {
    FileBytes out;
    out.counts(2, 1).pair("general.alignment", 4, alignment).tensor("t", 1, 0, 0).tensor("u", 1, 0, offset);
    return out.data(128);
  };
  EXPECT_EQ(header_of(with(64, 64)).data % 64, 0U);
  EXPECT_THAT(refusal_of(with(64, 32)),
              HasSubstr("tensor u begins at byte 32, which is no multiple of the alignment 64"));
  for (const auto wrong : {0U, 4U, 24U, 1U << 21})
    EXPECT_THAT(refusal_of(with(wrong, 64)),
                HasSubstr(fmt::format("general.alignment is {}, but must be a power of two from 8 to 1048576",
                                      wrong)));
}

}  // namespace
}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/zarr_array.h"

#include <blosc.h>

#include <cstdlib>
#include <numeric>

#include "bora/base/env.h"
#include "bora/base/fault_files.h"
#include "bora/base/json.h"
#include "bora/store/cache_builder.h"
#include "bora/store/test_files.h"
#include "bora/store/token_files.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

template <class T>
std::string bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string with_crc(const std::string& text) {
  return text + bytes(std::vector<std::uint32_t>{crc32c(as_bytes(text))});
}

std::string blosc(const std::string& raw, int typesize, const char* codec = "lz4") {
  std::string out(raw.size() + BLOSC_MAX_OVERHEAD, '\0');
  out.resize(static_cast<std::size_t>(blosc_compress_ctx(5, BLOSC_SHUFFLE, static_cast<std::size_t>(typesize),
                                                         raw.size(), raw.data(), out.data(), out.size(),
                                                         codec, 0, 1)));
  return out;
}

/// A zarr.json: files of `shard` elements in chunks of `chunk`, whose codecs follow "bytes".
Json metadata(std::int64_t size, std::int64_t shard, std::int64_t chunk, const Json& compressors,
              const std::string& type = "int32") {
  const Json little{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}};
  Json inner = Json::array({little});
  for (const auto& c : compressors) inner.push_back(c);
  const Json sharding{
      {"name", "sharding_indexed"},
      {"configuration",
       {{"chunk_shape", {chunk}}, {"codecs", inner}, {"index_codecs", {little, {{"name", "crc32c"}}}}}}};
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", {size}},
          {"data_type", type},
          {"fill_value", 0},
          {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", {shard}}}}}},
          {"chunk_key_encoding", {{"name", "default"}}},
          {"codecs", shard == chunk ? inner : Json::array({sharding})}};
}

/// A shard's file: the chunks, then their index, as the sharding codec says.
std::string shard(const std::vector<std::string>& chunks) {
  std::string data;
  std::vector<std::uint64_t> index;
  for (const auto& chunk : chunks) {
    const bool absent = chunk.empty();
    index.push_back(absent ? ~std::uint64_t{0} : data.size());
    index.push_back(absent ? ~std::uint64_t{0} : chunk.size());
    data += chunk;
  }
  return data + with_crc(bytes(index));
}

class ZarrTest : public testing::Test {
 protected:
  ZarrTest() : folder_("zarr") {}
  std::string array(const Json& json, const std::vector<std::string>& shards) {
    const std::string name = fmt::format("a{}", made_++);
    folder_.write(name + "/zarr.json", json.dump());
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (!shards[i].empty()) folder_.write(fmt::format("{}/c/{}", name, i), shards[i]);
    }
    return folder_ / name;
  }
  static Numbers all(const std::string& path) {
    ZarrReader reader(path);
    Numbers out(reader.layout().size);
    reader.read(0, out);
    return out;
  }
  std::string wrong(const std::string& path, ErrorKind kind = ErrorKind::Corruption) const {
    std::string message = error_of(kind, [&] { all(path); });
    for (auto at = message.find(folder_.path()); at != std::string::npos; at = message.find(folder_.path()))
      message.erase(at, folder_.path().size() + 1);
    return message;
  }
  std::string refused(const Json& json) { return wrong(array(json, {}), ErrorKind::Unsupported); }

  NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  TemporaryFolder folder_;
  int made_ = 0;
};

const Json kBlosc{{"name", "blosc"}, {"configuration", {{"clevel", 5}}}};
const Json kZstd{{"name", "zstd"}, {"configuration", {{"level", 3}, {"checksum", false}}}};
const Json kGzip{{"name", "gzip"}, {"configuration", {{"level", 6}}}};
const Json kCrc{{"name", "crc32c"}};

TEST_F(ZarrTest, EveryCodec) {
  using I32 = std::vector<std::int32_t>;
  const Numbers expected{1, 2, -3, 0, 0, 0, 7, 8, 9, 0};
  const std::string first = bytes(I32{1, 2, -3}), third = bytes(I32{7, 8, 9});
  const auto shards = [&](auto&& pack) {
    return std::vector<std::string>{shard({pack(first), ""}), shard({pack(third), ""})};
  };
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array()), shards([](auto& s) { return s; }))), expected);
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array({kCrc})), shards(with_crc))), expected);
  EXPECT_EQ(
      all(array(metadata(10, 6, 3, Json::array({kBlosc})), shards([](auto& s) { return blosc(s, 4); }))),
      expected);
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array({kBlosc})),
                      shards([](auto& s) { return blosc(s, 4, "zstd"); }))),
            expected);
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array({kZstd})), shards([](auto& s) { return zstd(s); }))),
            expected);
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array({kZstd, kCrc})),
                      shards([](auto& s) { return with_crc(zstd(s)); }))),
            expected);
  EXPECT_EQ(all(array(metadata(10, 6, 3, Json::array({kGzip})), shards([](auto& s) { return gzip(s); }))),
            expected);
  // Without shards a file is a chunk; one that is not there was never written.
  EXPECT_EQ(all(array(metadata(10, 3, 3, Json::array({kZstd})), {zstd(first), "", zstd(third)})), expected);
}

TEST_F(ZarrTest, TypesAndPlaces) {
  const auto one = [&](const std::string& type, const std::string& raw) {
    return all(array(metadata(2, 2, 2, Json::array(), type), {raw}));
  };
  EXPECT_THAT(one("int8", bytes<std::int8_t>({-1, 2})), ElementsAre(-1, 2));
  EXPECT_THAT(one("uint8", bytes<std::uint8_t>({255, 2})), ElementsAre(255, 2));
  EXPECT_THAT(one("int16", bytes<std::int16_t>({-300, 2})), ElementsAre(-300, 2));
  EXPECT_THAT(one("uint16", bytes<std::uint16_t>({65535, 2})), ElementsAre(65535, 2));
  EXPECT_THAT(one("uint32", bytes<std::uint32_t>({1U << 31, 2})), ElementsAre(std::int64_t{1} << 31, 2));
  EXPECT_THAT(one("int64", bytes<std::int64_t>({std::int64_t{1} << 40, 2})),
              ElementsAre(std::int64_t{1} << 40, 2));
  EXPECT_THAT(one("uint64", bytes<std::uint64_t>({5, 2})), ElementsAre(5, 2));
  const auto real = array(metadata(2, 2, 2, Json::array(), "float32"), {bytes<float>({0.5F, 2})});
  std::vector<float> floats(2);
  ZarrReader(real).read(0, floats);
  EXPECT_THAT(floats, ElementsAre(0.5F, 2.0F));
  EXPECT_EQ(wrong(real, ErrorKind::Unsupported), "a7: holds float32 where whole numbers are expected");
  Json start = metadata(4, 4, 2, Json::array());
  start["codecs"][0]["configuration"]["index_location"] = "start";
  start["chunk_key_encoding"] = {{"name", "default"}, {"configuration", {{"separator", "."}}}};
  const auto placed = array(start, {});
  folder_.write("a8/c.0", with_crc(bytes<std::uint64_t>({36, 8, 44, 8})) + bytes<std::int32_t>({4, 3, 2, 1}));
  EXPECT_THAT(all(placed), ElementsAre(4, 3, 2, 1));
  ZarrReader reader(placed);
  Numbers some(2);
  reader.read(1, some);
  EXPECT_THAT(some, ElementsAre(3, 2));
  EXPECT_THAT(error_of(ErrorKind::InvalidArgument, [&] { reader.read(3, some); }),
              HasSubstr("elements [3, 5) are outside of its 4"));
}

TEST_F(ZarrTest, WhatIsNotRead) {
  const Json good = metadata(4, 4, 2, Json::array({kBlosc}));
  const auto changed = [&](auto&& change) {
    Json json = good;
    change(json);
    return json;
  };
  EXPECT_EQ(wrong(folder_ / "none", ErrorKind::NotFound),
            "none/zarr.json: does not exist, so this is no zarr array of version 3");
  EXPECT_EQ(refused(changed([](Json& j) { j["zarr_format"] = 2; })),
            "a0/zarr.json: zarr_format 2, but Bora reads 3");
  EXPECT_EQ(refused(changed([](Json& j) { j["node_type"] = "group"; })),
            "a1/zarr.json: node_type \"group\", but Bora reads array");
  EXPECT_EQ(refused(changed([](Json& j) { j["shape"] = {2, 2}; })),
            "a2/zarr.json: shape [2,2], but Bora reads arrays of one dimension");
  EXPECT_EQ(refused(changed([](Json& j) { j["data_type"] = "complex64"; })),
            "a3/zarr.json: data_type \"complex64\", but Bora reads whole numbers and float32");
  EXPECT_EQ(refused(changed([](Json& j) { j["fill_value"] = 1; })),
            "a4/zarr.json: fill_value 1, but Bora reads 0");
  EXPECT_THAT(
      refused(changed([](Json& j) { j["codecs"][0]["configuration"]["codecs"][1]["name"] = "pcodec"; })),
      HasSubstr("but Bora reads bytes, then blosc, gzip or zstd, then crc32c"));
  EXPECT_THAT(refused(changed([](Json& j) {
                j["codecs"][0]["configuration"]["codecs"][0]["configuration"]["endian"] = "big";
              })),
              HasSubstr("but Bora reads little endian"));
  EXPECT_THAT(refused(changed([](Json& j) { j["chunk_grid"]["name"] = "rectangular"; })),
              HasSubstr("but Bora reads regular"));
  EXPECT_THAT(refused(changed([](Json& j) { j["chunk_key_encoding"]["name"] = "v2"; })),
              HasSubstr("but Bora reads default"));
  EXPECT_THAT(refused(changed([](Json& j) { j["storage_transformers"] = {1}; })),
              HasSubstr("but Bora reads none"));
  EXPECT_EQ(refused(metadata(1 << 30, 1 << 30, 1 << 29, Json::array({kBlosc}))),
            "a10/zarr.json: a chunk of 536870912 elements, but Bora reads up to 16777216");
  // Four times as many bytes are 4 in 64 bits.
  constexpr std::int64_t kHuge = 4611686018427387905;
  EXPECT_EQ(refused(metadata(kHuge, kHuge, kHuge, Json::array())),
            "a11/zarr.json: a chunk of 4611686018427387905 elements, but Bora reads up to 16777216");
  EXPECT_EQ(refused(metadata(1 << 30, 1 << 30, 2, Json::array({kBlosc}))),
            "a12/zarr.json: a file of 536870912 chunks, but Bora reads up to 1048576");
  EXPECT_EQ(wrong(array(metadata(6, 6, 4, Json::array({kBlosc})), {})),
            "a13/zarr.json: files of 6 elements are no whole number of chunks of 4");
  EXPECT_EQ(wrong(array(changed([](Json& j) { j["shape"] = {-1}; }), {})),
            "a14/zarr.json: shape should be a number above 0 but is -1");
  EXPECT_EQ(wrong(array(changed([](Json& j) { j.erase("codecs"); }), {})), "a15/zarr.json: lacks codecs");
}

TEST_F(ZarrTest, DamagedFiles) {
  const Json json = metadata(4, 4, 2, Json::array({kZstd}));
  const std::string chunk = zstd(bytes<std::int32_t>({1, 2})), good = shard({chunk, chunk});
  EXPECT_THAT(all(array(json, {good})), ElementsAre(1, 2, 1, 2));
  std::string bad = good;
  bad[bad.size() - 9] ^= 1;
  EXPECT_THAT(wrong(array(json, {bad})), HasSubstr("a1/c/0: the checksum of its index is wrong, at byte"));
  EXPECT_EQ(wrong(array(json, {"short"})),
            "a2/c/0: ends inside its index of 36 bytes, at byte 5\nhint: copy it again");
  bad = good;
  bad[0] ^= 1;
  EXPECT_THAT(wrong(array(json, {bad})), HasSubstr("a3/c/0: a chunk does not give its 8 bytes, at byte 0"));
  EXPECT_THAT(wrong(array(json, {shard({zstd(bytes<std::int32_t>({1, 2, 3})), ""})})),
              HasSubstr("a chunk does not give its 8 bytes"));
  const auto index = [&](std::uint64_t offset, std::uint64_t size) {
    return chunk + with_crc(bytes<std::uint64_t>({offset, size, 0, chunk.size()}));
  };
  EXPECT_THAT(wrong(array(json, {index(1'000'000, 5)})),
              HasSubstr("a chunk of 5 bytes ends after the file's"));
  EXPECT_THAT(wrong(array(json, {index(1, ~std::uint64_t{0} - 1)})), HasSubstr("ends after the file's"));
  EXPECT_THAT(wrong(array(json, {std::string(9000, 'x') + index(0, 9000)})),
              HasSubstr("a chunk of 9000 bytes stands for 8"));
  const Json checked = metadata(4, 4, 2, Json::array({kCrc}));
  EXPECT_THAT(wrong(array(checked, {shard({bytes<std::int32_t>({1, 2, 3}), ""})})),
              HasSubstr("a chunk's checksum is wrong"));
  EXPECT_THAT(wrong(array(checked, {shard({"abc", ""})})), HasSubstr("a chunk lacks its checksum"));
  for (const Json& codec : {kBlosc, kGzip}) {
    EXPECT_THAT(
        wrong(array(metadata(4, 4, 2, Json::array({codec})), {shard({"abcdefghijklmnopqrstuvwxyz", ""})})),
        HasSubstr("a chunk does not give its 8 bytes"));
  }
}

TEST_F(ZarrTest, WhatIsWrittenIsRead) {
  const std::int64_t n = 2 * 262'144 + 5;
  const std::string path = folder_ / "w";
  ZarrWriter writer(path, "int32");
  for (std::int64_t i = 0; i < n; ++i) writer.append(i < 262'144 ? 0 : i);  // the first chunk is left out
  writer.finish();
  ZarrReader reader(path);
  EXPECT_EQ(reader.layout().size, std::uint64_t{1} << 54);
  EXPECT_EQ(reader.layout().shard_elements, 134'217'728U);
  EXPECT_EQ(reader.layout().chunk_elements, 262'144U);
  Numbers back(static_cast<std::size_t>(n) + 3), expected(back.size(), 0);
  for (std::int64_t i = 262'144; i < n; ++i) expected[static_cast<std::size_t>(i)] = i;
  reader.read(0, back);
  EXPECT_EQ(back, expected);
  ZarrWriter floats(folder_ / "f", "float32");
  for (const float x : {0.5F, 1.0F}) floats.append(x);
  floats.finish();
  std::vector<float> two(2);
  ZarrReader(folder_ / "f").read(0, two);
  EXPECT_THAT(two, ElementsAre(0.5F, 1.0F));
}

class LevanterTest : public ZarrTest {
 protected:
  std::shared_ptr<const TokenCache> text() {
    std::vector<std::string> sources;
    for (int i = 0; i < 3; ++i)
      sources.push_back(
          folder_.write(fmt::format("text/{}.txt", i), sample_text(static_cast<std::uint64_t>(i), 2000)));
    return build_cache(folder_ / "text/cache", sources, ByteProcessor());
  }
  std::shared_ptr<const TokenCache> import(const std::string& directory) {
    return import_tokens(folder_ / fmt::format("i{}", made_++), {directory}, TokenFiles::Levanter);
  }
  static void expect_same(const TokenCache& a, const TokenCache& b) {
    ASSERT_EQ(a.num_documents(), b.num_documents());
    EXPECT_EQ(a.tokens(0, a.num_tokens()), b.tokens(0, b.num_tokens()));
    for (std::int64_t d = 0; d < a.num_documents(); ++d) EXPECT_EQ(a.document_end(d), b.document_end(d));
  }
  std::string wrong_cache(const std::string& directory, ErrorKind kind = ErrorKind::Corruption) {
    std::string message = error_of(kind, [&] { import(directory); });
    for (auto at = message.find(folder_.path()); at != std::string::npos; at = message.find(folder_.path()))
      message.erase(at, folder_.path().size() + 1);
    return message;
  }
  /// A small cache, as the format's description has it, with rows 5 6 | | 7.
  std::string small(const std::string& ledger, const std::vector<std::int64_t>& offsets = {3, 2, 2, 3}) {
    const std::string name = fmt::format("s{}", made_++);
    const auto put = [&](const std::string& part, const Json& json, const std::string& data) {
      folder_.write(fmt::format("{}/input_ids/{}/zarr.json", name, part), json.dump());
      folder_.write(fmt::format("{}/input_ids/{}/c/0", name, part), shard({data, ""}));
    };
    put("data", metadata(std::int64_t{1} << 54, 8, 4, Json::array({kBlosc})),
        blosc(bytes<std::int32_t>({5, 6, 7, 0}), 4));
    put("offsets", metadata(std::int64_t{1} << 54, 8, 4, Json::array({kBlosc}), "int64"),
        blosc(bytes(offsets), 8));
    folder_.write(name + "/shard_ledger.json", ledger);
    return folder_ / name;
  }
  const std::string finished_ = R"({"total_num_rows": 3, "shard_rows": {"": 3}, "is_finished": true,)"
                                R"( "finished_shards": [""], "field_counts": {}, "metadata": {}})";
};

TEST_F(LevanterTest, AsTheFormatIsDescribed) {
  const auto cache = import(small(finished_));
  EXPECT_THAT(cache->tokens(0, 3), ElementsAre(5, 6, 7));
  EXPECT_EQ(cache->num_documents(), 3);
  EXPECT_EQ(cache->document_end(0), 2);
  EXPECT_EQ(cache->document_end(1), 2);
  EXPECT_EQ(cache->ledger().fingerprint, "imported from levanter");
}

TEST_F(LevanterTest, ThereAndBack) {
  const auto cache = text();
  const auto written = export_tokens(*cache, folder_ / "out/train", TokenFiles::Levanter);
  EXPECT_THAT(written, ElementsAre(folder_ / "out/train/shard_ledger.json"));
  expect_same(*import(folder_ / "out/train"), *cache);
  const Json ledger = parse_json(read_text(written[0]), "ledger");
  EXPECT_EQ(ledger["total_num_rows"], cache->num_documents());
  EXPECT_EQ(ledger["field_counts"]["input_ids"], cache->num_tokens());
  EXPECT_EQ(ledger["is_finished"], true);
  EXPECT_THAT(error_of(ErrorKind::Config,
                       [&] { export_tokens(*cache, folder_ / "out/train", TokenFiles::Levanter); }),
              HasSubstr("out/train has a cache already\nhint: another directory"));
}

TEST_F(LevanterTest, WrongCaches) {
  EXPECT_EQ(wrong_cache(folder_ / "none", ErrorKind::NotFound),
            "none/shard_ledger.json: does not exist, so this is no cache of Levanter's\n"
            "hint: give the folder of one split");
  export_tokens(*text(), folder_ / "c/train", TokenFiles::Levanter);
  EXPECT_THAT(wrong_cache(folder_ / "c", ErrorKind::NotFound), HasSubstr("; it is in train/ below"));
  EXPECT_EQ(wrong_cache(small(R"({"total_num_rows": 3, "is_finished": false})")),
            "s2/shard_ledger.json: the cache is unfinished\nhint: let Levanter finish it first");
  EXPECT_EQ(wrong_cache(small(R"({"total_num_rows": 4, "is_finished": true})")),
            "s4/input_ids/offsets: has 3 rows but s4/shard_ledger.json says 4");
  EXPECT_EQ(wrong_cache(small(finished_, {3, 2, 1, 3})),
            "s6/input_ids/offsets: row 1 ends at 1 but begins at 2");
  EXPECT_THAT(wrong_cache(small(finished_, {3, 2, 2, std::int64_t{1} << 60})),
              HasSubstr("row 2 ends at 1152921504606846976 but begins at 2"));
  const auto masked = small(finished_);
  folder_.write(base_name(masked) + "/assistant_masks/data/zarr.json", "{}");
  EXPECT_THAT(wrong_cache(masked, ErrorKind::Unsupported),
              HasSubstr("holds assistant_masks beside input_ids; Bora takes caches of ids alone"));
}

TEST_F(LevanterTest, AFailedExportLeavesNothing) {
  const auto cache = text();
  for (std::int64_t n = 1; n < 200; ++n) {
    FaultFiles broken(files(), {.nth = n});
    const ScopedFileSystem scope(broken);
    const std::string to = folder_ / fmt::format("e{}", n);
    try {
      export_tokens(*cache, to, TokenFiles::Levanter);
    } catch (const Error& e) {
      EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(ErrorKind::Io)) << e.what();
    }
    if (!broken.fired()) {
      EXPECT_TRUE(exists(to + "/shard_ledger.json"));
      return;
    }
    // The fault may have struck the clean-up; without a ledger nobody takes what is left for a cache.
    if (exists(to + "/shard_ledger.json")) expect_same(*import(to), *cache);
  }
  FAIL() << "more operations than expected";
}

constexpr const char* kScript = R"PY(
import json, sys
import numpy as np, tensorstore as ts
CHUNK = 256 * 1024
def spec(path):
    return {"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}, "metadata": {
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK * 512]}},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [CHUNK], "codecs": [{"name": "blosc", "configuration": {"clevel": 5}}]}}]}}
_, theirs, ours, rows_file = sys.argv
rows = [np.array(r, dtype=np.int32) for r in json.load(open(rows_file))]
def create(name, dtype):
    return ts.open(spec(theirs + "/input_ids/" + name), dtype=dtype, shape=[2**54], create=True).result()
data, offsets = create("data", "int32"), create("offsets", "int64")
flat, ends = np.concatenate(rows), np.cumsum([len(r) for r in rows])
data[0:len(flat)].write(flat).result()
offsets[1:len(ends) + 1].write(ends).result()
offsets[0].write(len(rows)).result()
json.dump({"total_num_rows": len(rows), "shard_rows": {"": len(rows)}, "is_finished": True, "finished_shards": [""],
           "field_counts": {}, "metadata": {"preprocessor_metadata": None}}, open(theirs + "/shard_ledger.json", "w"))
def opened(name):
    return ts.open(spec(ours + "/input_ids/" + name), open=True).result()
assert int(opened("offsets")[0].read().result()) == len(rows)
assert (opened("offsets")[1:len(ends) + 1].read().result() == ends).all()
assert (opened("data")[0:len(flat) + 7].read().result() == np.concatenate([flat, np.zeros(7, np.int32)])).all()
)PY";

TEST_F(LevanterTest, TensorStoreReadsAndWritesTheSame) {
  const auto python = env::for_tests("BORA_TENSORSTORE_PYTHON");
  if (!python)
    GTEST_SKIP() << "BORA_TENSORSTORE_PYTHON names no Python with `tensorstore`: nothing to compare with";
  // More than two chunks, one of them of zeros.
  Json rows = Json::array();
  std::string raw;
  for (std::int32_t i = 0; i < 9; ++i) {
    std::vector<std::int32_t> row(70'000);
    for (std::size_t k = 0; k < row.size(); ++k)
      row[k] =
          i >= 3 && i < 8 ? 0 : static_cast<std::int32_t>((k * k + static_cast<std::size_t>(i)) % 32'003);
    rows.push_back(row);
    row.push_back(40'000);  // ends a document of the raw file
    raw += bytes(row);
  }
  const auto rows_file = folder_.write("rows.json", rows.dump());
  const auto raw_file = folder_.write("rows.u32", raw);
  auto cache = import_tokens(folder_ / "raw", {raw_file}, TokenFiles::RawU32, {.eos_id = 40'000});
  for (auto& row : rows) row.push_back(40'000);
  folder_.write("rows.json", rows.dump());
  export_tokens(*cache, folder_ / "ours", TokenFiles::Levanter);
  const std::string script = folder_.write("oracle.py", kScript);
  const std::string command = fmt::format("'{}' '{}' '{}' '{}' '{}'", *python, script, folder_ / "theirs",
                                          folder_ / "ours", rows_file);
  ASSERT_EQ(std::system(command.c_str()), 0);
  expect_same(*import(folder_ / "theirs"), *cache);
}

}  // namespace
}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bora/base/fault_files.h"
#include "bora/store/cache_builder.h"
#include "bora/store/table_file.h"
#include "bora/store/test_files.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

std::shared_ptr<arrow::Array> strings(const std::vector<std::optional<std::string>>& values) {
  arrow::StringBuilder builder;
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Table> table(const std::string& name, const std::shared_ptr<arrow::Array>& column) {
  return arrow::Table::Make(arrow::schema({arrow::field(name, column->type())}), {column});
}

std::shared_ptr<arrow::Table> texts(int n) {
  std::vector<std::optional<std::string>> values;
  for (int i = 0; i < n; ++i)
    values.push_back(
        i == 3 ? "" : fmt::format("row {} {}", i, std::string(static_cast<std::size_t>(i % 50), 'x')));
  return table("text", strings(values));
}

std::string take(const std::shared_ptr<arrow::io::BufferOutputStream>& out) {
  return out->Finish().ValueOrDie()->ToString();
}

std::string parquet_file(const std::shared_ptr<arrow::Table>& rows, std::int64_t group,
                         arrow::Compression::type codec = arrow::Compression::ZSTD) {
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto properties = parquet::WriterProperties::Builder().compression(codec)->build();
  EXPECT_TRUE(parquet::arrow::WriteTable(*rows, arrow::default_memory_pool(), out, group, properties).ok());
  return take(out);
}

std::string ipc(const std::shared_ptr<arrow::Table>& rows, bool stream, std::int64_t batch,
                arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED) {
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(codec).ValueOrDie();
  const auto writer = stream ? arrow::ipc::MakeStreamWriter(out, rows->schema(), options).ValueOrDie()
                             : arrow::ipc::MakeFileWriter(out, rows->schema(), options).ValueOrDie();
  EXPECT_TRUE(writer->WriteTable(*rows, batch).ok());
  EXPECT_TRUE(writer->Close().ok());
  return take(out);
}

/// Bytes that this process has of addresses.
std::uint64_t address_space() {
  return std::stoull(read_text("/proc/self/statm")) * static_cast<std::uint64_t>(getpagesize());
}

class ArrowPlugin : public testing::Test {
 protected:
  ArrowPlugin() : folder_("arrow") {}

  static Texts read(const std::string& path, std::uint64_t begin, std::uint64_t end,
                    const TextFormat& format = {}, RawObserver observer = {}) {
    const Source source = look_up_sources({path})[0];
    const auto reader =
        open_documents({source, begin, std::min(end, source.size)}, format, std::move(observer));
    Texts out;
    TextPiece piece;
    while (reader->next(piece)) {
      if (piece.begins_document) out.emplace_back();
      out.back() += piece.text;
    }
    return out;
  }
  static Texts read(const std::string& path, const TextFormat& format = {}) {
    return read(path, 0, UINT64_MAX, format);
  }
  static Texts expected(int n) {
    Texts out;
    for (int i = 0; i < n; ++i) {
      if (i != 3)
        out.push_back(fmt::format("row {} {}", i, std::string(static_cast<std::size_t>(i % 50), 'x')));
    }
    return out;
  }
  std::string wrong(const std::string& name, const std::string& content,
                    ErrorKind kind = ErrorKind::Corruption, const TextFormat& format = {}) {
    const std::string path = folder_.write(name, content);
    std::string message = error_of(kind, [&] { read(path, format); });
    for (auto at = message.find(folder_.path()); at != std::string::npos; at = message.find(folder_.path()))
      message.erase(at, folder_.path().size() + 1);
    return message;
  }

  NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  TemporaryFolder folder_;
};

TEST_F(ArrowPlugin, EveryKindOfFile) {
  const auto rows = texts(500);
  using Codec = arrow::Compression;
  for (const auto codec :
       {Codec::UNCOMPRESSED, Codec::SNAPPY, Codec::GZIP, Codec::ZSTD, Codec::LZ4, Codec::BROTLI})
    EXPECT_EQ(read(folder_.write("a.parquet", parquet_file(rows, 60, codec))), expected(500))
        << static_cast<int>(codec);
  EXPECT_EQ(read(folder_.write("a.feather", ipc(rows, false, 70))), expected(500));
  EXPECT_EQ(read(folder_.write("file.arrow", ipc(rows, false, 70))), expected(500));
  EXPECT_EQ(read(folder_.write("stream.arrow", ipc(rows, true, 70))), expected(500));
  EXPECT_EQ(read(folder_.write("none.parquet", parquet_file(texts(0), 1))), Texts{});
  EXPECT_EQ(read(folder_.write("none.arrow", ipc(texts(0), true, 1))), Texts{});
}

TEST_F(ArrowPlugin, RangesMeetAtRowGroups) {
  const auto rows = texts(500);
  for (const auto& path :
       {folder_.write("a.parquet", parquet_file(rows, 60)), folder_.write("a.arrow", ipc(rows, false, 70)),
        folder_.write("s.arrow", ipc(rows, true, 70))}) {
    const std::uint64_t size = files().info(path)->size;
    const std::string raw = read_text(path);
    for (std::uint64_t step : {std::uint64_t{100}, size / 3, size / 2, size - 1}) {
      Texts all;
      std::string seen;
      std::size_t pieces = 0;
      for (std::uint64_t begin = 0; begin < size; begin += step) {
        const auto some = read(path, begin, begin + step, {}, [&](std::span<const std::byte> bytes) {
          seen.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        });
        pieces += some.empty() ? 0 : 1;
        all.insert(all.end(), some.begin(), some.end());
      }
      EXPECT_EQ(all, expected(500)) << path << " by " << step;
      EXPECT_EQ(seen, raw) << path << " by " << step;
      EXPECT_TRUE(step != 100 || !path.ends_with("a.parquet") || pieces == 9) << pieces;
    }
  }
}

TEST_F(ArrowPlugin, CachesAreTheSameForAnyCut) {
  const auto path = folder_.write("a.parquet", parquet_file(texts(2000), 90));
  std::vector<std::vector<std::int32_t>> tokens;
  for (const std::uint64_t shard : {std::uint64_t{1} << 30, std::uint64_t{2000}}) {
    const std::string directory = folder_ / fmt::format("cache{}", shard);
    const auto cache = build_cache(directory, {path}, ByteProcessor(), {.shard_bytes = shard});
    EXPECT_EQ(cache->num_documents(), 1999);
    tokens.push_back(cache->tokens(0, cache->num_tokens()));
    // A new date alone: the content is read again and found the same.
    folder_.write("a.parquet", read_text(path));
    EXPECT_EQ(build_cache(directory, {path}, ByteProcessor(), {.shard_bytes = shard})->num_documents(), 1999);
  }
  EXPECT_EQ(tokens[0], tokens[1]);
}

TEST_F(ArrowPlugin, KindsOfText) {
  const auto large = strings({"a", "\u00e9"})->View(arrow::utf8()).ValueOrDie();
  arrow::LargeStringBuilder builder;
  EXPECT_TRUE(builder.AppendValues({"big", "string"}).ok());
  const auto wide = table("text", builder.Finish().ValueOrDie());
  arrow::StringDictionaryBuilder coded;
  for (const char* word : {"a", "b", "a"}) EXPECT_TRUE(coded.Append(word).ok());
  const auto categories = table("body", coded.Finish().ValueOrDie());
  for (const bool stream : {false, true}) {
    EXPECT_THAT(read(folder_.write("l.arrow", ipc(table("text", large), stream, 10))),
                ElementsAre("a", "\u00e9"));
    EXPECT_THAT(read(folder_.write("w.arrow", ipc(wide, stream, 10))), ElementsAre("big", "string"));
    EXPECT_THAT(read(folder_.write("c.arrow", ipc(categories, stream, 10)), {.text_key = "body"}),
                ElementsAre("a", "b", "a"));
  }
  EXPECT_THAT(read(folder_.write("w.parquet", parquet_file(wide, 10))), ElementsAre("big", "string"));
  EXPECT_THAT(read(folder_.write("c.parquet", parquet_file(categories, 10)), {.text_key = "body"}),
              ElementsAre("a", "b", "a"));
}

template <class Builder>
std::shared_ptr<arrow::Array> bytes_of(const std::vector<std::string>& values) {
  Builder builder;
  for (const auto& value : values) EXPECT_TRUE(builder.Append(value).ok());
  return builder.Finish().ValueOrDie();
}

TEST_F(ArrowPlugin, BytesThatAreTextAreText) {
  const std::vector<std::string> good{"a", "\u00e9"}, bad{"a", "\xff!"};
  for (const auto& column : {bytes_of<arrow::BinaryBuilder>(good), bytes_of<arrow::LargeBinaryBuilder>(good),
                             bytes_of<arrow::BinaryViewBuilder>(good)}) {
    EXPECT_THAT(read(folder_.write("g.arrow", ipc(table("text", column), true, 10))),
                ElementsAre("a", "\u00e9"))
        << column->type()->ToString();
  }
  const auto rows = table("text", bytes_of<arrow::BinaryBuilder>(good));
  EXPECT_THAT(read(folder_.write("g.parquet", parquet_file(rows, 10))), ElementsAre("a", "\u00e9"));
  const auto spoilt = parquet_file(table("text", bytes_of<arrow::BinaryBuilder>(bad)), 10);
  EXPECT_EQ(wrong("b.parquet", spoilt),
            "b.parquet: row 1: invalid UTF-8 at byte 0 of \"text\"\nhint: format.invalid_utf8: replace");
  EXPECT_THAT(read(folder_.write("b.parquet", spoilt), {.invalid_utf8 = InvalidText::Replace}),
              ElementsAre("a", "\uFFFD!"));
  const TextFormat records{.text_key = "", .whole_records = true};
  EXPECT_THAT(read(folder_.write("b.parquet", spoilt), records),
              ElementsAre(R"({"text":"a"})", R"({"text":{"bytes that are no UTF-8":2}})"));
}

TEST_F(ArrowPlugin, LongTextsComeInPieces) {
  const std::string text = sample_text(1, 3 << 20);
  const auto path =
      folder_.write("long.parquet", parquet_file(table("text", strings({"short", text, "end"})), 10));
  EXPECT_THAT(read(path), ElementsAre("short", text, "end"));
}

TEST_F(ArrowPlugin, RowsAsJson) {
  const auto role = arrow::field("role", arrow::utf8()), content = arrow::field("content", arrow::utf8());
  const auto message = arrow::struct_({role, content});
  std::unique_ptr<arrow::ArrayBuilder> made;
  EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), arrow::list(message), &made).ok());
  auto& list = static_cast<arrow::ListBuilder&>(*made);
  auto& fields = static_cast<arrow::StructBuilder&>(*list.value_builder());
  const auto say = [&](const std::string& who, const std::string& what) {
    EXPECT_TRUE(fields.Append().ok());
    EXPECT_TRUE(static_cast<arrow::StringBuilder&>(*fields.field_builder(0)).Append(who).ok());
    EXPECT_TRUE(static_cast<arrow::StringBuilder&>(*fields.field_builder(1)).Append(what).ok());
  };
  EXPECT_TRUE(list.Append().ok());
  say("user", "a \"quote\"\n\\");
  say("assistant", "\u65e5");
  EXPECT_TRUE(list.AppendNull().ok());
  arrow::DoubleBuilder weights;
  EXPECT_TRUE(weights.AppendValues({0.5, std::numeric_limits<double>::infinity()}).ok());
  arrow::Int64Builder ids;
  EXPECT_TRUE(ids.AppendValues({7, -8}).ok());
  arrow::BooleanBuilder flags;
  EXPECT_TRUE(flags.AppendValues(std::vector<bool>{true, false}).ok());
  arrow::Date32Builder dates;
  EXPECT_TRUE(dates.AppendValues({0, 1}).ok());
  const auto rows = arrow::Table::Make(
      arrow::schema({arrow::field("messages", arrow::list(message)), arrow::field("w", arrow::float64()),
                     arrow::field("id", arrow::int64()), arrow::field("ok", arrow::boolean()),
                     arrow::field("day", arrow::date32())}),
      {list.Finish().ValueOrDie(), weights.Finish().ValueOrDie(), ids.Finish().ValueOrDie(),
       flags.Finish().ValueOrDie(), dates.Finish().ValueOrDie()});
  const std::string
      first =
          R"({"messages":[{"role":"user","content":"a \"quote\"\u000a\\"},{"role":"assistant","content":"日"}],)"
          R"("w":0.5,"id":7,"ok":true,"day":"1970-01-01"})",
      second = R"({"messages":null,"w":null,"id":-8,"ok":false,"day":"1970-01-02"})";
  const TextFormat records{.text_key = "", .whole_records = true};
  EXPECT_THAT(read(folder_.write("r.parquet", parquet_file(rows, 1)), records), ElementsAre(first, second));
  EXPECT_THAT(read(folder_.write("r.arrow", ipc(rows, true, 1)), records), ElementsAre(first, second));
  EXPECT_THAT(read(folder_.write("f.arrow", ipc(rows, false, 1)), records), ElementsAre(first, second));
}

// Not in the column's own list of nulls.
TEST_F(ArrowPlugin, ANullThatIsInADictionary) {
  const auto codes = [] {
    arrow::Int8Builder builder;
    EXPECT_TRUE(builder.AppendValues({0, 1}).ok());
    return builder.Finish().ValueOrDie();
  }();
  const auto column = arrow::DictionaryArray::FromArrays(codes, strings({"a", std::nullopt})).ValueOrDie();
  const TextFormat records{.text_key = "", .whole_records = true};
  EXPECT_THAT(read(folder_.write("d.arrow", ipc(table("text", column), true, 2)), records),
              ElementsAre(R"({"text":"a"})", R"({"text":null})"));
}

TEST_F(ArrowPlugin, WrongColumns) {
  EXPECT_EQ(wrong("a.parquet", parquet_file(table("body", strings({"x"})), 1)),
            "a.parquet: no column \"text\"; it has body\nhint: set format.text_key to the column that holds "
            "the text");
  arrow::Int64Builder ids;
  EXPECT_TRUE(ids.Append(1).ok());
  EXPECT_EQ(wrong("a.arrow", ipc(table("text", ids.Finish().ValueOrDie()), true, 1)),
            "a.arrow: column \"text\" should hold strings but is int64");
  const auto nothing = table("text", strings({"a", "b", "c", std::nullopt}));
  for (const std::string name : {"n.parquet", "n.arrow"}) {
    EXPECT_EQ(wrong(name, name == "n.arrow" ? ipc(nothing, false, 2) : parquet_file(nothing, 2)),
              name + ": row 3: column \"text\" should be a string but is null");
  }
}

TEST_F(ArrowPlugin, DamagedFiles) {
  EXPECT_EQ(wrong("a.parquet", "{\"text\": 1}"),
            "a.parquet: does not begin with PAR1, so it is no Parquet file");
  EXPECT_THAT(wrong("a.arrow", "no stream"), HasSubstr("a.arrow: "));
  EXPECT_EQ(wrong("a.feather", "FEA1abcdefgh", ErrorKind::Unsupported),
            "a.feather: Feather version 1\nhint: write it again with a newer program: version 2");
  const auto rows = texts(300);
  for (const std::string& good : {parquet_file(rows, 60), ipc(rows, false, 60), ipc(rows, true, 60)}) {
    const std::string name = good.starts_with("PAR1") ? "d.parquet" : "d.arrow";
    EXPECT_THAT(wrong(name, good.substr(0, good.size() / 2)), HasSubstr(name + ": "));
    // Any flipped byte gives texts or an error, never a crash.
    for (std::size_t at = 0; at < good.size(); at += 97) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x55);
      const auto path = folder_.write(name, bad);
      try {
        read(path);
      } catch (const Error& e) {
        EXPECT_TRUE(e.kind() == ErrorKind::Corruption || e.kind() == ErrorKind::Unsupported) << e.what();
        EXPECT_THAT(e.what(), HasSubstr(name));
      }
    }
  }
}

TEST_F(ArrowPlugin, AFewBytesThatAskForGigabytes) {
  std::string bad =
      ipc(table("text", strings({std::string(100'000, 'x')})), false, 1, arrow::Compression::ZSTD);
  const auto bytes_of = [](std::int64_t n) {
    return std::string(reinterpret_cast<const char*>(&n), sizeof n);
  };
  const auto at = bad.find(bytes_of(100'000) + "\x28\xb5\x2f\xfd");  // a compressed buffer: its size, a frame
  ASSERT_NE(at, std::string::npos);
  bad.replace(at, sizeof(std::int64_t), bytes_of(std::int64_t{3} << 30));
  EXPECT_EQ(wrong("a.arrow", bad),
            fmt::format("a.arrow: a file of {} bytes asks for more than 1024 MiB of memory to be read\n"
                        "hint: it is damaged, or should be written again with smaller pages and batches",
                        bad.size()));
}

// Its rows are no bytes, and as many as it says: millions of empty objects out of a few hundred bytes.
TEST_F(ArrowPlugin, ATableWithoutColumns) {
  const auto rows = arrow::Table::Make(arrow::schema({}), arrow::ChunkedArrayVector{}, 83'886'087);
  EXPECT_EQ(
      wrong("a.arrow", ipc(rows, false, 100'000'000), ErrorKind::Corruption,
            {.text_key = "", .whole_records = true}),
      "a.arrow: the table has 0 columns, so that its rows hold nothing; at least 1 column with bytes is needed\n"
      "hint: it was changed or cut, or nothing was written into it; write it again");
}

// Neither have columns of such types, in either kind of file.
TEST_F(ArrowPlugin, ColumnsWithoutBytes) {
  constexpr std::int64_t kRows = 83'886'087;
  const auto nulls = arrow::MakeArrayOfNull(arrow::null(), kRows).ValueOrDie();
  const auto empty = arrow::StructArray::Make({nulls}, {arrow::field("x", arrow::null())}).ValueOrDie();
  const auto lists = std::make_shared<arrow::FixedSizeListArray>(
      arrow::fixed_size_list(arrow::utf8(), 0), kRows, arrow::MakeArrayOfNull(arrow::utf8(), 0).ValueOrDie());
  const auto all =
      arrow::Table::Make(arrow::schema({arrow::field("a", arrow::null()), arrow::field("b", empty->type()),
                                        arrow::field("c", lists->type())}),
                         {nulls, empty, lists});
  const TextFormat records{.text_key = "", .whole_records = true};
  const std::string words =
      "the table has no bytes in its columns (a: null, b: struct<x: null>, c: fixed_size_list<item: string>[0]), so "
      "that its rows hold nothing; at least 1 column with bytes is needed";
  for (const bool stream : {false, true})
    EXPECT_THAT(wrong("a.arrow", ipc(all, stream, kRows), ErrorKind::Corruption, records), HasSubstr(words));
  const auto one = arrow::Table::Make(arrow::schema({arrow::field("a", arrow::null())}), {nulls});
  EXPECT_THAT(wrong("a.parquet", parquet_file(one, kRows), ErrorKind::Corruption, records),
              HasSubstr("no bytes in its columns (a: null)"));
  // Beside others they are what they were.
  const auto some = arrow::MakeArrayOfNull(arrow::null(), 2).ValueOrDie();
  const auto both = arrow::Table::Make(
      arrow::schema({arrow::field("a", arrow::null()), arrow::field("text", arrow::utf8())}),
      {some, strings({"x", "y"})});
  EXPECT_THAT(read(folder_.write("both.arrow", ipc(both, true, 10))), ElementsAre("x", "y"));
}

// Their rows are as many as the file says, in a few bytes.
TEST_F(ArrowPlugin, ARunThatNeverEnds) {
  const auto run = arrow::RunEndEncodedArray::Make(
                       83'886'087, arrow::MakeArrayFromScalar(arrow::Int32Scalar(83'886'087), 1).ValueOrDie(),
                       strings({"x"}))
                       .ValueOrDie();
  EXPECT_THAT(wrong("a.arrow", ipc(table("a", run), true, 100'000'000), ErrorKind::Corruption,
                    {.text_key = "", .whole_records = true}),
              HasSubstr("no bytes in its columns (a: run_end_encoded"));
}

// A system that has no memory left says nothing of the file.
TEST_F(ArrowPlugin, MemoryThatEndsIsNoDamage) {
  if (arrow::default_memory_pool()->backend_name() != "system") {
    GTEST_SKIP() << "Arrow's allocators have addresses in store; ARROW_DEFAULT_MEMORY_POOL=system has none";
  }
  const auto path =
      folder_.write("a.parquet", parquet_file(table("text", strings({std::string(100'000'000, 'x')})), 1));
  EXPECT_EQ(read(folder_.write("small.parquet", parquet_file(texts(4), 4))).size(),
            3U);  // loads the libraries
  const auto read_with_little = [&] {
    const rlimit limit{.rlim_cur = address_space() + (std::uint64_t{32} << 20), .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    const auto message = error_of(ErrorKind::Io, [&] {
      const Source source = look_up_sources({path})[0];
      TextPiece piece;
      open_documents({source, 0, source.size}, {}, {})->next(piece);
    });
    std::_Exit(message == path +
                              ": out of memory while it is read\n"
                              "hint: fewer programs at once, or a larger ulimit -v"
                   ? 0
                   : 1);
  };
  EXPECT_EXIT(read_with_little(), testing::ExitedWithCode(0), "");
}

TEST_F(ArrowPlugin, AFailingDiskIsAnErrorOfTheDisk) {
  const auto path = folder_.write("a.parquet", parquet_file(texts(300), 60));
  int failed = 0;
  for (std::int64_t n = 1; n < 200; ++n) {
    FaultFiles broken(files(), {.nth = n, .operations = {FileOperation::Open, FileOperation::Read}});
    const ScopedFileSystem scope(broken);
    try {
      EXPECT_EQ(read(path), expected(300));
    } catch (const Error& e) {
      EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(ErrorKind::Io)) << e.what();
      ++failed;
    }
    if (!broken.fired()) break;
  }
  EXPECT_GT(failed, 5);
}

}  // namespace
}  // namespace bora::store

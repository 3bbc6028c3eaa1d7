// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/token_files.h"

#include <numeric>

#include "bora/base/fault_files.h"
#include "bora/store/cache_builder.h"
#include "bora/store/test_files.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

template <class T>
std::string bytes(std::initializer_list<T> values) {
  std::string out;
  for (const T value : values) out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return out;
}

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() : folder_("tokenfiles") {}

  std::shared_ptr<const TokenCache> import(const std::vector<std::string>& paths, TokenFiles kind,
                                           const ImportOptions& options = {}) {
    return import_tokens(folder_ / fmt::format("c{}", made_++), paths, kind, options);
  }
  static std::vector<Ids> documents(const TokenCache& cache) {
    std::vector<Ids> out;
    for (std::int64_t d = 0; d < cache.num_documents(); ++d) {
      const auto begin = cache.document_begin(d);
      out.push_back(cache.tokens(begin, cache.document_end(d) - begin));
    }
    return out;
  }
  /// A cache of text with several shards, and of two or four bytes a token.
  std::shared_ptr<const TokenCache> text(std::int64_t vocab = 258) {
    std::vector<std::string> paths;
    for (int i = 0; i < 5; ++i)
      paths.push_back(
          folder_.write(fmt::format("t{}.txt", i), sample_text(static_cast<std::uint64_t>(i), 3000)));
    return build_cache(folder_ / fmt::format("text{}", vocab), paths, ByteProcessor("b", vocab),
                       {.shard_bytes = 2500});
  }
  std::string wrong(const std::vector<std::string>& paths, TokenFiles kind,
                    ErrorKind error = ErrorKind::Corruption) {
    std::string message = error_of(error, [&] { import(paths, kind); });
    for (auto at = message.find(folder_.path() + "/"); at != std::string::npos;
         at = message.find(folder_.path() + "/"))
      message.erase(at, folder_.path().size() + 1);
    return message;
  }
  NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  TemporaryFolder folder_;
  int made_ = 0;
};

TEST_F(TokenFileTest, Raw) {
  const auto a = folder_.write("a.bin", bytes<std::uint16_t>({1, 2, 0, 3, 65535, 0, 7}));
  const auto b = folder_.write("b.bin", bytes<std::uint16_t>({8}));
  EXPECT_THAT(documents(*import({a, b}, TokenFiles::RawU16)),
              ElementsAre(Ids{1, 2, 0, 3, 65535, 0, 7}, Ids{8}));
  EXPECT_THAT(documents(*import({a, b}, TokenFiles::RawU16, {.eos_id = 0})),
              ElementsAre(Ids{1, 2, 0}, Ids{3, 65535, 0}, Ids{7}, Ids{8}));
  const auto wide = folder_.write("w.bin", bytes<std::uint32_t>({1, 70000}));
  const auto cache = import({wide}, TokenFiles::RawU32);
  EXPECT_EQ(cache->tokens(0, 2), (Ids{1, 70000}));
  EXPECT_EQ(cache->ledger().vocab_size, 70001);
  EXPECT_EQ(cache->ledger().fingerprint, "imported from raw-u32");
  cache->verify();
  EXPECT_EQ(wrong({folder_.write("odd.bin", "abc")}, TokenFiles::RawU16),
            "odd.bin: 3 bytes are no whole number of ids of 2 bytes");
  EXPECT_EQ(wrong({folder_.write("big.bin", bytes<std::uint32_t>({1, 1U << 31}))}, TokenFiles::RawU32),
            "big.bin: the id at byte 4 is 2147483648");
  EXPECT_EQ(wrong({folder_.write("none.bin", "")}, TokenFiles::RawU16),
            "import: none.bin holds no token\nhint: look whether they are files of ids, and whole");
}

TEST_F(TokenFileTest, LessThanASequenceIsNoRecord) {
  const auto cache = text();
  EXPECT_EQ(
      error_of(ErrorKind::Config,
               [&] { export_tokens(*cache, folder_ / "t", TokenFiles::Tfrecord, {.seq_len = 1 << 20}); }),
      fmt::format("export: the cache has {} tokens, fewer than one sequence of 1048576 and its last target\n"
                  "hint: a smaller --seq_len",
                  cache->num_tokens()));
  EXPECT_FALSE(exists(folder_ / "t_0.tfrecords"));
}

TEST_F(TokenFileTest, EveryKindComesBackAsItWas) {
  for (const std::int64_t vocab : {258, 70000}) {
    const auto cache = text(vocab);
    const auto all = cache->tokens(0, cache->num_tokens());
    const std::string out = folder_ / fmt::format("out{}", vocab);
    const auto raw = export_tokens(*cache, out + ".u32", TokenFiles::RawU32);
    EXPECT_THAT(raw, ElementsAre(out + ".u32"));
    EXPECT_EQ(import(raw, TokenFiles::RawU32)->tokens(0, cache->num_tokens()), all);
    EXPECT_EQ(documents(*import(raw, TokenFiles::RawU32, {.eos_id = 1})), documents(*cache));
    const auto megatron = export_tokens(*cache, out, TokenFiles::Megatron);
    EXPECT_THAT(megatron, ElementsAre(out + ".bin", out + ".idx"));
    EXPECT_EQ(documents(*import({out}, TokenFiles::Megatron)), documents(*cache));
    EXPECT_EQ(documents(*import({out + ".idx"}, TokenFiles::Megatron)), documents(*cache));
    for (const std::string name : {"plain", "zstd"}) {
      const auto records = export_tokens(*cache, out + name, TokenFiles::Tfrecord, {.seq_len = 99});
      const auto n = static_cast<std::int64_t>(all.size() / 100);
      EXPECT_THAT(records, ElementsAre(fmt::format("{}{}_{}.tfrecords", out, name, n)));
      const auto back = import(records, TokenFiles::Tfrecord);
      EXPECT_EQ(back->num_documents(), n);
      EXPECT_EQ(back->tokens(0, 100 * n), cache->tokens(0, 100 * n));
      const auto parted = import(records, TokenFiles::Tfrecord, {.eos_id = 1});
      EXPECT_GT(parted->num_documents(), n) << "a record holds several";
      EXPECT_EQ(parted->tokens(0, 100 * n), cache->tokens(0, 100 * n));
      for (std::int64_t d = 0; d < parted->num_documents(); ++d) {
        const std::int64_t end = parted->document_end(d);
        EXPECT_TRUE(end % 100 == 0 || parted->tokens(end - 1, 1).front() == 1) << d;
      }
    }
  }
  EXPECT_EQ(
      error_of(ErrorKind::Config, [&] { export_tokens(*text(70000), folder_ / "x", TokenFiles::RawU16); }),
      "export: ids of a vocabulary of 70000 do not fit two bytes\nhint: raw-u32");
  EXPECT_FALSE(exists(folder_ / "x"));
}

/// Fields of a small .idx file, to be spoilt.
struct Index {
  std::string magic = std::string("MMIDIDX\0\0", 9);
  std::uint64_t version = 1;
  std::uint8_t type = 8;
  std::uint64_t sequences = 3, boundaries = 3;
  std::vector<std::int32_t> lengths{2, 1, 3};
  std::vector<std::int64_t> offsets{0, 4, 6}, documents{0, 2, 3};
  std::string text() const {
    std::string out = magic + bytes({version}) + bytes({type}) + bytes({sequences, boundaries});
    for (const auto x : lengths) out += bytes({x});
    for (const auto x : offsets) out += bytes({x});
    for (const auto x : documents) out += bytes({x});
    return out;
  }
};

TEST_F(TokenFileTest, MegatronDocumentsOfSeveralSequences) {
  folder_.write("m.bin", bytes<std::uint16_t>({1, 2, 3, 4, 5, 6}));
  folder_.write("m.idx", Index().text());
  EXPECT_THAT(documents(*import({folder_ / "m"}, TokenFiles::Megatron)),
              ElementsAre(Ids{1, 2, 3}, Ids{4, 5, 6}));
  Index typed;
  typed.type = 4;
  typed.offsets = {0, 8, 12};
  folder_.write("i.bin", bytes<std::int32_t>({1, 2, 3, 4, 5, 70000}));
  folder_.write("i.idx", typed.text() + std::string(3, '\0'));
  EXPECT_EQ(import({folder_ / "i.bin"}, TokenFiles::Megatron)->tokens(5, 1), Ids{70000});
}

TEST_F(TokenFileTest, MegatronModesOtherThanTextAreRefused) {
  folder_.write("m.bin", bytes<std::uint16_t>({1, 2, 3, 4, 5, 6}));
  folder_.write("m.idx", Index().text() + std::string("\0\1\0", 3));
  EXPECT_EQ(wrong({folder_ / "m"}, TokenFiles::Megatron, ErrorKind::Unsupported),
            "m.idx: sequence 1 has mode 1: it is no text, but ids of another kind\nhint: Bora trains on text "
            "alone; write the sequences of mode 0 to a data set of their own");
  folder_.write("m.idx", Index().text() + "12");
  EXPECT_EQ(wrong({folder_ / "m"}, TokenFiles::Megatron),
            "m.idx: 2 bytes follow its documents, but there are 3 sequences to have a mode");
}

/// A file as llm.c writes it: 256 numbers, then ids.
std::string shard(std::int32_t magic, std::int32_t version, std::int32_t count, const std::string& ids) {
  std::string out = bytes({magic, version, count});
  out.resize(1024);
  return out + ids;
}

TEST_F(TokenFileTest, ShardsWithAHeader) {
  const auto narrow = bytes<std::uint16_t>({1, 2, 50256, 3});
  const auto a = folder_.write("a.bin", shard(20240520, 1, 4, narrow));
  EXPECT_THAT(documents(*import({a}, TokenFiles::RawU16, {.eos_id = 50256})),
              ElementsAre(Ids{1, 2, 50256}, Ids{3}));
  const auto b = folder_.write("b.bin", shard(20240801, 7, 2, bytes<std::uint32_t>({128000, 5})));
  EXPECT_THAT(documents(*import({b}, TokenFiles::RawU32)), ElementsAre(Ids{128000, 5}));
  EXPECT_EQ(wrong({a}, TokenFiles::RawU32, ErrorKind::Config),
            "a.bin: llm.c's header says ids of 2 bytes, not 4\nhint: --format raw-u16");
  EXPECT_EQ(wrong({b}, TokenFiles::RawU16, ErrorKind::Config),
            "b.bin: llm.c's header says ids of 4 bytes, not 2\nhint: --format raw-u32");
  EXPECT_EQ(wrong({folder_.write("v.bin", shard(20240520, 2, 4, narrow))}, TokenFiles::RawU16,
                  ErrorKind::Unsupported),
            "v.bin: begins like llm.c's tokens (magic 20240520) of version 2, but Bora reads version 1");
  EXPECT_EQ(wrong({folder_.write("cut.bin", shard(20240520, 1, 5, narrow))}, TokenFiles::RawU16),
            "cut.bin: llm.c's header says 5 ids of 2 bytes, but 8 bytes follow it");
  EXPECT_EQ(
      wrong({folder_.write("q.bin", shard(20240522, 1, 1, narrow))}, TokenFiles::RawU16,
            ErrorKind::Unsupported),
      "q.bin: begins like llm.c's questions with several answers (magic 20240522), which are no text to "
      "train on");
  EXPECT_EQ(wrong({folder_.write("e.bin", shard(20240520, 1, 0, ""))}, TokenFiles::RawU16),
            "import: e.bin holds no token\nhint: look whether they are files of ids, and whole");
}

TEST_F(TokenFileTest, DamagedMegatron) {
  folder_.write("m.bin", bytes<std::uint16_t>({1, 2, 3, 4, 5, 6}));
  const auto message = [&](auto&& spoil) {
    Index index;
    spoil(index);
    folder_.write("m.idx", index.text());
    return wrong({folder_ / "m.idx"}, TokenFiles::Megatron);
  };
  EXPECT_EQ(message([](Index& i) { i.magic[0] = 'x'; }), "m.idx: does not begin with MMIDIDX");
  EXPECT_EQ(message([](Index& i) { i.version = 2; }), "m.idx: version 2, but Bora reads version 1");
  EXPECT_EQ(message([](Index& i) { i.type = 7; }), "m.idx: type 7 is none of whole numbers (1 to 5, 8)");
  EXPECT_THAT(message([](Index& i) { i.sequences = ~std::uint64_t{0}; }),
              HasSubstr("sequences and 3 document"));
  EXPECT_THAT(message([](Index& i) { i.boundaries = 0; }), HasSubstr("do not fit its"));
  EXPECT_EQ(message([](Index& i) { i.documents = {0, 2, 2}; }),
            "m.idx: documents go from sequence 0 to 2 of 3");
  EXPECT_EQ(message([](Index& i) { i.documents = {0, 9, 3}; }), "m.idx: document 0 ends at sequence 9 of 3");
  EXPECT_EQ(message([](Index& i) { i.lengths[2] = 4; }),
            "m.idx: sequence 2 is 4 ids at byte 6, but m.bin has 12 bytes");
  EXPECT_THAT(message([](Index& i) { i.offsets[1] = -1; }), HasSubstr("m.idx: sequence 1 is 1 ids at byte"));
  folder_.write("m.idx", std::string("MMIDIDX\0\0", 9) + "abc");
  EXPECT_EQ(wrong({folder_ / "m"}, TokenFiles::Megatron), "m.idx: ends at byte 12 inside its header");
  Index index;
  index.type = 2;
  index.offsets = {0, 2, 3};
  folder_.write("m.idx", index.text());
  folder_.write("m.bin", std::string("ab\xff", 3) + "def");
  EXPECT_EQ(wrong({folder_ / "m"}, TokenFiles::Megatron), "m.bin: the id at byte 2 is -1");
}

TEST_F(TokenFileTest, DamagedRecords) {
  const auto path = export_tokens(*text(), folder_ / "t", TokenFiles::Tfrecord, {.seq_len = 9})[0];
  const std::string good = read_text(path);
  const auto with = [&](std::size_t at, char flip) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ flip);
    return wrong({folder_.write("bad.tfrecords", bad)}, TokenFiles::Tfrecord);
  };
  EXPECT_THAT(with(0, 1),
              HasSubstr("bad.tfrecords: is neither a tfrecord nor one compressed with zlib, at byte"));
  EXPECT_THAT(with(20, 1), HasSubstr("bad.tfrecords: the checksum of record 0 is wrong, at byte"));
  EXPECT_THAT(wrong({folder_.write("cut.tfrecords", good.substr(0, good.size() - 3))}, TokenFiles::Tfrecord),
              HasSubstr("cut.tfrecords: ends inside a record, at byte"));
  const auto framed = [&](const std::string& data) {
    const std::string length = bytes<std::uint64_t>({data.size()});
    return folder_.write("f.tfrecords", length + bytes({masked_crc32c(as_bytes(length))}) + data +
                                            bytes({masked_crc32c(as_bytes(data))}));
  };
  EXPECT_EQ(wrong({framed("\x0a\x7f")}, TokenFiles::Tfrecord), "f.tfrecords: record 0: no tf.train.Example");
  EXPECT_EQ(wrong({framed("")}, TokenFiles::Tfrecord),
            "f.tfrecords: record 0: the example has no feature \"text\"");
  const std::string huge = bytes<std::uint64_t>({std::uint64_t{1} << 40});
  EXPECT_THAT(wrong({folder_.write("h.tfrecords", huge + bytes({masked_crc32c(as_bytes(huge))}))},
                    TokenFiles::Tfrecord),
              HasSubstr("h.tfrecords: record 0 has 1099511627776 bytes"));
}

TEST_F(TokenFileTest, UnpackedListsAndIndexFiles) {
  // Example{Features{"text": Int64List{7, 300}}}, each value a field of its own.
  const std::string list = std::string("\x08\x07\x08\xac\x02", 5);
  const std::string feature = "\x1a" + std::string(1, static_cast<char>(list.size())) + list;
  const std::string entry = std::string("\x0a\x04text\x12") + static_cast<char>(feature.size()) + feature;
  const std::string features = std::string("\x0a") + static_cast<char>(entry.size()) + entry;
  const std::string data = std::string("\x0a") + static_cast<char>(features.size()) + features;
  const std::string length = bytes<std::uint64_t>({data.size()});
  folder_.write("one.tfrecords", length + bytes({masked_crc32c(as_bytes(length))}) + data +
                                     bytes({masked_crc32c(as_bytes(data))}));
  const auto escapes = folder_.write("escapes.index", "one.tfrecords\n../../secret\n");
  EXPECT_EQ(
      error_of(ErrorKind::Corruption, [&] { import({escapes}, TokenFiles::Tfrecord); }),
      escapes + ":2: ../../secret leaves the folder of the list\nhint: an absolute path, if this is meant");
  const auto index = folder_.write("all.index", "one.tfrecords\n\n" + (folder_ / "one.tfrecords") + "\n");
  EXPECT_THAT(documents(*import({index}, TokenFiles::Tfrecord)), ElementsAre(Ids{7, 300}, Ids{7, 300}));
}

TEST_F(TokenFileTest, OneCacheInADirectory) {
  const auto path = folder_.write("a.bin", bytes<std::uint16_t>({1, 2}));
  import_tokens(folder_ / "c", {path}, TokenFiles::RawU16);
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { import_tokens(folder_ / "c", {path}, TokenFiles::RawU16); }),
            fmt::format("import: {} has a token cache already\nhint: another directory", folder_ / "c"));
  EXPECT_EQ(error_of(ErrorKind::Usage, [] { parse_token_files("zarr"); }),
            "token files: zarr is none of raw-u16, raw-u32, megatron, tfrecord, levanter");
  EXPECT_EQ(parse_token_files("megatron"), TokenFiles::Megatron);
}

TEST_F(TokenFileTest, AFailedExportLeavesNothing) {
  const auto cache = text();
  const auto before = files().list(folder_.path());
  for (std::int64_t n = 1; n < 100; ++n) {
    FaultFiles broken(files(), {.nth = n});
    const ScopedFileSystem scope(broken);
    try {
      export_tokens(*cache, folder_ / "e", TokenFiles::Megatron);
    } catch (const Error& e) {
      EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(ErrorKind::Io)) << e.what();
    }
    if (!broken.fired()) break;
  }
  auto after = files().list(folder_.path());
  std::erase_if(after, [](const std::string& name) { return name == "e.bin" || name == "e.idx"; });
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace bora::store

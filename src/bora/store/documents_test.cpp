// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/documents.h"

#include <sys/stat.h>

#include "bora/store/object_store.h"
#include "bora/store/table_file.h"
#include "bora/store/test_files.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Segment whole(const std::string& path) {
  const Source source = look_up_sources({path})[0];
  return {source, 0, source.size};
}

struct Reading {
  std::vector<std::string> documents;
  bool open = false;  // the last document has not ended
  void add(const Segment& segment, const TextFormat& format = {}) {
    const auto reader = open_documents(segment, format);
    TextPiece piece;
    while (reader->next(piece)) {
      EXPECT_EQ(piece.begins_document, !open) << segment.source.path << " at " << segment.begin;
      EXPECT_LE(piece.text.size(), kPieceBytes);
      if (piece.begins_document) documents.emplace_back();
      documents.back() += piece.text;
      open = !piece.ends_document;
    }
  }
};

class Documents : public testing::Test {
 protected:
  Documents() : folder_("documents") {}
  std::vector<std::string> read(const std::string& name, std::string_view content,
                                const TextFormat& format = {}) {
    Reading reading;
    reading.add(whole(folder_.write(name, content)), format);
    EXPECT_FALSE(reading.open);
    return reading.documents;
  }
  std::string message(const std::string& name, std::string_view content,
                      ErrorKind kind = ErrorKind::Corruption) {
    std::string text = error_of(kind, [&] { read(name, content); });
    return text.starts_with(folder_.path()) ? text.substr(folder_.path().size() + 1) : text;
  }
  TemporaryFolder folder_;
};

TEST_F(Documents, Text) {
  EXPECT_THAT(read("a.txt", "one\ntwo\n"), ElementsAre("one\ntwo\n"));
  EXPECT_THAT(read("a.txt", "no end of line"), ElementsAre("no end of line"));
  EXPECT_THAT(read("a.txt", ""), IsEmpty());
  EXPECT_THAT(read("a.txt", "\xEF\xBB\xBFhi"), ElementsAre("hi"));
  EXPECT_THAT(read("a.txt", "one\n<|endoftext|>\ntwo\n"), ElementsAre("one\n", "two\n"));
  EXPECT_THAT(read("a.txt", "one\r\n<|endoftext|>\r\ntwo"), ElementsAre("one\r\n", "two"));
  EXPECT_THAT(read("a.txt", "<|endoftext|>\n<|endoftext|>\none\n<|endoftext|>"), ElementsAre("one\n"));
  EXPECT_THAT(read("a.txt", "a <|endoftext|>\nb<|endoftext|>\n<|endoftext|> c\n"),
              ElementsAre("a <|endoftext|>\nb<|endoftext|>\n<|endoftext|> c\n"))
      << "only a line of its own separates";
}

TEST_F(Documents, Lines) {
  EXPECT_THAT(
      read("a.jsonl", "{\"text\": \"one\"}\n\n{\"id\": [1, {\"text\": 2}], \"text\": \"t\\u00e9\\nw\"}\r\n"),
      ElementsAre("one", "t\u00e9\nw"));
  EXPECT_THAT(read("a.jsonl", ""), IsEmpty());
  EXPECT_THAT(read("a.jsonl", "\n \n"), IsEmpty());
  EXPECT_THAT(read("a.jsonl", "\xEF\xBB\xBF{\"text\":\"x\"}"), ElementsAre("x"));
  EXPECT_THAT(read("a.jsonl", "{\"text\":\"\"}\n{\"text\":\"x\"}"), ElementsAre("x"))
      << "empty documents are left out";
  EXPECT_THAT(read("a.json", "{\"body\":\"x\"}", {.text_key = "body"}), ElementsAre("x"));
}

TEST_F(Documents, Compressed) {
  const std::string lines = "{\"text\":\"one\"}\n{\"text\":\"two\"}\n";
  EXPECT_THAT(read("a.jsonl.gz", gzip(lines)), ElementsAre("one", "two"));
  EXPECT_THAT(read("a.jsonl.zst", zstd(lines)), ElementsAre("one", "two"));
  EXPECT_THAT(read("b.jsonl.gz", gzip(lines) + gzip("{\"text\":\"three\"}")),
              ElementsAre("one", "two", "three"));
  EXPECT_THAT(read("b.jsonl.zst", zstd(lines) + zstd("{\"text\":\"three\"}")),
              ElementsAre("one", "two", "three"));
  EXPECT_THAT(read("e.txt.gz", gzip("")), IsEmpty());
  const std::string text = sample_text(1, 3 << 20);
  EXPECT_EQ(read("c.txt.gz", gzip(text)), std::vector{text});
  EXPECT_EQ(read("c.txt.zst", zstd(text)), std::vector{text});
  EXPECT_EQ(read("c.txt.bz2", bzip2(text)), std::vector{text});
  EXPECT_THAT(read("b.jsonl.bz2", bzip2(lines) + bzip2("{\"text\":\"three\"}")),
              ElementsAre("one", "two", "three"));
  EXPECT_THAT(read("e.txt.bz2", bzip2("")), IsEmpty());
}

TEST_F(Documents, DamagedCompression) {
  const std::string text = sample_text(2, 100000);
  const std::string gz = gzip(text), zst = zstd(text);
  EXPECT_EQ(
      message("a.txt.gz", gz.substr(0, 500)),
      "a.txt.gz: the file ends at byte 500 inside a gzip stream\nhint: copy or download the file again");
  EXPECT_EQ(
      message("a.txt.zst", zst.substr(0, 500)),
      "a.txt.zst: the file ends at byte 500 inside a zstd stream\nhint: copy or download the file again");
  EXPECT_EQ(message("b.txt.gz", "no gzip at all"),
            "b.txt.gz: gzip data is damaged near byte 2: incorrect header check\nhint: copy or download the "
            "file again");
  EXPECT_THAT(message("b.txt.zst", "no zstd at all"), testing::HasSubstr("zstd data is damaged near byte"));
  EXPECT_EQ(
      message("a.txt.bz2", bzip2(text).substr(0, 500)),
      "a.txt.bz2: the file ends at byte 500 inside a bzip2 stream\nhint: copy or download the file again");
  EXPECT_THAT(message("b.txt.bz2", "no bzip2 at all"),
              testing::HasSubstr("bzip2 data is damaged near byte 1: no bzip2 header"));
  std::string worse = bzip2(text);
  worse[worse.size() / 2] = static_cast<char>(worse[worse.size() / 2] ^ 0x10);
  EXPECT_THAT(message("d.txt.bz2", worse), testing::HasSubstr("wrong checksum or data"));
  for (std::size_t at = 20; at < gz.size(); at += 997) {
    std::string bad = gz;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    folder_.write("c.txt.gz", bad);
    EXPECT_THROW(Reading().add(whole(folder_ / "c.txt.gz")), Error) << at;
  }
}

TEST_F(Documents, AnEmptyFileIsNoCompressedOne) {
  for (const std::string kind : {"gz gzip", "zst zstd", "bz2 bzip2"}) {
    const auto space = kind.find(' ');
    const std::string name = "a.txt." + kind.substr(0, space);
    EXPECT_EQ(message(name, ""), fmt::format("{}: the file ends at byte 0 inside a {} stream\nhint: copy or "
                                             "download the file again",
                                             name, kind.substr(space + 1)));
  }
}

// A frame as zstd --long=28 begins it, with one block that is kept as it is.
TEST_F(Documents, FramesOfAWideWindow) {
  const std::string text = "as far back as the eye can see";
  std::string frame("\x28\xb5\x2f\xfd\x00\x90", 6);
  const auto header = static_cast<std::uint32_t>(text.size() << 3 | 1);
  for (int byte = 0; byte < 3; ++byte) frame += static_cast<char>(header >> (8 * byte) & 255);
  EXPECT_THAT(read("a.txt.zst", frame + text), ElementsAre(text));
}

TEST_F(Documents, BadText) {
  EXPECT_EQ(
      message("a.txt", "abc\xff\n"),
      "a.txt:1: invalid UTF-8 at byte 3\nhint: convert the file, for example with iconv -f latin1 -t utf-8, "
      "or set format.invalid_utf8: replace");
  EXPECT_EQ(message("a.txt", "\n" + std::string(3 * kPieceBytes, 'a') + "\n\xC3"),
            fmt::format(
                "a.txt:3: invalid UTF-8 at byte {}\nhint: convert the file, for example with iconv -f latin1 "
                "-t utf-8, or set format.invalid_utf8: replace",
                3 * kPieceBytes + 2));
  EXPECT_THAT(message("a.txt.gz", gzip("ab\xff")),
              testing::HasSubstr("invalid UTF-8 at byte 2 of the decompressed text"));
  EXPECT_THAT(message("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\xff\"}"),
              testing::HasSubstr("a.jsonl:2: invalid UTF-8 at byte 23"));
}

TEST_F(Documents, InvalidTextReplacedOrKept) {
  const TextFormat replace{.invalid_utf8 = InvalidText::Replace}, keep{.invalid_utf8 = InvalidText::Keep};
  EXPECT_THAT(read("a.txt", "caf\xE9 \xE2\x82", replace), ElementsAre("caf\uFFFD \uFFFD"));
  EXPECT_THAT(read("a.txt", "caf\xE9 \xE2\x82", keep), ElementsAre("caf\xE9 \xE2\x82"));
  EXPECT_THAT(read("a.jsonl", "{\"text\":\"b\xFFz\"}\n{\"text\":\"ok\"}", replace),
              ElementsAre("b\uFFFDz", "ok"));
  EXPECT_THAT(read("a.json", "[{\"text\":\"\xC3\"}]", replace), ElementsAre("\uFFFD"));
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { read("a.jsonl", "{}", keep); }),
              testing::HasSubstr("a.jsonl: invalid UTF-8 can be kept in text files only\nhint: "
                                 "format.invalid_utf8: replace"));
  EXPECT_EQ(error_of(ErrorKind::Config, [] { parse_invalid_text("drop"); }),
            "invalid_utf8: drop is none of refuse, replace, keep");
}

TEST(InvalidTextRules, MaximalParts) {
  EXPECT_EQ(replace_invalid_utf8("plain \u00e9"), "plain \u00e9");
  // The example of the Unicode standard, table 3-8 and the ones around it.
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A\uFFFD\uFFFD"
            "B");
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
}

TEST_F(Documents, HostileText) {
  using namespace std::string_literals;
  EXPECT_THAT(read("a.txt", "a\0b\0"s), ElementsAre("a\0b\0"s));
  EXPECT_THAT(read("a.jsonl", "{\"text\":\"a\\u0000b\"}"), ElementsAre("a\0b"s));
  EXPECT_THAT(message("a.jsonl", "{\"text\":\"a\"}\n\0\n"s),
              testing::StartsWith("a.jsonl:2: malformed JSON"));
  const std::string line(100 << 20, 'x');
  EXPECT_EQ(message("a.jsonl", "{}\n"s.substr(3) + "\n{\"text\":\"" + line, ErrorKind::Unsupported),
            "a.jsonl:2: the line is longer than 16 MiB\nhint: split this document");
  std::size_t bytes = 0;
  Segment segment = whole(folder_.write("long.txt", line));
  const auto reader = open_documents(segment, {});
  for (TextPiece piece; reader->next(piece);) bytes += piece.text.size();
  EXPECT_EQ(bytes, line.size());
}

TEST_F(Documents, BadLines) {
  const std::string good = "{\"text\":\"a\"}\n";
  EXPECT_EQ(message("a.jsonl", good + "{\"body\":\"a\",\"id\":3}"),
            "a.jsonl:2: no field \"text\"; the object has body, id\nhint: set format.text_key to the field "
            "that holds "
            "the text");
  EXPECT_THAT(message("a.jsonl", "{}"),
              testing::HasSubstr("a.jsonl:1: no field \"text\"; the object has none"));
  EXPECT_EQ(message("a.jsonl", good + "\n{\"text\": [1, 2]}"),
            "a.jsonl:3: field \"text\" should be a string but is [1,2]");
  EXPECT_EQ(message("a.jsonl", "[{\"text\":\"a\"}]"),
            "a.jsonl:1: each line should be one JSON object but this one is not\nhint: write one object a "
            "line, for "
            "example with jq -c '.[]'");
  EXPECT_EQ(
      message("a.jsonl", good + R"({"text":"a","id":1,"text":["b"]})"),
      "a.jsonl:2: field \"text\" is given twice, as \"a\" and as [\"b\"]\nhint: leave one of them in the line");
  EXPECT_THAT(read("a.jsonl", R"({"text":"a","x":{"text":"b"},"y":1,"y":2})"), ElementsAre("a"));
  EXPECT_EQ(message("a.jsonl", "3"), "a.jsonl:1: each line should be one JSON object but this one is not");
  for (const auto* bad :
       {"{\"text\":\"a\"", "{\"text\":\"a\"} x", "[", "{\"text\":\"a\\ud800\"}", "nonsense", "{\"a\":tru}"}) {
    EXPECT_THAT(message("a.jsonl", good + bad), testing::StartsWith("a.jsonl:2: malformed JSON: ")) << bad;
  }
  EXPECT_EQ(message("b.jsonl", good + "{\"text\":\"" + std::string(kLongestLine + 10, 'x') + "\"}",
                    ErrorKind::Unsupported),
            "b.jsonl:2: the line is longer than 16 MiB\nhint: split this document");
}

TEST_F(Documents, ArraysAndObjectsOverSeveralLines) {
  const auto abc = ElementsAre("a", "b]", "{c");
  EXPECT_THAT(read("a.json", R"([{"text":"a"},{"text":"b]"},{"text":"{c"}])"), abc);
  EXPECT_THAT(read("a.json",
                   "\xEF\xBB\xBF [\n {\"text\":\n\"a\", \"x\": [1, {}]},\n\n{\"text\":\"b]\"} , "
                   "{\"text\":\"{c\"}\n]\n"),
              abc);
  EXPECT_THAT(read("a.json", "{\n  \"text\": \"a\"\n}\n{\"text\":\"b]\"}{\"text\":\"{c\"}"), abc);
  EXPECT_THAT(read("a.json", "{\"text\":\"a\"}\n{\"text\":\"b]\"}\n{\"text\":\"{c\"}\n"), abc) << "lines";
  EXPECT_THAT(read("a.json.gz", gzip(R"([{"text":"\"a\\"}])")), ElementsAre("\"a\\"));
  EXPECT_THAT(read("a.json", "[]"), IsEmpty());
  EXPECT_THAT(read("a.json", " "), IsEmpty());
  std::string many = "[";
  for (int i = 0; i < 20000; ++i) many += fmt::format("{{\"text\": \"{:0100}\"}},\n", i);
  many.replace(many.size() - 2, 2, "]");
  const auto documents = read("many.json", many);
  ASSERT_EQ(documents.size(), 20000u);
  EXPECT_EQ(documents[19999], fmt::format("{:0100}", 19999));
}

TEST_F(Documents, BadArrays) {
  EXPECT_EQ(
      message("a.json", "[{\"text\":\"a\"},\n{\"body\":1}]"),
      "a.json:2: no field \"text\"; the object has body\nhint: set format.text_key to the field that holds "
      "the text");
  EXPECT_EQ(message("a.json", "[{\"text\":\"a\"},\n"),
            "a.json:2: the file ends inside its JSON array\nhint: copy or download it again");
  EXPECT_THAT(message("a.json", "[{\"text\":\"a\"},\n\n{\"text\": \"b"),
              testing::StartsWith("a.json:3: malformed JSON: "));
  EXPECT_EQ(message("a.json", "[1, 2]"),
            "a.json:1: each record should be one JSON object but this one is not");
  for (const auto* bad : {"[{\"text\":\"a\"}}]", "[{\"text\":\"a\"}] x", "[{\"text\":\"a\"}]]"})
    EXPECT_THAT(message("a.json", bad), testing::StartsWith("a.json:1: ")) << bad;
  for (const auto* bad :
       {R"(]{"text":"a"})", R"([,{"text":"a"}])", R"([{"text":"a"},])", R"([{"text":"a"} {"text":"b"}])",
        R"([{"text":"a"},,{"text":"b"}])", R"([{"text":"a"},{"text":"b"},  ])", "[,]"}) {
    EXPECT_THAT(message("a.json", bad), testing::StartsWith("a.json:1: malformed JSON: ")) << bad;
  }
  EXPECT_THAT(message("a.json", "[{\"text\":\"a\"},\n{\"text\":\"b\"},\n]"),
              testing::StartsWith("a.json:3: malformed JSON: "));
  EXPECT_THAT(message("a.json", "[{\"text\":\"\xff\"}]"), testing::HasSubstr("invalid UTF-8 at byte 10"));
  EXPECT_EQ(message("b.json", "[{\"text\":\"" + std::string(kLongestLine + 10, 'x') + "\"}]",
                    ErrorKind::Unsupported),
            "b.json:1: the record is longer than 16 MiB\nhint: split this document");
  Segment part = whole(folder_.write("z.json", "[{\"text\":\"a\"}]"));
  part.begin = 2;
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { aligned_range(part); }),
            fmt::format("data files: {} may be an array and can only be read from start to end",
                        folder_ / "z.json"));
}

TEST_F(Documents, WholeRecords) {
  const TextFormat format{.text_key = "", .whole_records = true};
  EXPECT_THAT(read("a.jsonl", " {\"a\": 1} \n[2]\n", format), ElementsAre("{\"a\": 1}", "[2]"));
  EXPECT_THAT(read("a.json", "[{\"a\":\n1}]", format), ElementsAre("{\"a\":\n1}"));
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { read("a.jsonl", "{\"\xff\"}", format); }),
              testing::HasSubstr("invalid UTF-8 at byte 2"));
}

TEST_F(Documents, UnknownFormats) {
  EXPECT_EQ(
      message("a.doc", "x", ErrorKind::Unsupported),
      fmt::format("data files: {}: the name ends in no format Bora reads\nhint: it reads .txt, .jsonl and "
                  ".json, plain, .gz, .zst or .bz2, and .parquet, .arrow and .feather",
                  folder_ / "a.doc"));
  EXPECT_THAT(message("a.parquet.gz", "x", ErrorKind::Unsupported),
              testing::HasSubstr("decompress it: its columns are compressed already"));
  EXPECT_EQ(
      error_of(ErrorKind::Unsupported, [] { open_table("a.parquet", "libbora_arrow_absent.so"); }),
      "a.parquet: reading Parquet and Arrow is not built into this program: libbora_arrow_absent.so was not "
      "found\nhint: scripts/setup.sh --arrow, then build again; or convert the file to jsonl");
  EXPECT_EQ(error_of(ErrorKind::Unsupported, [] { open_table("a.parquet", "libm.so.6"); }),
            "Arrow plug-in: libm.so.6 is not a Bora plug-in: it lacks bora_arrow_plugin_version");
  EXPECT_EQ(
      error_of(ErrorKind::Unsupported,
               [] { open_object_store("s3://b/a.txt?region=x#sha256=y", "libbora_arrow_absent.so"); }),
      "s3://b/a.txt?<redacted>#sha256=y: reading s3:// and gs:// is not built into this program: "
      "libbora_arrow_absent.so was not found\nhint: scripts/setup.sh --arrow, then build again; or fetch the "
      "files and give their paths");
  EXPECT_EQ(error_of(ErrorKind::Config, [] { open_object_store("gs:///a.txt"); }),
            "data files: gs:///a.txt names no bucket");
  EXPECT_THAT(message("a.txt.xz", "x", ErrorKind::Unsupported), testing::HasSubstr("recompress it"));
  EXPECT_EQ(error_of(ErrorKind::NotFound, [] { look_up_sources({"no/such.txt"}); }),
            "data files: no/such.txt does not exist");
  files().make_directories(folder_ / "d.txt");
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { look_up_sources({folder_ / "d.txt"}); }),
            fmt::format("data files: {} is a directory where a file is expected", folder_ / "d.txt"));
  Segment part = whole(folder_.write("z.txt.gz", gzip("abc")));
  part.begin = 2;
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { aligned_range(part); }),
            fmt::format("data files: {} is compressed and can only be read from start to end",
                        folder_ / "z.txt.gz"));
}

TEST_F(Documents, OnlyFilesAreRead) {
  const std::string pipe = folder_ / "pipe.txt";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(ErrorKind::InvalidArgument, [&] { look_up_sources({pipe}); }),
            fmt::format("data files: {} is a pipe, a socket or a device where a file is expected\nhint: copy "
                        "what it gives into a file first",
                        pipe));
}

TEST_F(Documents, FileThatShrinks) {
  Segment segment = whole(folder_.write("s.txt", "0123456789"));
  folder_.write("s.txt", "01234");
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { Reading().add(segment); }),
            fmt::format("{}: ends at byte 5 although it had 10 bytes\nhint: it changed while being read",
                        folder_ / "s.txt"));
}

TEST_F(Documents, RangesGiveWhatTheWholeGives) {
  std::string text, lines;
  std::vector<std::string> texts, documents;
  const Key key = Key::from_seed(5);
  for (std::uint64_t i = 0; text.size() < 1'000'000; ++i) {
    std::string body = sample_text(i, 1 + key.below(i % 50 == 0 ? 90000 : 300, i)) + "x\n";
    texts.push_back(body);
    text += body + "<|endoftext|>\n";
    body.erase(std::remove_if(body.begin(), body.end(), [](char c) { return c == '\n' || c == '\t'; }),
               body.end());
    documents.push_back(body);
    lines += fmt::format("{{\"text\": \"{}\"}}\n", body);
  }
  const Segment text_file = whole(folder_.write("r.txt", text)),
                line_file = whole(folder_.write("r.jsonl", lines));
  for (const std::uint64_t step : {70'001u, 131'072u, 333'333u, 999'999u}) {
    Reading of_text, of_lines;
    for (std::uint64_t at = 0; at < text_file.source.size; at += step) {
      of_text.add({text_file.source, at, std::min(at + step, text_file.source.size)});
    }
    for (std::uint64_t at = 0; at < line_file.source.size; at += step) {
      of_lines.add({line_file.source, at, std::min(at + step, line_file.source.size)});
    }
    EXPECT_TRUE(of_text.documents == texts) << step;
    EXPECT_TRUE(of_lines.documents == documents) << step;
    EXPECT_FALSE(of_text.open);
  }
}

TEST_F(Documents, RangesAroundSeparators) {
  // Cuts fall on every possible byte around separators.
  const std::string filler(70'000, 'f');
  for (int shift = 0; shift < 40; ++shift) {
    const std::string text = filler + "\n<|endoftext|>\n" + filler + "\nend\n";
    const Segment file = whole(folder_.write("s.txt", text));
    const auto at = filler.size() - 10 + static_cast<std::size_t>(shift);
    Reading reading;
    reading.add({file.source, 0, at});
    reading.add({file.source, at, text.size()});
    EXPECT_EQ(reading.documents, (std::vector<std::string>{filler + "\n", filler + "\nend\n"})) << shift;
    EXPECT_FALSE(reading.open);
  }
}

TEST_F(Documents, LinesOfRangesAreCountedFromTheFilesStart) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "{\"text\":\"a\"}\n";
  lines += "broken\n";
  const Segment file = whole(folder_.write("n.jsonl", lines));
  EXPECT_THAT(error_of(ErrorKind::Corruption, [&] { Reading().add({file.source, 7000, lines.size()}); }),
              testing::HasSubstr("n.jsonl:1001: malformed JSON"));
}

TEST(PieceEnd, PrefersPlacesWhereTokenizersCut) {
  EXPECT_EQ(piece_end("ab\ncd\n\nef"), 3u);
  EXPECT_EQ(piece_end("ab\n\ncd"), 4u);
  EXPECT_EQ(piece_end("ab cd ef"), 5u);
  EXPECT_EQ(piece_end("abcd"), 3u);
  EXPECT_EQ(piece_end("ab\xE6\x97"), 2u);
  EXPECT_EQ(piece_end("\n"), 1u);
  EXPECT_EQ(piece_end("a"), 1u);
}

TEST_F(Documents, LongDocumentsComeInPieces) {
  const std::string words = sample_text(3, 5 << 20);
  Reading reading;
  reading.add(whole(folder_.write("l.txt", words)));
  EXPECT_EQ(reading.documents, std::vector{words});
  const std::string one(3 * kPieceBytes + 17, 'q');
  std::string wide;
  while (wide.size() < 3 * kPieceBytes) wide += "\u65e5";
  for (const auto& text : {one, wide}) {
    EXPECT_EQ(read("w.txt", text), std::vector{text});
    EXPECT_EQ(read("w.jsonl", "{\"text\":\"" + text + "\"}"), std::vector{text});
  }
}

}  // namespace
}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// SentencePiece models made here. Expected values are those of the library (0.2.x).
#include "bora/tokenize/formats/sentencepiece.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/formats/sentencepiece_test_util.h"
#include "bora/tokenize/formats/wire_reader.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {
namespace {

using testing::HasSubstr;
using Kind = SentencePieces::Kind;
using Algorithm = SentencePieces::Algorithm;
using Ids = std::vector<std::int32_t>;

SentencePieceFile small(Algorithm algorithm) {
  SentencePieceFile file;
  file.pieces.algorithm = algorithm;
  file.bos = 1;
  file.eos = 2;
  file.pieces.pieces = {{"<unk>", 0, Kind::Unknown},  {"<s>", 0, Kind::Control},
                        {"</s>", 0, Kind::Control},   {"▁", -3, Kind::Normal},
                        {"a", -3.5f, Kind::Normal},   {"b", -4, Kind::Normal},
                        {"ab", -1, Kind::Normal},     {"▁a", -2, Kind::Normal},
                        {"▁ab", -2.5f, Kind::Normal}, {"<x>", 0, Kind::UserDefined}};
  return file;
}

Tokenizer load(const SentencePieceFile& file, const std::string& name = "small.model") {
  const std::string folder = testing::TempDir() + "/sentencepiece";
  files().make_directories(folder);
  write_atomically(folder + "/" + name, make_model(file));
  return Tokenizer::load(folder + "/" + name);
}

Ids ids(const Tokenizer& t, std::string_view text) {
  Ids fast;
  t.encode_ids(text, fast, false, SpecialInText::Ordinary);
  EXPECT_EQ(t.encode(text, false, SpecialInText::Ordinary).ids, fast);
  return fast;
}

std::string error_of(const std::string& bytes, ErrorKind kind) {
  const std::string path = testing::TempDir() + "/broken.model";
  write_atomically(path, bytes);
  try {
    Tokenizer::load(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    const std::string what = e.what();
    return what.starts_with(path) ? what.substr(path.size()) : what;
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(SentencePieceModel, Unigram) {
  const Tokenizer t = load(small(Algorithm::Unigram));
  EXPECT_EQ(ids(t, "ab a"), (Ids{8, 7}));
  EXPECT_EQ(ids(t, "  ab   xy b "), (Ids{8, 3, 0, 3, 5}));
  EXPECT_EQ(ids(t, "a<x>ab"), (Ids{7, 9, 6}));
  EXPECT_EQ(ids(t, ""), Ids{});
  EXPECT_EQ(ids(t, "   "), Ids{});
  EXPECT_EQ(t.bos_id(), 1);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_EQ(t.unk_id(), 0);
  EXPECT_EQ(t.vocab_size(), 10);
  const auto offsets = t.encode("  ab   b", false).offsets;
  EXPECT_EQ(offsets[0], (CodePointSpan{2, 4}));
  EXPECT_EQ(offsets[1], (CodePointSpan{4, 7}));  // the spaces that were dropped belong to the one that stayed
}

TEST(SentencePieceModel, SpecialPiecesInTexts) {
  const Tokenizer t = load(small(Algorithm::Unigram));
  EXPECT_EQ(ids(t, "<s>"), (Ids{3, 0}));
  EXPECT_EQ(t.encode("<s>ab", false).ids, (Ids{1, 8}));
  EXPECT_TRUE(t.is_special(1));
  EXPECT_FALSE(t.is_special(9));
}

TEST(SentencePieceModel, Bpe) {
  const Tokenizer t = load(small(Algorithm::Bpe));
  EXPECT_EQ(ids(t, "ab ab"), (Ids{8, 8}));  // ab, then ▁ab
  EXPECT_EQ(ids(t, "aab xx"), (Ids{7, 6, 3, 0}));
  EXPECT_EQ(ids(t, "a<x>b"), (Ids{7, 9, 5}));
}

TEST(SentencePieceModel, UnusedPiecesComeApart) {
  SentencePieceFile file = small(Algorithm::Bpe);
  file.pieces.pieces[6].kind = Kind::Unused;  // ab
  const Tokenizer t = load(file);
  EXPECT_EQ(ids(t, "aab"), (Ids{7, 4, 5}));
  EXPECT_EQ(ids(t, "ab"), (Ids{8}));
  file.pieces.algorithm = Algorithm::Unigram;
  EXPECT_EQ(ids(load(file), "aab"), (Ids{7, 4, 5}));
}

TEST(SentencePieceModel, WordsAndCharacters) {
  EXPECT_EQ(ids(load(small(Algorithm::Word)), "ab a b c"), (Ids{8, 7, 0}));
  SentencePieceFile file = small(Algorithm::Word);
  file.rules.add_dummy_prefix = false;
  EXPECT_EQ(ids(load(file), "<s>"), (Ids{0}));  // one word, as in sentencepiece 0.2.3; 0.2.1 gives nothing
  EXPECT_EQ(ids(load(file), "<s> </s> ab xy <s>"), (Ids{0, 8, 0}));
  EXPECT_EQ(load(file).encode("<s>", false).ids, (Ids{1}));
  EXPECT_EQ(ids(load(small(Algorithm::Char)), "ab<x>c"), (Ids{3, 4, 5, 9, 0}));
}

SentencePieceFile with_bytes(Algorithm algorithm) {
  SentencePieceFile file = small(algorithm);
  file.pieces.byte_fallback = true;
  for (int b = 0; b < 256; ++b) file.pieces.pieces.push_back({fmt::format("<0x{:02X}>", b), 0, Kind::Byte});
  return file;
}

TEST(SentencePieceModel, ByteFallback) {
  for (const auto algorithm : {Algorithm::Unigram, Algorithm::Bpe}) {
    const Tokenizer t = load(with_bytes(algorithm));
    EXPECT_EQ(ids(t, "aé"), (Ids{7, 10 + 0xC3, 10 + 0xA9}));
    EXPECT_EQ(t.decode(ids(t, "aé b中")), "aé b中");
    EXPECT_EQ(t.decode(Ids{10 + 0xE4, 10 + 0xB8, 4}), "\ufffd\ufffda");
    EXPECT_EQ(t.bytes_per_token()[10], 1);
    EXPECT_EQ(t.bytes_per_token()[7], 2);
  }
}

TEST(SentencePieceModel, Rules) {
  SentencePieceFile file = small(Algorithm::Unigram);
  file.rules.charsmap = make_charsmap({{"\t", " "}, {"ﬁ", "ab"}, {"X", ""}, {"XY", "b"}});
  EXPECT_EQ(ids(load(file), "ﬁ\tXYX"), (Ids{8, 3, 5}));
  file.rules.remove_extra_whitespaces = false;
  EXPECT_EQ(ids(load(file), " a "), (Ids{3, 7, 3}));
  file.rules.add_dummy_prefix = false;
  EXPECT_EQ(ids(load(file), "a"), (Ids{4}));
  file.rules.add_dummy_prefix = file.rules.whitespace_is_suffix = true;
  EXPECT_EQ(ids(load(file), "a"), (Ids{4, 3}));
  file.rules.escape_whitespaces = false;
  EXPECT_EQ(ids(load(file), "a b"), (Ids{4, 0, 5, 0}));
}

TEST(SentencePieceModel, Decode) {
  SentencePieceFile file = small(Algorithm::Unigram);
  const Tokenizer t = load(file);
  EXPECT_EQ(t.decode(Ids{1, 8, 7, 2}), "ab a");
  EXPECT_EQ(t.decode(Ids{7, 0, 9}), "a ⁇ <x>");
  EXPECT_EQ(t.decode(Ids{3, 3, 7}), "a");  // extra spaces are removed
  file.rules.remove_extra_whitespaces = false;
  EXPECT_EQ(load(file).decode(Ids{3, 3, 7}), "  a");
  file.rules.add_dummy_prefix = false;
  file.unk_surface = "?";
  EXPECT_EQ(load(file).decode(Ids{7, 0}), " a?");
  EXPECT_EQ(load(file).decode(Ids{1, 7, 0}, true), " a");
}

TEST(SentencePieceModel, IsSavedForBora) {
  for (const auto algorithm : {Algorithm::Unigram, Algorithm::Bpe, Algorithm::Word, Algorithm::Char}) {
    SentencePieceFile file = with_bytes(algorithm);
    file.rules.charsmap = make_charsmap({{"ﬁ", "ab"}});
    const Tokenizer t = load(file);
    const std::string folder = testing::TempDir() + "/sentencepiece_saved";
    t.save(folder);
    const Tokenizer again = Tokenizer::load(folder);
    EXPECT_EQ(again.fingerprint(), t.fingerprint());
    EXPECT_EQ(ids(again, "ﬁ ab <x>é"), ids(t, "ﬁ ab <x>é"));
    EXPECT_EQ(again.decode(ids(t, "ﬁ ab <x>é")), t.decode(ids(t, "ﬁ ab <x>é")));
    EXPECT_EQ(again.bos_id(), 1);
    remove_all(folder);
  }
}

TEST(SentencePieceModel, BeginningAndEndByConfiguration) {
  const std::string folder = testing::TempDir() + "/sentencepiece_config";
  files().make_directories(folder);
  write_atomically(folder + "/tokenizer.model", make_model(small(Algorithm::Unigram)));
  write_atomically(folder + "/tokenizer_config.json",
                   R"({"add_bos_token":true,"add_eos_token":true,"pad_token":"</s>"})");
  const Tokenizer t = Tokenizer::load(folder);
  EXPECT_EQ(t.encode("ab").ids, (Ids{1, 8, 2}));
  EXPECT_EQ(t.pad_id(), 2);
  remove_all(folder);
}

TEST(SentencePieceModel, Errors) {
  SentencePieceFile file = small(Algorithm::Unigram);
  file.pieces.pieces.push_back({"a", 0, Kind::Normal});
  EXPECT_EQ(error_of(make_model(file), ErrorKind::Corruption), ": pieces[10]: \"a\" is also piece 4");
  file.pieces.pieces.back() = {"<unk2>", 0, Kind::Unknown};
  EXPECT_EQ(error_of(make_model(file), ErrorKind::Corruption), ": pieces[10]: a second unknown piece");
  file.pieces.pieces.back() = {"<0x00>", 0, Kind::Byte};
  EXPECT_EQ(error_of(make_model(file), ErrorKind::Corruption),
            ": pieces[10]: a byte, but there is no byte_fallback");
  file.pieces.byte_fallback = true;
  EXPECT_EQ(error_of(make_model(file), ErrorKind::Corruption),
            ": byte_fallback, but there is no piece for the byte <0x01>");
  EXPECT_EQ(error_of(wire_piece("a", 0, Kind::Normal), ErrorKind::Corruption),
            ": no piece is the unknown one");
  EXPECT_EQ(error_of(wire_piece("a", 0, static_cast<Kind>(7)), ErrorKind::Corruption),
            ": pieces[0]: kind 7 is none of a piece's (1 to 6)");
  EXPECT_EQ(error_of(wire_piece(std::string_view("a\0b", 3), 0, Kind::Normal), ErrorKind::Corruption),
            ": pieces[0]: the text of 3 bytes is empty, no UTF-8, or has a zero byte");
  EXPECT_EQ(error_of(wire_piece("a", INFINITY, Kind::Normal), ErrorKind::Corruption),
            ": pieces[0]: the score is inf");
  const std::string good = make_model(small(Algorithm::Unigram));
  EXPECT_EQ(error_of(good + wire(2, wire(3, std::uint64_t{9})), ErrorKind::Unsupported),
            ": trainer_spec: model_type 9 is not supported; Bora reads 1 to 4");
  EXPECT_EQ(error_of(good + wire(5, wire(2, "abcd")), ErrorKind::Unsupported),
            ": denormalizer_spec: a charsmap for decoded texts is not supported");
  EXPECT_EQ(error_of(good + wire(3, wire(2, "abcd")), ErrorKind::Corruption),
            ": precompiled_charsmap: a charsmap of 4 bytes cannot hold a trie of 1684234849");
}

// ---- wire format ----

std::string wire_error(const std::string& bytes, bool as_number = false) {
  try {
    WireReader reader(bytes, "m");
    while (reader.next()) {
      if (as_number) reader.varint();
    }
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    return e.what();
  }
  return {};
}

TEST(WireReader, ReadsEachType) {
  const std::string bytes = wire(1, std::uint64_t{300}) + wire(2, "ab") + wire_float(3, -1.5f) +
                            wire_varint((4 << 3) | 1) + "12345678";
  WireReader reader(bytes, "m");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 1u);
  EXPECT_EQ(reader.varint(), 300u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.bytes(), "ab");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.float32(), -1.5f);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 4u);
  EXPECT_FALSE(reader.next());
}

TEST(WireReader, Errors) {
  EXPECT_EQ(wire_error("\x0A\x05"
                       "ab"),
            "m: field 1 needs 5 bytes at byte 2, but there are 2");
  EXPECT_EQ(wire_error("\x0D"
                       "abc"),
            "m: field 1 needs 4 bytes at byte 1, but there are 3");
  EXPECT_EQ(wire_error("\x08" + std::string(11, '\xFF')),
            "m: a number of more than 10 bytes ends at byte 11");
  EXPECT_EQ(wire_error("\x0B"), "m: byte 0 is not the start of a field (number 1, type 3)");
  EXPECT_EQ(wire_error(std::string(1, '\0')), "m: byte 0 is not the start of a field (number 0, type 0)");
  EXPECT_EQ(wire_error(wire(2, "ab"), true), "m: field 2 should be a number but has wire type 2");
  EXPECT_EQ(wire_error("\x80"), "m: field 0 needs 1 bytes at byte 1, but there are 0");
}

TEST(SentencePieceModel, DamagedFilesAreRefusedOrRead) {
  SentencePieceFile file = small(Algorithm::Bpe);
  file.rules.charsmap = make_charsmap({{"ﬁ", "ab"}});
  const std::string good = make_model(file);
  const auto attempt = [&](const std::string& bytes) {
    try {
      SentencePieceFile read = read_sentencepiece_file(bytes, "m");
      const SentencePiece model(std::move(read.pieces), "m");
      std::vector<Token> out;
      model.tokenize("▁ab▁a<x>é", out);
    } catch (const Error& e) {
      EXPECT_TRUE(e.kind() == ErrorKind::Corruption || e.kind() == ErrorKind::Unsupported) << e.what();
    }
  };
  for (std::size_t n = 0; n < 300; ++n) attempt(good.substr(0, n));
  std::uint32_t state = 9;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good.substr(0, 400);
    for (int i = 0; i < 3; ++i) {
      state = state * 1664525 + 1013904223;
      bytes[(state >> 8) % 200] = static_cast<char>(state >> 24);
    }
    attempt(bytes);
  }
}

}  // namespace
}  // namespace bora::tokenize

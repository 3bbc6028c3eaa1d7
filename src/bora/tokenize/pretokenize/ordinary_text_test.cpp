// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Files that list the bytes of unknown characters, <0x00> to <0xFF>, as special: who trains a tokenizer with byte
// fallback by `tokenizers` hands them to the trainer so. The ids are those of `tokenizers` 0.22.2.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {
namespace {

using Ids = std::vector<std::int32_t>;

std::string byte_name(std::size_t b) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">";
}

/// "<unk>" is 0, bytes are 1 to 256; all are special. `model` gets what the vocabulary says of "<unk>" and bytes.
std::string with_special_bytes(const std::string& before, const std::string& after, bool scored) {
  std::string added = R"([{"id":0,"content":"<unk>","special":true})", vocab;
  for (std::size_t b = 0; b < 256; ++b) {
    const std::string id = std::to_string(b + 1), name = '"' + byte_name(b) + '"';
    added += R"(,{"id":)" + id + ",\"content\":" + name + ",\"special\":true}";
    vocab += scored ? ",[" + name + ",0]" : "," + name + ":" + id;
  }
  return R"({"version":"1.0","added_tokens":)" + added +
         R"(],"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},)"
         R"("post_processor":null,"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},)"
         R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}]},"model":)" +
         before + vocab + after + "}";
}

Tokenizer bpe() {
  return Tokenizer::from_json(with_special_bytes(
      R"({"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"vocab":{"<unk>":0)",
      R"(,"▁":257,"a":258,"▁a":259,"x":260},"merges":["▁ a"]})", false));
}

Tokenizer unigram() {
  return Tokenizer::from_json(
      with_special_bytes(R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0])",
                         R"(,["▁",-2],["a",-3],["▁a",-4],["x",-3]]})", true));
}

/// Of encode() and of both encoders of ids alone.
Ids ordinary(const Tokenizer& t, std::string_view text) {
  const Ids slow = t.encode(text, false, SpecialInText::Ordinary).ids;
  for (const bool cache : {false, true, true}) {
    Ids fast;
    t.encode_ids(text, fast, false, SpecialInText::Ordinary, cache);
    EXPECT_EQ(fast, slow) << text;
  }
  return slow;
}

Ids bytes_of(std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + 1);
  return ids;
}

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(SpecialBytes, OfUnknownCharactersStayInOrdinaryText) {
  for (const Tokenizer& t : {bpe(), unigram()}) {
    EXPECT_EQ(ordinary(t, "a é 中文"), joined({{259, 257}, bytes_of("é"), {257}, bytes_of("中文")}));
    EXPECT_EQ(ordinary(t, "a é 中文"), t.encode("a é 中文", false).ids);
    EXPECT_EQ(t.decode(ordinary(t, "a é 中文")), "a é 中文");
    EXPECT_EQ(ordinary(t, "中文字中文字中文字中文字中文字"),  // once took time and memory without bounds
              joined({{257}, bytes_of("中文字中文字中文字中文字中文字")}));
  }
}

TEST(SpecialBytes, ThatAreSpelledOutAreOrdinaryText) {
  for (const Tokenizer& t : {bpe(), unigram()}) {
    EXPECT_EQ(t.encode("a<0x41>", false).ids, Ids({259, 0x42}));  // the control token
    EXPECT_EQ(ordinary(t, "a<0x41>"), joined({{259}, bytes_of("<0"), {260}, bytes_of("41>")}));
    EXPECT_EQ(ordinary(t, "a中<0x41>中"), joined({{259}, bytes_of("中<0"), {260}, bytes_of("41>中")}));
    EXPECT_EQ(t.decode(ordinary(t, "a中<0x41>中")), "a中<0x41>中");
  }
}

TEST(SpecialBytes, CountAsText) {
  for (const Tokenizer& t : {bpe(), unigram()}) {
    EXPECT_EQ(t.bytes_per_token().at(0), 0);
    EXPECT_EQ(t.bytes_per_token().at(0xE4), 1);
  }
}

}  // namespace
}  // namespace bora::tokenize

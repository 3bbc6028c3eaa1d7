// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Tokenizers in other files than tokenizer.json.
#include "bora/tokenize/formats/tokenizer_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/tokenize/formats/sentencepiece_test_util.h"
#include "bora/tokenize/formats/tiktoken.h"
#include "bora/tokenize/normalize/charsmap.h"

namespace bora::tokenize {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using FileKind = TokenizerFiles::Kind;

class TokenizerFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/tokenizer_files";
    remove_all(folder_);
    files().make_directories(folder_);
  }
  void TearDown() override { remove_all(folder_); }

  void put(std::string_view name, std::string_view content) const { write_atomically(path(name), content); }
  std::string path(std::string_view name) const { return path_join(folder_, name); }
  std::string error(const std::string& at, ErrorKind kind) const {
    try {
      Tokenizer::load(at);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      std::string what = e.what();
      for (std::size_t i = what.find(folder_); i != std::string::npos; i = what.find(folder_)) {
        what.replace(i, folder_.size(), "DIR");
      }
      return what;
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  std::string folder_;
};

const std::string kModel = wire_piece("<unk>", 0, SentencePieces::Kind::Unknown) +
                           wire_piece("▁", -1, SentencePieces::Kind::Normal) +
                           wire_piece("a", -1, SentencePieces::Kind::Normal);

std::string byte_ranks() {
  std::string out;
  for (int b = 0; b < 256; ++b)
    out += to_base64(std::string(1, static_cast<char>(b))) + " " + std::to_string(b) + "\n";
  return out;
}

TEST_F(TokenizerFilesTest, AreToldApart) {
  EXPECT_FALSE(holds_tokenizer(folder_));
  EXPECT_FALSE(holds_tokenizer(path("nowhere")));
  put("a.tiktoken", byte_ranks());
  EXPECT_TRUE(holds_tokenizer(folder_));
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::Ranks);
  EXPECT_EQ(find_tokenizer(path("a.tiktoken")).kind, FileKind::Ranks);
  put("tokenizer.model", kModel);
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::SentencePiece);
  put("tokenizer.model", byte_ranks());  // as Llama 3 names it
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::Ranks);
  put("vocab.json", "{}");
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::Ranks);
  put("merges.txt", "");
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::Merges);
  EXPECT_EQ(find_tokenizer(path("merges.txt")).main, path("vocab.json"));
  EXPECT_EQ(find_tokenizer(path("vocab.json")).merges, path("merges.txt"));
  put("tokenizer.json", "{}");
  EXPECT_EQ(find_tokenizer(folder_).kind, FileKind::TokenizerJson);
  EXPECT_EQ(find_tokenizer(path("vocab.json")).kind, FileKind::Merges);
  put("vocab.txt", "[UNK]\n");
  EXPECT_EQ(find_tokenizer(path("vocab.txt")).kind, FileKind::Words);
  EXPECT_EQ(find_tokenizer(path("vocab.txt")).config, "");
  put("tokenizer_config.json", "{}");
  EXPECT_EQ(find_tokenizer(path("vocab.txt")).config, path("tokenizer_config.json"));
}

TEST_F(TokenizerFilesTest, Errors) {
  EXPECT_EQ(
      error(folder_, ErrorKind::NotFound),
      "DIR: no tokenizer there: neither tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt, nor a "
      ".model or .tiktoken file");
  put("what.bin", "\x01\x02");
  EXPECT_EQ(error(path("what.bin"), ErrorKind::Unsupported),
            "DIR/what.bin: no tokenizer that Bora knows\nhint: tokenizer.json, vocab.json with merges.txt, "
            "vocab.txt, a "
            "tiktoken file and a SentencePiece .model are read");
  put("a.model", kModel);
  put("b.model", kModel);
  EXPECT_EQ(error(folder_, ErrorKind::Unsupported),
            "DIR: 2 files end in .model: a.model, b.model\nhint: give the file itself");
  EXPECT_THAT(error(path("none"), ErrorKind::NotFound), HasSubstr("DIR/none"));
  put("tokenizer_config.json", "[]");
  EXPECT_EQ(error(path("a.model"), ErrorKind::Corruption),
            "DIR/tokenizer_config.json: should be an object but is array");
}

// ---- vocab.json and merges.txt ----

/// The tokenizer of the shared folder that `name` says, taken apart into vocab.json and merges.txt.
bool take_apart(const std::string& name, const std::string& folder) {
  const std::string file = std::string(BORA_SHARED_DIR) + "/data/tokenizers/" + name + "/tokenizer.json";
  if (!exists(file)) return false;
  const JsonDocument document(read_text(file), file);
  const JsonView model = document.root().at("model");
  write_atomically(path_join(folder, "vocab.json"), model.at("vocab").json());
  std::string merges = "#version: 0.2\n";
  model.at("merges").each_item([&](const JsonView& merge) {
    if (merge.is_string()) {
      merges += merge.string();
    } else {
      std::size_t n = 0;
      merge.each_item([&](const JsonView& side) { (merges += side.string()) += n++ == 0 ? " " : ""; });
    }
    merges += '\n';
  });
  write_atomically(path_join(folder, "merges.txt"), merges);
  return true;
}

void expect_cases(const Tokenizer& t, const std::string& name, std::size_t step) {
  const std::string file = std::string(BORA_SHARED_DIR) + "/data/tokenizers/" + name + "/cases.jsonl";
  std::size_t i = 0;
  const std::string text = read_text(file);
  for (const std::string& line : split(text, '\n')) {
    if (line.empty() || i++ % step != 0) continue;
    const Json c = parse_json(line, "cases.jsonl");
    const Encoding e = t.encode(c["text"].get<std::string>());
    EXPECT_EQ(e.ids, c["ids_special"].get<Ids>()) << name << " " << c["name"];
    EXPECT_EQ(t.decode(c["ids"].get<Ids>()), c["decoded"].get<std::string>()) << name << " " << c["name"];
  }
  EXPECT_GT(i, 400u);
}

TEST_F(TokenizerFilesTest, MergesOfRealTokenizers) {
  struct Known {
    const char *name, *config;
  };
  const Known known[] = {
      {"gpt2", "{}"},
      {"clip", R"({"tokenizer_class":"CLIPTokenizer"})"},
      {"qwen2", R"({"tokenizer_class":"Qwen2TokenizerFast","bos_token":null,"eos_token":"<|endoftext|>",)"
                R"("additional_special_tokens":["<|im_start|>","<|im_end|>"]})"}};
  for (const auto& [name, config] : known) {
    if (!take_apart(name, folder_)) GTEST_SKIP() << "no " << name << " in the shared folder";
    put("tokenizer_config.json", config);
    expect_cases(Tokenizer::load(folder_), name, 5);
  }
}

TEST_F(TokenizerFilesTest, MergesOfRoberta) {
  put("vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"ab":6,"Ġ":7,"<mask>":8})");
  put("merges.txt", "#version: 0.2\r\na b\r\n\r\n");
  put("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer"})");
  const Tokenizer t = Tokenizer::load(path("vocab.json"));
  EXPECT_EQ(t.encode("ab a<mask>").ids, (Ids{0, 6, 7, 4, 8, 2}));
  EXPECT_EQ(t.pad_id(), 1);
  put("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer","sep_token":"<x>"})");
  const Tokenizer other = Tokenizer::load(folder_);
  EXPECT_EQ(other.encode("ab").ids, (Ids{0, 6, 9}));  // a token the vocabulary does not have
}

TEST_F(TokenizerFilesTest, MergesWithBeginningAndEnd) {
  put("vocab.json", R"({"a":0,"b":1,"ab":2,"<|endoftext|>":3})");
  put("merges.txt", "a b\n");
  put("tokenizer_config.json",
      R"({"add_bos_token":true,"added_tokens_decoder":{"4":{"content":"<x>","special":false},)"
      R"("3":{"content":"<|endoftext|>","special":true}}})");
  const Tokenizer t = Tokenizer::load(folder_);
  EXPECT_EQ(t.encode("ab<x>b").ids, (Ids{3, 2, 4, 1}));
  EXPECT_FALSE(t.is_special(4));
  EXPECT_TRUE(t.is_special(3));
}

TEST_F(TokenizerFilesTest, MergesErrors) {
  put("vocab.json", R"({"a":0,"b":1})");
  put("merges.txt", "a b c\n");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption),
            "DIR/merges.txt: line 1: \"a b c\" should be two tokens with a space between");
  put("merges.txt", "#version: 0.2\na x\n");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption), "DIR/merges.txt: line 2: \"x\" is not in vocab.json");
  put("merges.txt", "a b\n");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption),
            "DIR/merges.txt.merges[0]: the result \"ab\" is not in the vocabulary");
  put("vocab.json", R"({"a":0,"b":"x"})");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption), "DIR/vocab.json: b should be an integer but is \"x\"");
  put("tokenizer_config.json", R"({"tokenizer_class":"XLMTokenizer"})");
  EXPECT_EQ(
      error(folder_, ErrorKind::Unsupported),
      "DIR/tokenizer_config.json: tokenizer_class \"XLMTokenizer\" is not supported for vocab.json with "
      "merges.txt; Bora knows those of GPT-2, CodeGen, GPT-NeoX, Whisper, RoBERTa, BART, Longformer, CLIP "
      "and "
      "Qwen2\nhint: save the tokenizer as tokenizer.json");
  put("vocab.json", R"({"a":0,"b":1,"ab":2})");
  put("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer"})");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption),
            "DIR/tokenizer_config.json: cls_token is \"<s>\", which is not in the vocabulary");
}

// ---- vocab.txt ----

TEST_F(TokenizerFilesTest, WordsOfARealTokenizer) {
  const std::string file = std::string(BORA_SHARED_DIR) + "/data/tokenizers/all-minilm-l6-v2/tokenizer.json";
  if (!exists(file)) GTEST_SKIP() << "no " << file << " here";
  const JsonDocument document(read_text(file), file);
  std::vector<std::string> lines;
  document.root().at("model").at("vocab").each_member([&](std::string_view text, const JsonView& id) {
    const auto i = static_cast<std::size_t>(id.integer());
    if (lines.size() <= i) lines.resize(i + 1);
    lines[i] = text;
  });
  std::string all;
  for (const auto& line : lines) (all += line) += " \n";
  put("vocab.txt", all);
  const Tokenizer t = Tokenizer::load(folder_);
  expect_cases(t, "all-minilm-l6-v2", 3);
  EXPECT_EQ(t.pad_id(), 0);
}

TEST_F(TokenizerFilesTest, WordsByConfiguration) {
  put("vocab.txt", "[UNK]\r\n[CLS]\r\n[SEP]\r\nA\r\na\r\n");
  put("tokenizer_config.json", R"({"do_lower_case":false,"tokenizer_class":"BertTokenizer"})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("A a x").ids, (Ids{1, 3, 4, 0, 2}));
  put("tokenizer_config.json", R"({"tokenizer_class":"BertTokenizerFast"})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("A a x").ids, (Ids{1, 4, 4, 0, 2}));
  put("tokenizer_config.json", R"({"tokenizer_class":"BertJapaneseTokenizer"})");
  EXPECT_EQ(
      error(folder_, ErrorKind::Unsupported),
      "DIR/tokenizer_config.json: tokenizer_class \"BertJapaneseTokenizer\" is not supported for vocab.txt; "
      "Bora "
      "knows those of BERT, DistilBERT, MobileBERT and ELECTRA\nhint: save the tokenizer as tokenizer.json");
  put("tokenizer_config.json", "{}");
  put("vocab.txt", "a\n\xFF\n");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption), "DIR/vocab.txt: is not UTF-8");
  put("vocab.txt", "a\n");
  EXPECT_EQ(error(folder_, ErrorKind::Corruption),
            "DIR/tokenizer_config.json: cls_token is \"[CLS]\", which is not in the vocabulary");
}

// ---- tiktoken ----

TEST_F(TokenizerFilesTest, RanksWithRulesOfTheirOwn) {
  put("x.tiktoken", byte_ranks() + to_base64("ab") + " 256\n" + to_base64("aba") + " 257\n" +
                        to_base64("bab") + " 258\n" + to_base64("  ") + " 259\n");
  const TiktokenRules rules{R"(\p{L}+|[^\p{L}]+)", false, {{"<end>", 300}, {"<mid>", 260}}};
  const Tokenizer t = load_tiktoken(path("x.tiktoken"), rules);
  EXPECT_EQ(t.encode("abab").ids, (Ids{256, 256}));
  EXPECT_EQ(t.encode("aba").ids, (Ids{257}));
  EXPECT_EQ(t.encode("bab").ids, (Ids{258}));  // a whole piece that is a token
  EXPECT_EQ(t.encode("a  é<end><mid>").ids, (Ids{97, 259, 0xC3, 0xA9, 300, 260}));
  EXPECT_EQ(t.decode(Ids{97, 259, 0xC3, 0xA9, 300}), "a  é<end>");
  EXPECT_EQ(t.vocab_size(), 301);
  t.save(path("saved"));
  const Tokenizer again = Tokenizer::load(path("saved"));
  EXPECT_EQ(again.fingerprint(), t.fingerprint());
  EXPECT_EQ(again.encode("abab<end>").ids, (Ids{256, 256, 300}));
}

TEST_F(TokenizerFilesTest, RanksErrors) {
  put("x.tiktoken", byte_ranks());
  EXPECT_EQ(error(path("x.tiktoken"), ErrorKind::Unsupported),
            "DIR/x.tiktoken: 256 ranks belong to no tokenizer that Bora knows the pattern and special tokens "
            "of\nhint: "
            "use load_tiktoken with both");
  put("x.tiktoken", byte_ranks() + "YQ== 300\n");
  EXPECT_EQ(error(path("x.tiktoken"), ErrorKind::Corruption),
            "DIR/x.tiktoken: line 257: the token or its rank 300 is there twice");
  put("x.tiktoken", byte_ranks() + "YQ== x\n");
  EXPECT_EQ(error(path("x.tiktoken"), ErrorKind::Corruption),
            "DIR/x.tiktoken: line 257: \"YQ== x\" is not a token in base64 and its rank");
  put("x.tiktoken", "YQ== 0\n");
  EXPECT_EQ(error(path("x.tiktoken"), ErrorKind::Corruption), "DIR/x.tiktoken: the byte 0 is no token");
  put("x.tiktoken", byte_ranks());
  try {
    load_tiktoken(path("x.tiktoken"), {"x", false, {{"<end>", -1}}});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_THAT(e.what(), HasSubstr("the special token \"<end>\" has id -1; ids are from 0 to 16777215"));
  }
  try {
    load_tiktoken(path("x.tiktoken"), {"x", false, {{"<end>", 7}}});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("the special token \"<end>\" or its id 7 is also that of a rank"));
  }
}

}  // namespace
}  // namespace bora::tokenize

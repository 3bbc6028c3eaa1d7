// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Small tokenizers written out here; cases_test.cpp has the real ones.
#include "bora/tokenize/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/test_faults.h"
#include "bora/tokenize/post/stream_decoder.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tokenize::kSentencePiece;
using tokenize::kTiny;
using tokenize::tiny;
using Ids = std::vector<std::int32_t>;

Ids ids_of(const Tokenizer& t, std::string_view text, bool special = false) {
  Ids fast;
  t.encode_ids(text, fast, special);
  EXPECT_EQ(fast, t.encode(text, special).ids) << text;
  return fast;
}

std::string error_of(const std::string& json, ErrorKind kind) {
  try {
    Tokenizer::from_json(json);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Tokenizer, MergesByRank) {
  const Tokenizer t = Tokenizer::from_json(kTiny);
  EXPECT_EQ(ids_of(t, "abc"), Ids({5}));  // a b first, then ab c
  EXPECT_EQ(ids_of(t, "bc"), Ids({6}));   // b c
  EXPECT_EQ(ids_of(t, "aabcb"), Ids({0, 5, 1}));
  EXPECT_EQ(ids_of(t, "a b"), Ids({0, 3, 1}));
  EXPECT_EQ(ids_of(t, ""), Ids());
  EXPECT_EQ(ids_of(t, "axb"), Ids({4}));  // no unk_token: left out, as if it had not been there
}

TEST(Tokenizer, FindsAddedTokensInText) {
  const Tokenizer t = Tokenizer::from_json(kTiny);
  EXPECT_EQ(ids_of(t, "ab<end>c"), Ids({4, 7, 2}));
  EXPECT_EQ(ids_of(t, "<end><end>"), Ids({7, 7}));
  EXPECT_EQ(ids_of(t, "<en"), Ids());
  EXPECT_EQ(t.decode(Ids{4, 7, 2}), "ab<end>c");
  EXPECT_EQ(t.decode(Ids{4, 7, 2}, true), "abc");
  EXPECT_TRUE(t.is_special(7));
  EXPECT_FALSE(t.is_special(0));
}

// The ids are those of `tokenizers` 0.22.2 with encode_special_tokens = True.
TEST(Tokenizer, SpecialTokensAsOrdinaryText) {
  const auto ordinary = [](const Tokenizer& t, std::string_view text, bool add_special = false) {
    Ids fast;
    t.encode_ids(text, fast, add_special, SpecialInText::Ordinary);
    EXPECT_EQ(fast, t.encode(text, add_special, SpecialInText::Ordinary).ids) << text;
    return fast;
  };
  const Tokenizer small = Tokenizer::from_json(kTiny);
  EXPECT_EQ(ordinary(small, "ab<end>c"), Ids({5}));      // characters outside the vocabulary are left out
  EXPECT_EQ(ids_of(small, "ab<end>c"), Ids({4, 7, 2}));  // the same tokenizer, whatever came before
  // "abc" is special, and what the model's own merges make of a, b and c.
  const Tokenizer merges =
      Tokenizer::from_json(replaced(kTiny, R"("id":7,"content":"<end>")", R"("id":5,"content":"abc")"));
  EXPECT_EQ(ids_of(merges, "abcab"), Ids({5, 4}));
  EXPECT_EQ(ordinary(merges, "aabcab"), Ids({0, 0, 6, 4}));
  EXPECT_EQ(merges.encode("aabcab", false, SpecialInText::Ordinary).offsets,
            (std::vector<CodePointSpan>{{0, 1}, {1, 2}, {2, 4}, {4, 6}}));
  EXPECT_EQ(ids_of(merges, "abcab"), Ids({5, 4}));
  const Tokenizer one =
      Tokenizer::from_json(replaced(kTiny, R"("id":7,"content":"<end>")", R"("id":2,"content":"c")"));
  EXPECT_EQ(ordinary(one, "bacb"), Ids({1, 0, 1}));  // nothing else stands for c
  const Tokenizer llama = Tokenizer::from_json(kSentencePiece);
  EXPECT_EQ(ordinary(llama, "a</s>", true).front(), llama.bos_id());  // what encode() adds stays
  EXPECT_EQ(llama.decode(ordinary(llama, "a</s>", true), true), "a</s>");

  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder << " here";
  const Tokenizer gpt2 = Tokenizer::load(folder + "gpt2");
  EXPECT_EQ(ordinary(gpt2, "a<|endoftext|>b"), Ids({64, 27, 91, 437, 1659, 5239, 91, 29, 65}));
  EXPECT_EQ(ids_of(gpt2, "a<|endoftext|>b"), Ids({64, 50256, 65}));
  EXPECT_EQ(gpt2.encode("<|endoftext|>", false, SpecialInText::Ordinary).offsets.back(),
            (CodePointSpan{12, 13}));
  EXPECT_EQ(ordinary(Tokenizer::load(folder + "llama2"), "a</s>b"), Ids({263, 829, 29879, 29958, 29890}));
  const Tokenizer whisper = Tokenizer::load(folder + "whisper-tiny");  // <|0.00|> is added but not special
  EXPECT_EQ(ordinary(whisper, "a<|en|>b<|0.00|>"), Ids({64, 27, 91, 268, 91, 29, 65, 50364}));
}

TEST(Tokenizer, OffsetsCountCodePoints) {
  const Tokenizer t = Tokenizer::from_json(kSentencePiece);
  const Encoding e = t.encode("é a", false);
  ASSERT_EQ(e.ids.size(), e.offsets.size());
  EXPECT_THAT(e.offsets, ElementsAre(CodePointSpan{0, 1}, CodePointSpan{0, 1}, CodePointSpan{0, 1},
                                     CodePointSpan{1, 3}));
}

TEST(Tokenizer, ByteFallbackAndTemplate) {
  const Tokenizer t = Tokenizer::from_json(kSentencePiece);
  const Ids got = ids_of(t, "a é", true);
  const auto id = [&](std::string_view token) { return t.id_of(token).value(); };
  EXPECT_EQ(got, Ids({id("<s>"), id("▁a"), id("▁"), id("<0xC3>"), id("<0xA9>")}));
  EXPECT_EQ(t.decode(got, true), "a é");
  EXPECT_EQ(t.encode("a", true).offsets, (std::vector<CodePointSpan>{{0, 0}, {0, 1}}));
}

TEST(Tokenizer, AddedTokensAreDecodedAsTheyAreSpelled) {
  const Tokenizer t = Tokenizer::from_json(
      R"({"added_tokens":[{"id":1,"content":"<S>","special":true,"normalized":true},)"
      R"({"id":2,"content":"A B","special":false,"normalized":true}],)"
      R"("normalizer":{"type":"Lowercase"},"pre_tokenizer":null,"post_processor":null,"decoder":null,)"
      R"("model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0,"<S>":1,"A B":2}}})");
  EXPECT_EQ(t.decode(Ids({0, 1, 2})), "a <S> A B");
  EXPECT_EQ(t.decode(Ids({0, 1, 2}), true), "a A B");
  EXPECT_EQ(ids_of(t, "<s>"), Ids({1})) << "found in the normalized text";
}

TEST(Tokenizer, ChatTemplatesComeBack) {
  const std::string folder = testing::TempDir() + "bora_chat_templates";
  remove_all(folder);
  const Tokenizer plain = tiny();
  EXPECT_EQ(plain.chat_templates(), ChatTemplates{});
  plain.save(folder);
  EXPECT_FALSE(exists(folder + "/chat_template.jinja"));
  EXPECT_EQ(Tokenizer::load(folder).chat_templates(), ChatTemplates{});
  const Tokenizer chats = plain.with_chat_template("{{ 1 }}\n");
  EXPECT_EQ(chats.fingerprint(), plain.fingerprint());
  chats.save(folder);
  EXPECT_EQ(read_text(folder + "/chat_template.jinja"), "{{ 1 }}\n");
  EXPECT_EQ(Tokenizer::load(folder).chat_templates(), (ChatTemplates{{"default", "{{ 1 }}\n"}}));
  files().make_directories(folder + "/additional_chat_templates");
  write_atomically(folder + "/additional_chat_templates/tool_use.jinja", "t");
  write_atomically(folder + "/additional_chat_templates/notes.txt", "no template");
  EXPECT_EQ(Tokenizer::load(folder).chat_templates(),
            (ChatTemplates{{"default", "{{ 1 }}\n"}, {"tool_use", "t"}}));
  remove_all(folder);
}

TEST(Tokenizer, InvalidUtf8BecomesReplacement) {
  const Tokenizer t = tiny();
  const auto text = [&](std::string_view bytes) { return t.decode(ids_of(t, bytes)); };
  EXPECT_EQ(text("a\xFF"
                 "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(text("\xE2\x82"), "\xEF\xBF\xBD");
  EXPECT_EQ(text("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text(std::string_view("\0", 1)), std::string("\0", 1));
}

TEST(Tokenizer, SpecialIdsFromConfigOrGuessed) {
  const Tokenizer guessed = Tokenizer::from_json(kSentencePiece);
  EXPECT_EQ(guessed.bos_id(), guessed.id_of("<s>"));
  EXPECT_EQ(guessed.eos_id(), guessed.id_of("</s>"));
  EXPECT_EQ(guessed.unk_id(), guessed.id_of("<unk>"));
  EXPECT_FALSE(guessed.pad_id());

  const Tokenizer told = Tokenizer::from_json(
      kSentencePiece, R"({"bos_token": null, "eos_token": {"content": "<s>"}, "pad_token": "</s>"})");
  EXPECT_FALSE(told.bos_id());
  EXPECT_EQ(told.eos_id(), told.id_of("<s>"));
  EXPECT_EQ(told.pad_id(), told.id_of("</s>"));
}

TEST(Tokenizer, BytesPerToken) {
  const Tokenizer t = Tokenizer::from_json(kSentencePiece);
  const auto bytes = [&](std::string_view token) {
    return t.bytes_per_token()[static_cast<std::size_t>(t.id_of(token).value())];
  };
  EXPECT_EQ(t.bytes_per_token().size(), static_cast<std::size_t>(t.vocab_size()));
  EXPECT_EQ(bytes("<s>"), 0);
  EXPECT_EQ(bytes("<0xC3>"), 1);
  EXPECT_EQ(bytes("▁a"), 2);
  EXPECT_EQ(bytes("▁"), 1);
}

// Its decoder is one of bytes and keeps "</w>".
TEST(Tokenizer, BytesOfClipTokens) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/clip";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder << " here";
  const Tokenizer t = Tokenizer::load(folder);
  const auto bytes_of = [&](std::string_view token) {
    return t.bytes_per_token().at(static_cast<std::size_t>(t.id_of(token).value()));
  };
  EXPECT_EQ(bytes_of("fox</w>"), 3);
  EXPECT_EQ(bytes_of("fox"), 3);
}

TEST(Tokenizer, BytesOfLlamaTokens) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/llama2";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder << " here";
  const Tokenizer t = Tokenizer::load(folder);
  const auto& bytes = t.bytes_per_token();
  EXPECT_EQ(bytes[632], 12);
  EXPECT_EQ(t.token(8535), "ными");
  EXPECT_EQ(bytes[8535], 8);
  EXPECT_TRUE(std::all_of(bytes.begin() + 3, bytes.begin() + 259, [](auto n) { return n == 1; }));
  EXPECT_EQ(bytes[1], 0);
}

TEST(Tokenizer, FingerprintIsOfTheContent) {
  const auto of = [](const std::string& json) { return Tokenizer::from_json(json).fingerprint(); };
  const std::string tiny_json = kTiny;
  EXPECT_EQ(of(tiny_json),
            of(replaced(tiny_json, R"(["a","b"])", R"("a b")")));  // the old spelling of a merge
  EXPECT_EQ(of(tiny_json), of(replaced(tiny_json, "\"model\"", "  \"extra\": 1, \"model\"")));
  EXPECT_NE(of(tiny_json), of(replaced(tiny_json, R"(["a","b"],["ab","c"],["b","c"])",
                                       R"(["b","c"],["a","b"],["ab","c"])")));
  EXPECT_NE(of(tiny_json), of(replaced(tiny_json, "<end>", "<END>")));
}

TEST(Tokenizer, SavesWhatItReads) {
  const std::string directory = testing::TempDir() + "/tokenizer_save/deeper";
  const Tokenizer t =
      Tokenizer::from_json(kSentencePiece, R"({"eos_token": "<s>", "chat_template": "x", "mine": 3})");
  t.save(directory);
  for (const std::string& path : {directory, directory + "/tokenizer.json"}) {
    const Tokenizer again = Tokenizer::load(path);
    EXPECT_EQ(again.fingerprint(), t.fingerprint());
    EXPECT_EQ(again.eos_id(), t.id_of("<s>"));
    EXPECT_EQ(ids_of(again, "a é<s>b", true), ids_of(t, "a é<s>b", true));
  }
  EXPECT_THAT(read_text(directory + "/tokenizer_config.json"), HasSubstr("\"mine\": 3"));
  EXPECT_EQ(read_text(directory + "/chat_template.jinja"), "x");
  remove_all(testing::TempDir() + "/tokenizer_save");
}

TEST(Tokenizer, EveryFileIsOldOrNewWhateverFails) {
  const std::string directory = testing::TempDir() + "/tokenizer_faults";
  bora::test::expect_old_or_new_whatever_fails(directory, [&](bool fresh) {
    Tokenizer::from_json(fresh ? kSentencePiece : kTiny,
                         fresh ? R"({"chat_template": "new"})" : R"({"chat_template": "old"})")
        .save(directory + "/tokenizer");
  });
  remove_all(directory);
}

TEST(Tokenizer, AnyNumberOfThreads) {
  const Tokenizer t = tiny();
  const std::string text = "some words and some more words, again and again; 12345 'tis";
  const Ids expected = ids_of(t, text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        Ids got;
        t.encode_ids(text, got);
        wrong[i] += got != expected;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(Tokenizer, ManyTokenizersInOneThread) {  // more than the thread keeps caches for
  const Tokenizer a = Tokenizer::from_json(kTiny);
  const std::string other = replaced(kTiny, R"(["a","b"],["ab","c"],["b","c"])", R"(["b","c"])");
  for (int round = 0; round < 6; ++round) {
    const Tokenizer b = Tokenizer::from_json(other);
    EXPECT_EQ(ids_of(b, "abc"), Ids({0, 6}));
    EXPECT_EQ(ids_of(a, "abc"), Ids({5}));
  }
}

/// kTiny's merges, one rank after the other from left to right.
Ids merged_rank_by_rank(const std::string& text) {
  Ids all;
  for (const char c : text) all.push_back(c - 'a');
  const std::vector<std::vector<std::int32_t>> merges = {{0, 1, 4}, {4, 2, 5}, {1, 2, 6}};
  for (const auto& m : merges) {
    Ids next;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool joins = all[i] == m[0] && i + 1 < all.size() && all[i + 1] == m[1];
      next.push_back(joins ? m[2] : all[i]);
      i += joins;
    }
    all = next;
  }
  return all;
}

TEST(Tokenizer, LongPiecesMergeLikeShortOnes) {
  const Tokenizer t = Tokenizer::from_json(kTiny);
  std::uint32_t random = 1;
  for (std::size_t length : {1, 2, 3, 40, 47, 48, 49, 50, 300, 5000}) {
    for (int round = 0; round < 20; ++round) {
      std::string text;
      while (text.size() < length)
        text += static_cast<char>('a' + ((random = random * 1664525 + 1013904223) >> 20) % 3);
      ASSERT_EQ(ids_of(t, text), merged_rank_by_rank(text)) << text;
    }
  }
}

TEST(Tokenizer, MegabytesOfOneCharacter) {
  const Tokenizer t = tiny();
  for (const char c : {'a', ' ', '\n', '!', '1'}) {
    const std::string text(1'000'000, c);
    Ids got;
    t.encode_ids(text, got);
    EXPECT_EQ(t.decode(got), text);
  }
}

// ---- errors ----

TEST(TokenizerErrors, NameTheFileAndTheKey) {
  const std::string json = kTiny;
  const auto corrupt = [&](const std::string& what, const std::string& by) {
    return error_of(replaced(json, what, by), ErrorKind::Corruption);
  };
  EXPECT_EQ(corrupt("\"a\":0", "\"a\":-1"),
            "tokenizer.json: model.vocab.a is -1; ids are from 0 to 16777215");
  EXPECT_EQ(corrupt("\"a\":0", "\"a\":99999999999"),
            "tokenizer.json: model.vocab.a is 99999999999; ids are from 0 to 16777215");
  EXPECT_EQ(corrupt("\"a\":0", "\"a\":1.5"), "tokenizer.json: model.vocab.a should be an integer but is 1.5");
  EXPECT_EQ(corrupt("\"b\":1", "\"b\":0"), "tokenizer.json: model.vocab.b has id 0, which is that of \"a\"");
  EXPECT_EQ(corrupt("\"b\":1", "\"b\":1,\"a\":9"), "tokenizer.json: model.vocab.a is there twice");
  EXPECT_EQ(corrupt(R"(["a","b"])", R"(["a","x"])"),
            "tokenizer.json: model.merges[0] joins \"x\", which is not in the vocabulary");
  EXPECT_EQ(corrupt(R"(["a","b"])", R"(["a","a"])"),
            "tokenizer.json: model.merges[0]: the result \"aa\" is not in the vocabulary");
  EXPECT_EQ(corrupt(R"(["a","b"])", R"(["a"])"),
            "tokenizer.json: model.merges[0] should have 2 tokens but has 1");
  EXPECT_EQ(corrupt(R"(["a","b"])", R"("a  b")"),
            "tokenizer.json: model.merges[0] should be two tokens with a space between");
  EXPECT_EQ(corrupt(R"(["a","b"])", "7"), "tokenizer.json: model.merges[0] should be an array but is 7");
  EXPECT_EQ(corrupt("\"vocab\"", "\"vocabulary\""), "tokenizer.json: model.vocab is missing");
  EXPECT_EQ(corrupt("\"id\":7", "\"id\":-7"),
            "tokenizer.json: added_tokens[0].id is -7; ids are from 0 to 16777215");
  EXPECT_EQ(corrupt("\"special\":true", "\"special\":\"yes\""),
            "tokenizer.json: added_tokens[0].special should be true or false but is \"yes\"");
}

TEST(TokenizerErrors, HostileText) {
  EXPECT_THAT(error_of("", ErrorKind::Corruption), HasSubstr("tokenizer.json: not JSON: "));
  EXPECT_THAT(error_of("{\"model\":", ErrorKind::Corruption), HasSubstr("tokenizer.json: not JSON: "));
  EXPECT_THAT(error_of(std::string(100000, '['), ErrorKind::Corruption),
              HasSubstr("tokenizer.json: not JSON: "));
  EXPECT_EQ(error_of("[]", ErrorKind::Corruption), "tokenizer.json should be an object but is []");
  EXPECT_EQ(error_of("{}", ErrorKind::Corruption), "tokenizer.json: model is missing");
  EXPECT_EQ(error_of(R"({"version":"2.0"})", ErrorKind::Unsupported),
            "tokenizer.json: version is \"2.0\"; Bora reads \"1.0\"");
}

TEST(TokenizerErrors, RefuseWhatIsNotThereByName) {
  const std::string json = kTiny;
  const auto refused = [&](const std::string& what, const std::string& by) {
    return error_of(replaced(json, what, by), ErrorKind::Unsupported);
  };
  EXPECT_EQ(
      refused("\"type\":\"BPE\"", "\"type\":\"Bigram\""),
      "tokenizer.json: model: the model \"Bigram\" is not supported; Bora reads BPE, Unigram, WordPiece and "
      "WordLevel");
  EXPECT_EQ(refused("\"normalizer\":null", R"("normalizer":{"type":"Precooked"})"),
            "tokenizer.json: normalizer: normalizer \"Precooked\" is not supported");
  EXPECT_EQ(
      refused("\"normalizer\":null", R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NMT"}]})"),
      "tokenizer.json: normalizer.normalizers[0]: normalizer \"NMT\" is not supported");
  EXPECT_EQ(refused("\"pre_tokenizer\":null", R"("pre_tokenizer":{"type":"Bert"})"),
            "tokenizer.json: pre_tokenizer: pre-tokenizer \"Bert\" is not supported");
  EXPECT_EQ(refused("\"post_processor\":null", R"("post_processor":{"type":"New"})"),
            "tokenizer.json: post_processor: post-processor \"New\" is not supported");
  EXPECT_EQ(refused(R"("decoder":{"type":"Fuse"})", R"("decoder":{"type":"Words"})"),
            "tokenizer.json: decoder: decoder \"Words\" is not supported");
  EXPECT_EQ(refused("\"dropout\":null", "\"dropout\":0.5"),
            "tokenizer.json: model.dropout: BPE with dropout 0.5 is not supported: ids would be random\n"
            "hint: set it to null");
  EXPECT_EQ(refused("\"normalizer\":null",
                    R"("normalizer":{"type":"Replace","pattern":{"Regex":"(a"},"content":""})"),
            "tokenizer.json: normalizer.pattern.Regex: the regex \"(a\" cannot be used: a ( without "
            "its ) at byte 0\nhint: write that part of the regex in another way");
}

TEST(TokenizerErrors, Components) {
  const std::string json = kTiny;
  const auto corrupt = [&](const std::string& what, const std::string& by) {
    return error_of(replaced(json, what, by), ErrorKind::Corruption);
  };
  EXPECT_EQ(corrupt("\"post_processor\":null",
                    R"("post_processor":{"type":"BertProcessing","sep":["b",1],"cls":["x",88]})"),
            "tokenizer.json: post_processor.cls[1] is 88, which is no id of the 8 of the vocabulary");
  EXPECT_EQ(
      corrupt("\"post_processor\":null",
              R"("post_processor":{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}})"),
      "tokenizer.json: post_processor.single should have the text once but has it 0 times");
  EXPECT_EQ(corrupt("\"pre_tokenizer\":null",
                    R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Sideways"})"),
            "tokenizer.json: pre_tokenizer.behavior is \"Sideways\", not one of Removed, Isolated, "
            "MergedWithPrevious, MergedWithNext, Contiguous");
  EXPECT_EQ(corrupt("\"pre_tokenizer\":null",
                    R"("pre_tokenizer":{"type":"Split","pattern":{},"behavior":"Removed"})"),
            "tokenizer.json: pre_tokenizer.pattern should be {\"String\": ...} or {\"Regex\": ...}");
  EXPECT_EQ(corrupt("\"pre_tokenizer\":null", R"("pre_tokenizer":{"type":"Metaspace","replacement":"__"})"),
            "tokenizer.json: pre_tokenizer.replacement should be one character");
  EXPECT_EQ(corrupt("\"pre_tokenizer\":null",
                    R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"})"),
            "tokenizer.json: pre_tokenizer.prepend_scheme should be \"always\", \"first\" or \"never\"");
  EXPECT_EQ(corrupt("\"pre_tokenizer\":null", R"("pre_tokenizer":{"type":"Metaspace","replacement":"_",)"
                                              R"("prepend_scheme":"first","add_prefix_space":false})"),
            "tokenizer.json: pre_tokenizer has add_prefix_space false, which contradicts its prepend_scheme");
}

TEST(TokenizerErrors, MoreComponents) {
  const std::string json = kTiny;
  const auto corrupt = [&](const std::string& what, const std::string& by) {
    return error_of(replaced(json, what, by), ErrorKind::Corruption);
  };
  EXPECT_EQ(corrupt("\"post_processor\":null",
                    R"("post_processor":{"type":"BertProcessing","cls":["a"],"sep":["b",1]})"),
            "tokenizer.json: post_processor.cls should be a token and its id");
  EXPECT_EQ(corrupt("\"post_processor\":null",
                    R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}]})"),
            "tokenizer.json: post_processor.single[0].Sequence should be sequence A: there is one text");
  EXPECT_EQ(corrupt("\"post_processor\":null",
                    R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}],)"
                    R"("special_tokens":{}})"),
            "tokenizer.json: post_processor.special_tokens.x is missing");
  EXPECT_EQ(
      corrupt("\"pre_tokenizer\":null", R"("pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":""})"),
      "tokenizer.json: pre_tokenizer.delimiter should be one character");
  EXPECT_EQ(corrupt(R"({"type":"Fuse"})", R"({"type":"Strip","content":"","start":0,"stop":0})"),
            "tokenizer.json: decoder.content should be one character");
  EXPECT_EQ(corrupt(R"({"type":"Fuse"})", R"({"type":"Metaspace","replacement":"_","prepend_scheme":"x"})"),
            "tokenizer.json: decoder.prepend_scheme should be \"always\", \"first\" or \"never\"");
  EXPECT_EQ(corrupt("\"unk_token\":null", "\"continuing_subword_prefix\":\"##\""),
            "tokenizer.json: model.merges[0]: \"b\" is shorter than the prefix \"##\"");
}

TEST(TokenizerErrors, Sizes) {  // views that are too long are refused before they are read
  const Tokenizer t = Tokenizer::from_json(kTiny);
  try {
    t.encode(std::string_view(kTiny.data(), std::size_t{1} << 33));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "encode: a text of 8589934592 bytes; at most 4 GiB at a time\nhint: encode it in parts");
  }
  try {
    Tokenizer::from_json(std::string_view(kTiny.data(), std::size_t{1} << 33));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "tokenizer.json: 8589934592 bytes of JSON; at most 1073741824 are read");
  }
}

TEST(TokenizerErrors, UnknownSpecialTokensAreIgnoredWithAWarning) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Tokenizer::from_json(kTiny, R"({"pad_token": "[PAD]"})").pad_id());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "bora: warning: tokenizer_config.json: pad_token \"[PAD]\" is not in the vocabulary; it is ignored\n");
}

TEST(TokenizerErrors, Files) {
  EXPECT_THROW(
      {
        try {
          Tokenizer::load(testing::TempDir() + "/no_tokenizer_here");
        } catch (const Error& e) {
          EXPECT_EQ(e.kind(), ErrorKind::NotFound);
          throw;
        }
      },
      Error);
  try {
    Tokenizer::from_json(kTiny, R"({"bos_token": 3})");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "tokenizer_config.json: bos_token should be a token but is 3");
  }
  try {
    Tokenizer::from_json(kTiny, "[]");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "tokenizer_config.json: should be an object but is array");
  }
}

}  // namespace
}  // namespace bora

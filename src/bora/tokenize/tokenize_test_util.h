// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/train/bpe_trainer.h"

namespace bora::tokenize {

/// Characters a, b, c and space; merges ab, abc, bc; <end> is special.
inline const std::string kTiny =
    R"({"version":"1.0","added_tokens":[{"id":7,"content":"<end>","single_word":false,"lstrip":false,)"
    R"("rstrip":false,"normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":null,)"
    R"("post_processor":null,"decoder":{"type":"Fuse"},"model":{"type":"BPE","dropout":null,"unk_token":null,)"
    R"("vocab":{"a":0,"b":1,"c":2," ":3,"ab":4,"abc":5,"bc":6},"merges":[["a","b"],["ab","c"],["b","c"]]}})";

/// As Llama 2: ▁ for spaces, byte fallback, <s> in front.
inline const std::string kSentencePiece = [] {
  std::string vocab = R"({"<unk>":0,"<s>":1,"</s>":2)";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t b = 0; b < 256; ++b) {
    vocab += ",\"<0x";
    vocab += kHex[b / 16];
    vocab += kHex[b % 16];
    vocab += ">\":" + std::to_string(b + 3);
  }
  vocab += R"(,"▁":259,"a":260,"b":261,"▁a":262})";
  const auto added = [](int id, const char* content) {
    return R"({"id":)" + std::to_string(id) + R"(,"content":")" + content +
           R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  };
  return R"({"version":"1.0","added_tokens":[)" + added(0, "<unk>") + "," + added(1, "<s>") + "," +
         added(2, "</s>") +
         R"(],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
         R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,)"
         R"("post_processor":{"type":"TemplateProcessing","single":[)"
         R"({"SpecialToken":{"id":"<s>","type_id":0}},)"
         R"({"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[1],)"
         R"("tokens":["<s>"]}}},"decoder":{"type":"Sequence","decoders":[)"
         R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
         R"({"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},)"
         R"("model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"vocab":)" +
         vocab + R"(,"merges":["▁ a"]}})";
}();

inline DocumentSource documents(std::vector<std::string> texts) {
  return [texts = std::move(texts), i = std::size_t{0}]() mutable -> std::optional<std::string_view> {
    if (i == texts.size()) return std::nullopt;
    return texts[i++];
  };
}

/// Byte level, trained on a few words.
inline Tokenizer tiny() {
  BpeTrainerConfig config;
  config.vocab_size = 300;
  return train_bpe(documents({"some words and some more words, again and again and again; words words"}),
                   config)
      .tokenizer;
}

}  // namespace bora::tokenize

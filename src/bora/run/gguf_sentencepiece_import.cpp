// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A tokenizer.json that cuts texts as llama.cpp does by scores: a BPE whose merges are the one pair that ever becomes
// each token, the highest score first (gguf_joins.h). Where two tokens that are made have one score, or a character
// that is no token is part of one, no list of merges says that; such files become the BPE of SentencePiece models.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/run/gguf_joins.h"
#include "bora/run/gguf_tokenizer.h"
#include "bora/run/gguf_words.h"

namespace bora::run {
namespace {

std::string_view next(const std::string& list) { return list.empty() ? "" : ","; }

class Scored {
 public:
  explicit Scored(const GgufWords& words) : words_(words), tokens_(words.texts("tokens")) {
    static constexpr std::array kKinds = {kGgufNormal,      kGgufUnknown, kGgufControl,
                                          kGgufUserDefined, kGgufUnused,  kGgufByte};
    types_ = words.types(tokens_, kKinds, "BPE by scores");
    for (std::size_t i = 0; i < tokens_.size(); ++i) read_token(i);
    read_scores();
    require_bytes();
    normalized_ = marked(kGgufNormalizedIds);
    spaced_ = marked(kGgufAddedIds);
  }

  std::string json() const {
    const bool prefix = words_.flag("add_space_prefix", true);
    return fmt::format(
        R"({{"version":"1.0","added_tokens":[{}],{},"post_processor":{},"decoder":{{"type":"Sequence",)"
        R"("decoders":[{{"type":"Replace","pattern":{{"String":"▁"}},"content":" "}},{{"type":"ByteFallback"}},)"
        R"({{"type":"Fuse"}}{}]}},"model":{}}})",
        added_tokens(), spaces(prefix), words_.around(tokens_, words_.frame(true), "null"),
        prefix ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "", model());
  }

 private:
  void read_token(std::size_t i) {
    const auto& text = tokens_[i];
    if (text.empty()) words_.wrong(fmt::format("tokens has an empty text at {}, but must be texts", i));
    if (text.size() > kLongestGgufToken)
      words_.wrong(
          fmt::format("tokens has {} bytes at {}, but {} are the most", text.size(), i, kLongestGgufToken));
    words_.quoted(text, "token", i);
    if (const auto [other, is_new] = ids_.emplace(text, i); !is_new)
      words_.wrong(fmt::format("tokens has {} at {} and at {}, but must be different texts",
                               GgufWords::shown(text), other->second, i));
  }

  void read_scores() {
    const auto* given = words_.value("scores");
    if (given == nullptr || !given->is_array())
      words_.wrong(fmt::format("scores is {}, but must be a list of numbers, one for each of {} tokens",
                               given == nullptr ? "missing" : GgufWords::shown(*given), tokens_.size()));
    if (given->size() != tokens_.size())
      words_.wrong(
          fmt::format("scores has {} entries, but there are {} tokens", given->size(), tokens_.size()));
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto& score = (*given)[i];
      constexpr auto kMost = std::numeric_limits<float>::max();
      if (!score.is_number() || !(std::abs(score.get<double>()) <= kMost))
        words_.wrong(
            fmt::format("scores has {} for token {} ({}), but must be finite numbers",
                        score.is_number() ? fmt::format("{}", score.get<double>()) : GgufWords::shown(score),
                        i, GgufWords::shown(tokens_[i])));
      scores_.push_back(score.get<float>());
    }
  }

  // Characters that are no token become their bytes.
  void require_bytes() const {
    for (int b = 0; b < 256; ++b) {
      const auto found = ids_.find(gguf_byte(b));
      if (found == ids_.end())
        words_.refuse(
            fmt::format("tokenizer.ggml.tokens has no {} among {} tokens, but all 256 bytes are needed",
                        gguf_byte(b), tokens_.size()));
      if (types_[found->second] != kGgufByte)
        words_.refuse(fmt::format("tokenizer.ggml.token_type is {} for token {} ({}), but must be {}, a byte",
                                  types_[found->second], found->second, gguf_byte(b), kGgufByte));
    }
    const auto bytes = std::count(types_.begin(), types_.end(), kGgufByte);
    if (bytes != 256)
      words_.refuse(fmt::format(
          "tokenizer.ggml.token_type says of {} tokens that they are bytes, but there are 256", bytes));
  }

  // Tokens that a key of Bora's own lists.
  std::vector<bool> marked(std::string_view key) const {
    std::vector<bool> out(tokens_.size(), false);
    const auto* given = words_.file().value(key);
    if (given == nullptr) return out;
    for (const auto& id : *given) {
      if (!id.is_number_integer() || id < 0 || id >= tokens_.size())
        fail(ErrorKind::Corruption,
             "{}: GGUF: {} has {}, but there are {} tokens\nhint: fetch the file again, or write it anew",
             words_.path(), key, GgufWords::shown(id), tokens_.size());
      out[id.get<std::size_t>()] = true;
    }
    return out;
  }

  bool is_padding(std::size_t i) const {
    return types_[i] == kGgufUnused && tokens_[i] == gguf_padding(static_cast<std::int64_t>(i));
  }

  // llama.cpp goes by the model's name.
  bool is_phi3() const {
    const auto* name = words_.file().value("general.name");
    const auto text = name != nullptr && name->is_string() ? ascii_lower(name->get<std::string>()) : "";
    return text.find("phi3") != std::string::npos || text.find("phi-3") != std::string::npos;
  }

  std::string added_tokens() const {
    std::string out;
    const bool strips = is_phi3();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const bool special = types_[i] == kGgufControl || types_[i] == kGgufUnknown;
      if (!special && types_[i] != kGgufUserDefined && !spaced_[i]) continue;
      out += fmt::format(
          R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":{},"normalized":{},"special":{}}})",
          next(out), i, words_.quoted(tokens_[i], "token", i), strips && gguf_phi3_strips(tokens_[i]),
          bool(normalized_[i]), special);
    }
    return out;
  }

  // Normalizer and pre-tokenizer.
  std::string spaces(bool prefix) const {
    constexpr std::string_view kReplace = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
    const auto* scheme = words_.file().value(kGgufPrependScheme);
    if (scheme != nullptr) {
      if (*scheme != "always" && *scheme != "first")
        fail(
            ErrorKind::Corruption,
            "{}: GGUF: {} is {}, but must be \"always\" or \"first\"\nhint: fetch the file again, or write it anew",
            words_.path(), kGgufPrependScheme, GgufWords::shown(*scheme));
      return fmt::format(R"("normalizer":null,"pre_tokenizer":{{"type":"Metaspace","replacement":"▁",)"
                         R"("prepend_scheme":{},"split":false}})",
                         scheme->dump());
    }
    if (!prefix) return fmt::format(R"("normalizer":{},"pre_tokenizer":null)", kReplace);
    return fmt::format(
        R"("normalizer":{{"type":"Sequence","normalizers":[{{"type":"Prepend","prepend":"▁"}},{}]}},)"
        R"("pre_tokenizer":null)",
        kReplace);
  }

  // Tokens that pieces of a text become: others are cut out before.
  bool is_made(std::size_t i) const {
    return types_[i] == kGgufNormal || types_[i] == kGgufByte || types_[i] == kGgufUnused;
  }

  struct Merge {
    float score;
    std::string_view left, right;
  };
  // Nothing where no list says it.
  std::optional<std::vector<Merge>> merges() const {
    const auto order = [&](std::string_view left, std::string_view right) -> std::optional<double> {
      const auto found = ids_.find({left.data(), left.size() + right.size()});
      return found == ids_.end() || !is_made(found->second) ? std::nullopt
                                                            : std::optional(-double(scores_[found->second]));
    };
    std::vector<Merge> out;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!is_made(i)) continue;
      const auto joined = join_characters(tokens_[i], order);
      if (joined.pieces.size() != 1 || joined.left.empty()) continue;
      if (!ids_.contains(joined.left) || !ids_.contains(joined.right)) return std::nullopt;
      out.push_back({scores_[i], joined.left, joined.right});
    }
    const auto higher = [](const Merge& a, const Merge& b) { return a.score > b.score; };
    std::stable_sort(out.begin(), out.end(), higher);
    for (std::size_t i = 1; i < out.size(); ++i)
      if (out[i].score == out[i - 1].score) return std::nullopt;
    return out;
  }

  std::optional<std::size_t> unknown() const {
    const auto at = std::find(types_.begin(), types_.end(), kGgufUnknown);
    return at == types_.end() ? words_.id("unknown_token_id")
                              : std::optional<std::size_t>(at - types_.begin());
  }

  std::string model() const {
    const auto merges = this->merges();
    if (!merges) return sentencepiece();
    std::string vocab, pairs;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (!is_padding(i))
        vocab += fmt::format("{}{}:{}", next(vocab), words_.quoted(tokens_[i], "token", i), i);
    for (const auto& merge : *merges)
      pairs += fmt::format("{}[{},{}]", next(pairs), Json(merge.left).dump(), Json(merge.right).dump());
    const auto unknown = this->unknown();
    return fmt::format(
        R"({{"type":"BPE","unk_token":{},"fuse_unk":true,"byte_fallback":true,"vocab":{{{}}},"merges":[{}]}})",
        unknown ? Json(tokens_[*unknown]).dump() : "null", vocab, pairs);
  }

  // Of the kinds of SentencePiece, whose numbers are the same. It leaves unused pieces out, llama.cpp does not.
  std::string sentencepiece() const {
    const auto unknown = this->unknown();
    if (!unknown)
      words_.refuse(fmt::format(
          "tokenizer.ggml.scores has the same one for several tokens, which needs an unknown token among {}",
          tokens_.size()));
    std::string pieces;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto kind = i == *unknown                                ? kGgufUnknown
                        : types_[i] == kGgufUnknown                  ? kGgufControl
                        : types_[i] == kGgufUnused && !is_padding(i) ? kGgufNormal
                                                                     : types_[i];
      pieces +=
          fmt::format("{}[{},{},{}]", next(pieces), words_.quoted(tokens_[i], "token", i), scores_[i], kind);
    }
    return fmt::format(R"({{"type":"SentencePiece","algorithm":"BPE","byte_fallback":true,"pieces":[{}]}})",
                       pieces);
  }

  const GgufWords& words_;
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> types_;
  std::vector<float> scores_;
  std::vector<bool> normalized_, spaced_;
  std::unordered_map<std::string_view, std::size_t> ids_;  // views of tokens_
};

}  // namespace

Tokenizer sentencepiece_of_gguf(const GgufWords& words, const std::string& config) {
  return Tokenizer::from_json(Scored(words).json(), config, words.path());
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// BPE over characters as llama.cpp has it: of two neighbours whose text together is a token, those of the highest
// score are joined first, the leftmost of equals. Merges of pairs become scores of what they make; where texts would
// fall into other pieces, there is no file.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/run/gguf_joins.h"
#include "bora/run/gguf_tokenizer.h"

namespace bora::run {
namespace {

constexpr std::string_view kSpace = "▁";

// How a text is prepared.
struct Spaces {
  bool prefix = false;       // a space in front
  bool replaced = false;     // ▁ for spaces
  bool prepends = false;     // the prefix is the normalizer's
  bool at_spaces = false;    // words begin at ▁, and nothing is joined across
  bool at_newlines = false;  // runs of newlines are words of their own
  std::string scheme;        // Metaspace's, where the prefix is its
};

bool is_string_pattern(const Json& json, std::string_view text) {
  return json.contains("pattern") && json["pattern"].value("String", "") == text &&
         !json.value("invert", false);
}

void read_normalizer(const Json& json, Spaces& out) {
  if (json.is_null()) return;
  const auto type = json.value("type", "");
  if (type == "Sequence") {
    for (const auto& item : json["normalizers"]) read_normalizer(item, out);
  } else if (type == "Prepend" && json.value("prepend", "") == kSpace && !out.prefix) {
    out.prefix = out.prepends = true;
  } else if (type == "Replace" && is_string_pattern(json, " ") && json.value("content", "") == kSpace) {
    out.replaced = true;
  } else if (type == "SentencePiece" && json.value("precompiled_charsmap", "x").empty() &&
             !json.value("remove_extra_whitespaces", true) && json.value("escape_whitespaces", false) &&
             !json.value("whitespace_is_suffix", true)) {
    out.replaced = true;
    out.prefix = json.value("add_dummy_prefix", true);
  } else {
    refuse_gguf_tokenizer("normalizer is " + json.dump());
  }
}

void read_pre_tokenizer(const Json& json, Spaces& out) {
  if (json.is_null()) return;
  const auto type = json.value("type", "");
  if (type == "Sequence") {
    for (const auto& item : json["pretokenizers"]) read_pre_tokenizer(item, out);
  } else if (type == "Metaspace" && json.value("replacement", "") == kSpace) {
    const auto scheme = json.value("prepend_scheme", "always");
    const bool adds = scheme != "never" && !out.prepends;
    if (adds && out.at_newlines) refuse_gguf_tokenizer("pre_tokenizer adds a space in front of every line");
    out.replaced = true;
    out.at_spaces |= json.value("split", true);
    if (adds) out.prefix = true, out.scheme = scheme;
  } else if (type == "Split" && is_string_pattern(json, "\n") && json.value("behavior", "") == "Contiguous") {
    out.at_newlines = true;
  } else if (type != "Split" || !is_string_pattern(json, " ") || !out.replaced) {  // of spaces none are left
    refuse_gguf_tokenizer("pre_tokenizer is " + json.dump());
  }
}

class SentencePieceLike {
 public:
  SentencePieceLike(const Tokenizer& tokenizer, const Json& json, std::int64_t rows)
      : tokenizer_(tokenizer), json_(json), model_(json["model"]) {
    read_normalizer(json.value("normalizer", Json()), spaces_);
    read_pre_tokenizer(json.value("pre_tokenizer", Json()), spaces_);
    if (!spaces_.replaced) refuse_gguf_tokenizer("normalizer leaves spaces as they are");
    require_model();
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto token = tokenizer.token(static_cast<std::int32_t>(i));
      texts_.push_back(token ? *token : gguf_padding(i));
      types_.push_back(token ? kGgufNormal : kGgufUnused);
    }
    read_bytes();
    read_added();
    require_different();
  }

  GgufTokenizer description() {
    GgufTokenizer out;
    auto scores = is_scored() ? given_scores() : scores_of_merges();
    const auto [begins, ends] = frame();
    out.metadata = {{"tokenizer.ggml.model", std::string("llama")},
                    {"tokenizer.ggml.pre", std::string("default")},
                    {"tokenizer.ggml.tokens", texts_},
                    {"tokenizer.ggml.scores", std::move(scores)},
                    {"tokenizer.ggml.token_type", types_},
                    {"tokenizer.ggml.add_space_prefix", spaces_.prefix},
                    {"tokenizer.ggml.add_bos_token", begins},
                    {"tokenizer.ggml.add_eos_token", ends}};
    if (unknown_) out.metadata.emplace_back("tokenizer.ggml.unknown_token_id", *unknown_);
    if (!spaces_.scheme.empty()) out.metadata.emplace_back(std::string(kGgufPrependScheme), spaces_.scheme);
    if (!normalized_.empty()) out.metadata.emplace_back(std::string(kGgufNormalizedIds), normalized_);
    if (!spaced_.empty()) out.metadata.emplace_back(std::string(kGgufAddedIds), spaced_);
    out.is_phi3 = is_phi3_;
    out.notes = notes();
    return out;
  }

 private:
  // Read from a SentencePiece model: scores are what it has.
  bool is_scored() const { return model_.value("type", "") == "SentencePiece"; }

  void require_model() const {
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!json_string(affix).empty())
        refuse_gguf_tokenizer(fmt::format("model has {} {}", affix, model_[affix].dump()));
    if (model_.value("ignore_merges", false)) refuse_gguf_tokenizer("model has ignore_merges");
  }

  std::size_t at(std::int32_t id) const { return static_cast<std::size_t>(id); }
  bool is_row(std::optional<std::int32_t> id) const { return id && *id < std::ssize(texts_); }

  // llama.cpp takes each to be there.
  void read_bytes() {
    for (int b = 0; b < 256; ++b) {
      const auto id = tokenizer_.id_of(gguf_byte(b));
      if (!is_row(id))
        refuse_gguf_tokenizer(fmt::format("model has byte_fallback but no token {}", gguf_byte(b)));
      types_[at(*id)] = kGgufByte;
    }
  }

  void read_added() {
    const auto unknown = tokenizer_.id_of(json_string("unk_token"));
    if (is_row(unknown)) unknown_ = static_cast<std::uint32_t>(*unknown);
    for (const auto& token : json_.value("added_tokens", Json::array())) {
      const auto id = token["id"].get<std::int32_t>();
      if (!is_row(id)) continue;
      const bool special = token.value("special", false);
      types_[at(id)] = unknown == id ? kGgufUnknown : special ? kGgufControl : kGgufUserDefined;
      const bool changes = spaces_.prepends || texts_[at(id)].find(' ') != std::string::npos;
      if (token.value("normalized", true) && changes) normalized_.push_back(id);
    }
    if (is_scored()) read_kinds();
    read_stripping();
  }

  std::string json_string(const char* key) const {
    return model_.contains(key) && model_[key].is_string() ? model_[key].get<std::string>() : "";
  }

  // Of a SentencePiece model; they have llama.cpp's numbers.
  void read_kinds() {
    for (std::size_t i = 0; i < std::min(texts_.size(), model_["pieces"].size()); ++i) {
      types_[i] = model_["pieces"][i][2].get<std::int32_t>();
      if (types_[i] == kGgufUnknown) unknown_ = static_cast<std::uint32_t>(i);
      if (types_[i] == kGgufUnused && texts_[i] != gguf_padding(static_cast<std::int64_t>(i)))
        refuse_gguf_tokenizer(fmt::format("model has an unused piece, {}", Json(texts_[i]).dump()));
      if (types_[i] == kGgufUserDefined && spaces_.prefix && !spaces_.prepends)
        refuse_gguf_tokenizer(fmt::format(
            "model has a user-defined piece, {}, that no space in front follows", Json(texts_[i]).dump()));
    }
  }

  // White space around tokens: llama.cpp knows what Phi-3 does with it, by the model's name.
  void read_stripping() {
    std::string first;
    bool as_phi3 = true;
    std::set<std::string> names;
    for (const auto& token : json_.value("added_tokens", Json::array())) {
      const auto text = token["content"].get<std::string>();
      names.insert(text);
      const bool right = token.value("rstrip", false);
      const bool other = token.value("lstrip", false) || token.value("single_word", false);
      if ((right || other) && first.empty()) first = text;
      as_phi3 &= !other && right == gguf_phi3_strips(text);
    }
    if (first.empty()) return;
    for (const char* name : {"</s>", "<unk>", "<s>", "<|endoftext|>"}) as_phi3 &= names.contains(name);
    if (!as_phi3)
      refuse_gguf_tokenizer(fmt::format(
          "token {} looks at what stands around it (lstrip, rstrip or single_word)", Json(first).dump()));
    is_phi3_ = true;
  }

  void require_different() const {
    std::unordered_map<std::string_view, std::size_t> ids;
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (const auto [other, is_new] = ids.emplace(texts_[i], i); !is_new)
        refuse_gguf_tokenizer(
            fmt::format("tokens {} and {} are both {}", other->second, i, Json(texts_[i]).dump()));
  }

  // Of merges the last one counts where a pair is there twice.
  std::unordered_map<std::string, double> ranks() const {
    std::unordered_map<std::string, double> out;
    double rank = 0;
    for (const auto& merge : model_["merges"]) {
      const auto left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
      for (const auto& side : {left, right})
        if (const auto id = tokenizer_.id_of(side); is_row(id) && types_[at(*id)] == kGgufByte)
          refuse_gguf_tokenizer(
              fmt::format("merge of {} and {} joins bytes", Json(left).dump(), Json(right).dump()));
      out[left + '\0' + right] = rank++;
    }
    return out;
  }

  bool is_cut(std::string_view left, std::string_view right) const {
    return (spaces_.at_spaces && right.starts_with(kSpace)) ||
           (spaces_.at_newlines && left.ends_with('\n') != right.starts_with('\n'));
  }

  // In the order of their merges: 0, -1, -2, ...; tokens that no merge makes come last. Those that are cut out of a
  // text before merges have none.
  std::vector<float> scores_of_merges() {
    const auto ranks = this->ranks();
    std::string key;
    const auto order = [&](std::string_view left, std::string_view right) -> std::optional<double> {
      if (is_cut(left, right)) return std::nullopt;
      key.assign(left).append(1, '\0').append(right);
      const auto found = ranks.find(key);
      return found == ranks.end() ? std::nullopt : std::optional(found->second);
    };
    std::vector<std::pair<double, std::size_t>> made;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto& text = texts_[i];
      const bool spaced = text.find(kSpace) != std::string::npos;
      const bool apart = types_[i] == kGgufControl || types_[i] == kGgufUnknown ||
                         (types_[i] == kGgufUserDefined && !spaced);
      if (text.size() > kLongestGgufToken)
        refuse_gguf_tokenizer(
            fmt::format("token {} has {} bytes, more than {},", i, text.size(), kLongestGgufToken));
      const auto joined = join_characters(text, order);
      if (apart) {
        if (joined.pieces.size() == 2 && types_[i] != kGgufUserDefined) spelled_.push_back(text);
      } else if (joined.pieces.size() == 1 && !joined.left.empty()) {
        made.emplace_back(joined.order, i);
        // Spaces are ▁ where llama.cpp joins, and were spaces where it looks for tokens that a user has added.
        if (types_[i] == kGgufUserDefined) spaced_.push_back(static_cast<std::int32_t>(i));
        types_[i] = types_[i] == kGgufUserDefined ? kGgufNormal : types_[i];
      } else if (joined.pieces.size() == 2) {
        refuse_gguf_tokenizer(
            fmt::format("rule to leave {} as {} and {}, though it is token {}, needs merges beside scores",
                        Json(text).dump(), Json(joined.pieces[0]).dump(), Json(joined.pieces[1]).dump(), i));
      }
    }
    std::sort(made.begin(), made.end());
    std::vector<float> out(texts_.size(), -static_cast<float>(made.size()));
    for (std::size_t i = 0; i < made.size(); ++i) out[made[i].second] = -static_cast<float>(i);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (types_[i] == kGgufControl || types_[i] == kGgufUnknown || types_[i] == kGgufByte) out[i] = 0;
    return out;
  }

  std::vector<float> given_scores() const {
    std::vector<float> out(texts_.size(), 0.0F);
    for (std::size_t i = 0; i < std::min(texts_.size(), model_["pieces"].size()); ++i)
      out[i] = model_["pieces"][i][1].get<float>();
    return out;
  }

  // Whether a text begins and ends with the tokens of that name.
  std::pair<bool, bool> frame() const {
    auto inner = tokenizer_.encode("a", false).ids;
    const auto all = tokenizer_.encode("a", true).ids;
    for (const bool begins : {false, true})
      for (const bool ends : {false, true}) {
        if ((begins && !tokenizer_.bos_id()) || (ends && !tokenizer_.eos_id())) continue;
        auto framed = inner;
        if (begins) framed.insert(framed.begin(), *tokenizer_.bos_id());
        if (ends) framed.push_back(*tokenizer_.eos_id());
        if (framed == all) return {begins, ends};
      }
    refuse_gguf_tokenizer("post_processor puts other tokens around a text than a beginning and an end");
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    if (!spaces_.scheme.empty())
      out.emplace_back("a text that begins with a space gets one more in front in llama.cpp");
    if (spaces_.scheme == "first")
      out.emplace_back("a text behind a special token gets a space in front in llama.cpp");
    if (!normalized_.empty())
      out.push_back(fmt::format(
          "{} added tokens with \"normalized\": true, {} one of them, are found wherever they are spelled in llama.cpp",
          normalized_.size(), texts_[at(normalized_.front())]));
    if (!spelled_.empty())
      out.push_back(fmt::format(
          "{} special tokens, {} one of them, are tokens in llama.cpp also where they are to be ordinary text",
          spelled_.size(), spelled_.front()));
    if (!spaced_.empty())
      out.push_back(fmt::format(
          "{} added tokens of spaces, {} one of them, are not found where ▁ itself is spelled in llama.cpp",
          spaced_.size(), texts_[at(spaced_.front())]));
    return out;
  }

  const Tokenizer& tokenizer_;
  const Json& json_;
  const Json& model_;
  Spaces spaces_;
  std::vector<std::string> texts_, spelled_;
  std::vector<std::int32_t> types_, normalized_, spaced_;
  std::optional<std::uint32_t> unknown_;
  bool is_phi3_ = false;
};

}  // namespace

bool is_sentencepiece_like(const Json& json) {
  const auto& model = json["model"];
  const auto type = model.value("type", "BPE");
  return (type == "BPE" && model.value("byte_fallback", false)) ||
         (type == "SentencePiece" && model.value("algorithm", "") == "BPE" &&
          model.value("byte_fallback", false));
}

std::string gguf_byte(int byte) { return fmt::format("<0x{:02X}>", byte); }

bool gguf_phi3_strips(std::string_view token) {
  return token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
}

GgufTokenizer gguf_sentencepiece(const Tokenizer& tokenizer, const Json& json, std::int64_t rows) {
  return SentencePieceLike(tokenizer, json, rows).description();
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/decoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/tokenize/formats/sentencepiece_text.h"
#include "bora/unicode/pattern.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

struct ByteLevelDecoder final : Decoder {
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      if (!bytes_from_alphabet(token, bytes)) bytes += token;
    }
    tokens = {utf8_lossy(bytes)};
  }
  std::string alone(std::string token) const override {
    std::string bytes;
    return bytes_from_alphabet(token, bytes) ? bytes : token;
  }
  void write(std::string& out) const override {
    out += R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
  }
};

struct ReplaceDecoder final : Decoder {
  Pattern pattern;
  std::string content;
  ReplaceDecoder(Pattern p, std::string c) : pattern(std::move(p)), content(std::move(c)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) token = pattern.replace(token, content);
  }
  std::string alone(std::string token) const override {
    return is_valid_utf8(token) ? pattern.replace(token, content) : token;
  }
  void write(std::string& out) const override {
    out += R"({"type":"Replace","pattern":)";
    pattern.write(out);
    out += fmt::format(",\"content\":{}}}", json_string(content));
  }
};

/// The byte of <0x41>.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  std::string_view digits = token.substr(3, 2);
  if (digits[0] == '+') digits.remove_prefix(1);  // Rust's from_str_radix takes a sign
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(value);
}

struct ByteFallback final : Decoder {
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string run;
    const auto flush = [&] {
      if (is_valid_utf8(run)) {
        if (!run.empty()) out.push_back(run);
      } else {
        for (std::size_t i = 0; i < run.size(); ++i) out.emplace_back("\xEF\xBF\xBD");
      }
      run.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = fallback_byte(token)) {
        run += *byte;
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }
  std::string alone(std::string token) const override {
    const auto byte = fallback_byte(token);
    return byte ? std::string(1, *byte) : token;
  }
  void write(std::string& out) const override { out += R"({"type":"ByteFallback"})"; }
};

struct Fuse final : Decoder {
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
  }
  void write(std::string& out) const override { out += R"({"type":"Fuse"})"; }
};

struct StripDecoder final : Decoder {
  std::string content;  // one character
  std::int64_t start = 0, stop = 0;
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::int64_t i = 0; i < start && rest.starts_with(content); ++i)
        rest.remove_prefix(content.size());
      for (std::int64_t i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
      token = std::string(rest);
    }
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Strip","content":{},"start":{},"stop":{}}})", json_string(content), start,
                       stop);
  }
};

struct MetaspaceDecoder final : Decoder {
  std::string replacement;
  std::string scheme;
  bool split = true;
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drop = i == 0 && scheme != "never";
      tokens[i] = Pattern::literal(replacement).replace(tokens[i], drop ? "" : " ");
    }
  }
  std::string alone(std::string token) const override {
    return Pattern::literal(replacement).replace(token, " ");
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Metaspace","replacement":{},"prepend_scheme":"{}","split":{}}})",
                       json_string(replacement), scheme, split);
  }
};

/// `what` becomes `by` wherever it is.
void replace_all(std::string& text, std::string_view what, std::string_view by) {
  if (text.find(what) != std::string::npos) text = Pattern::literal(std::string(what)).replace(text, by);
}

/// Undoes what tokenizing English puts around punctuation and contractions; one token at a time.
void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, by] : kRules) replace_all(text, what, by);
}

struct WordPiece final : Decoder {
  std::string prefix;
  bool cleanup;
  WordPiece(std::string p, bool c) : prefix(std::move(p)), cleanup(c) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix))
        token.erase(0, prefix.size());
      else if (i > 0)
        token.insert(0, 1, ' ');
      if (cleanup) clean_up(token);
    }
  }
  std::string alone(std::string token) const override {
    std::vector<std::string> tokens{"", std::move(token)};
    apply(tokens);
    return tokens[1];
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"WordPiece","prefix":{},"cleanup":{}}})", json_string(prefix), cleanup);
  }
};

/// The best path of connectionist temporal classification (Graves et al. 2006): of equal neighbours one, and
/// no blanks.
struct Ctc final : Decoder {
  std::string pad, delimiter;
  bool cleanup = true;
  void rewrite(std::string& token) const {
    if (!pad.empty()) replace_all(token, pad, "");
    if (!cleanup) return;
    clean_up(token);
    if (!delimiter.empty()) replace_all(token, delimiter, " ");
  }
  void apply(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) rewrite(token);
    std::erase(tokens, "");
  }
  std::string alone(std::string token) const override {
    rewrite(token);
    return token;
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"CTC","pad_token":{},"word_delimiter_token":{},"cleanup":{}}})",
                       json_string(pad), json_string(delimiter), cleanup);
  }
};

struct BpeDecoder final : Decoder {
  std::string suffix;
  explicit BpeDecoder(std::string s) : suffix(std::move(s)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = Pattern::literal(suffix).replace(tokens[i], i + 1 < tokens.size() ? " " : "");
    }
  }
  std::string alone(std::string token) const override { return Pattern::literal(suffix).replace(token, " "); }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"BPEDecoder","suffix":{}}})", json_string(suffix));
  }
};

struct SequenceDecoder final : Decoder {
  std::vector<std::unique_ptr<const Decoder>> items;
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& item : items) item->apply(tokens);
  }
  std::string alone(std::string token) const override {
    for (const auto& item : items) token = item->alone(std::move(token));
    return token;
  }
  void write(std::string& out) const override {
    out += R"({"type":"Sequence","decoders":[)";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      items[i]->write(out);
    }
    out += "]}";
  }
};

std::string one_character(const JsonView& json) {
  std::string text(json.string());
  if (text.empty() || utf8_length(text[0]) != text.size()) json.bad("should be one character");
  return text;
}

std::unique_ptr<const Decoder> read_metaspace_decoder(const JsonView& json) {
  auto metaspace = std::make_unique<MetaspaceDecoder>();
  metaspace->replacement = one_character(json.at("replacement"));
  metaspace->scheme =
      json.string("prepend_scheme", json.boolean("add_prefix_space", true) ? "always" : "never");
  if (metaspace->scheme != "always" && metaspace->scheme != "first" && metaspace->scheme != "never") {
    json.at("prepend_scheme").bad("should be \"always\", \"first\" or \"never\"");
  }
  metaspace->split = json.boolean("split", true);
  return metaspace;
}

std::unique_ptr<const Decoder> read_ctc(const JsonView& json) {
  auto ctc = std::make_unique<Ctc>();
  ctc->pad = json.at("pad_token").string();
  ctc->delimiter = json.at("word_delimiter_token").string();
  ctc->cleanup = json.at("cleanup").boolean();
  return ctc;
}

std::unique_ptr<const Decoder> read_strip(const JsonView& json) {
  auto strip = std::make_unique<StripDecoder>();
  strip->content = one_character(json.at("content"));
  strip->start = json.at("start").integer();
  strip->stop = json.at("stop").integer();
  return strip;
}

}  // namespace

std::unique_ptr<const Decoder> read_decoder(const JsonView& json) {
  const std::string type(json.at("type").string());
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return read_strip(json);
  if (type == "SentencePiece") return read_sentencepiece_decoder(json);
  if (type == "CTC") return read_ctc(json);
  if (type == "WordPiece") {
    return std::make_unique<WordPiece>(std::string(json.at("prefix").string()), json.at("cleanup").boolean());
  }
  if (type == "Metaspace") return read_metaspace_decoder(json);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(std::string(json.at("suffix").string()));
  if (type == "Replace") {
    return std::make_unique<ReplaceDecoder>(Pattern::read(json.at("pattern")),
                                            std::string(json.at("content").string()));
  }
  if (type == "Sequence") {
    auto sequence = std::make_unique<SequenceDecoder>();
    json.at("decoders").each_item([&](const JsonView& j) { sequence->items.push_back(read_decoder(j)); });
    return sequence;
  }
  fail(ErrorKind::Unsupported, "{}: decoder {} is not supported", json.where(), json_string(type));
}

std::unique_ptr<const Decoder> byte_level_decoder() { return std::make_unique<ByteLevelDecoder>(); }

}  // namespace bora::tokenize

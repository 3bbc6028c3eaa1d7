// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/formats/sentencepiece_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "bora/tokenize/models/byte_trie.h"
#include "bora/tokenize/normalize/charsmap.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";
constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

ByteTrie index_texts(const std::vector<std::string>& texts) {
  std::vector<ByteTrie::Key> keys;
  for (const std::string& text : texts) keys.emplace_back(text, 0);
  return ByteTrie(std::move(keys));
}

void write_texts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, texts[i]);
  }
  out += ']';
}

std::vector<std::string> read_texts(const JsonView& json) {
  std::vector<std::string> texts;
  json.each_item([&](const JsonView& item) { texts.emplace_back(item.string()); });
  return texts;
}

class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(SentencePieceRules rules, std::vector<std::string> user_defined,
                          const std::string& where)
      : rules_(std::move(rules)),
        user_defined_(std::move(user_defined)),
        charsmap_(rules_.charsmap, where),
        whole_(index_texts(user_defined_)) {}

  bool leaves(std::string_view text) const override { return text.empty(); }

  void apply(AlignedText& text) const override {
    if (text.empty()) return;
    Rewriting r{text.text(), rules_.escape_whitespaces ? kSpaceSymbol : " ", {}, {}, 0};
    r.out.reserve(r.in.size() * 3 / 2 + 16);
    if (rules_.remove_extra_whitespaces) skip_spaces(r);
    if (r.at < r.in.size()) rewrite(r);
    r.from.push_back(r.at);
    text.rewrite(std::move(r.out), r.from);
  }

  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"SentencePiece","precompiled_charsmap":"{}","add_dummy_prefix":{},)"
                       R"("remove_extra_whitespaces":{},"escape_whitespaces":{},"whitespace_is_suffix":{},)"
                       R"("user_defined":)",
                       to_base64(charsmap_.bytes()), rules_.add_dummy_prefix, rules_.remove_extra_whitespaces,
                       rules_.escape_whitespaces, rules_.whitespace_is_suffix);
    write_texts(out, user_defined_);
    out += '}';
  }

 private:
  struct Rewriting {
    std::string_view in, space;
    std::string out;
    std::vector<std::size_t> from;  // by byte of `out`: where in `in` its character begins
    std::size_t at = 0;             // in `in`
    void put(std::string_view text) {
      out += text;
      from.insert(from.end(), text.size(), at);
    }
  };

  /// What the text at `at` becomes, and how many of its bytes.
  Charsmap::Match prefix(std::string_view rest) const {
    if (const auto whole = whole_.longest(rest); whole.size > 0)
      return {whole.size, rest.substr(0, whole.size)};
    const bool plain = static_cast<unsigned char>(rest[0]) < 0x80 && charsmap_.is_plain(rest[0]);
    if (!plain) {
      if (const auto rule = charsmap_.longest(rest)) return *rule;
    }
    const std::size_t length = utf8_length(rest[0]);
    return {length, rest.substr(0, length)};
  }

  void skip_spaces(Rewriting& r) const {
    while (r.at < r.in.size()) {
      const auto next = prefix(r.in.substr(r.at));
      if (next.by != " ") return;
      r.at += next.size;
    }
  }

  void rewrite(Rewriting& r) const {
    const bool one_space = rules_.remove_extra_whitespaces;
    if (rules_.add_dummy_prefix && !rules_.whitespace_is_suffix) r.put(r.space);
    bool after_space = one_space;
    while (r.at < r.in.size()) {
      const auto next = prefix(r.in.substr(r.at));
      std::string_view by = next.by;
      while (after_space && by.starts_with(' ')) by.remove_prefix(1);
      for (std::size_t i = 0; i < by.size();) {
        const std::size_t run = std::min(by.find(' ', i), by.size());
        r.put(by.substr(i, run - i));
        if (run < by.size()) r.put(r.space);
        i = run + 1;
      }
      if (!by.empty()) after_space = one_space && by.ends_with(' ');
      r.at += next.size;
    }
    while (one_space && r.out.ends_with(r.space)) {
      const std::size_t size = r.out.size() - r.space.size();
      r.at = r.from[size];
      r.out.resize(size);
      r.from.resize(size);
    }
    if (rules_.add_dummy_prefix && rules_.whitespace_is_suffix) r.put(r.space);
  }

  SentencePieceRules rules_;
  std::vector<std::string> user_defined_;
  Charsmap charsmap_;
  ByteTrie whole_;
};

class SentencePieceDecoder final : public Decoder {
 public:
  explicit SentencePieceDecoder(SentencePieceDecoding d)
      : d_(std::move(d)), control_(d_.control.begin(), d_.control.end()) {}

  void apply(std::vector<std::string>& tokens) const override {
    std::string text, bytes;
    bool at_start = true, took_space = false;
    for (const std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      append_bytes(text, bytes);
      if (took_space || !text.empty()) at_start = false;
      took_space = append(text, token, at_start);
    }
    append_bytes(text, bytes);
    tokens = {std::move(text)};
  }

  std::string alone(std::string token) const override {
    if (const int byte = byte_of(token); byte >= 0) return std::string(1, static_cast<char>(byte));
    std::string text;
    append(text, token, false);
    return text;
  }

  void write(std::string& out) const override {
    out += fmt::format(
        R"({{"type":"SentencePiece","add_dummy_prefix":{},"remove_extra_whitespaces":{},"unk_piece":{},)"
        R"("unk_surface":{},"bytes":{},"control":)",
        d_.add_dummy_prefix, d_.remove_extra_whitespaces, json_string(d_.unk_piece),
        json_string(d_.unk_surface), d_.bytes);
    write_texts(out, d_.control);
    out += '}';
  }

 private:
  int byte_of(std::string_view token) const {
    const auto digit = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    if (!d_.bytes || token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int high = digit(token[3]), low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
  }

  /// Whole characters as they are; every other byte becomes U+FFFD.
  static void append_bytes(std::string& text, std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t size = std::min(utf8_length(bytes[i]), bytes.size() - i);
      const std::string_view character(bytes.data() + i, size);
      const bool whole = is_valid_utf8(character);
      text += whole ? character : kReplacementText;
      i += whole ? size : 1;
    }
    bytes.clear();
  }

  /// Returns whether the space at the start of the text was taken off.
  bool append(std::string& text, std::string_view token, bool at_start) const {
    if (control_.contains(token)) return false;
    if (token == d_.unk_piece) {
      text += d_.unk_surface;
      return false;
    }
    bool took_space = false;
    if (at_start && (d_.add_dummy_prefix || d_.remove_extra_whitespaces) && token.starts_with(kSpaceSymbol)) {
      token.remove_prefix(kSpaceSymbol.size());
      took_space = !d_.remove_extra_whitespaces;  // else those of the next pieces go as well
    }
    for (std::size_t i = 0; i <= token.size();) {
      const std::size_t next = std::min(token.find(kSpaceSymbol, i), token.size());
      text += token.substr(i, next - i);
      if (next == token.size()) break;
      text += ' ';
      i = next + kSpaceSymbol.size();
    }
    return took_space;
  }

  SentencePieceDecoding d_;
  std::set<std::string, std::less<>> control_;
};

}  // namespace

std::unique_ptr<const Normalizer> sentencepiece_normalizer(SentencePieceRules rules,
                                                           std::vector<std::string> user_defined,
                                                           const std::string& where) {
  return std::make_unique<SentencePieceNormalizer>(std::move(rules), std::move(user_defined), where);
}

std::unique_ptr<const Normalizer> read_sentencepiece_normalizer(const JsonView& json) {
  SentencePieceRules rules;
  const JsonView charsmap = json.at("precompiled_charsmap");
  auto bytes = from_base64(charsmap.string());
  if (!bytes) charsmap.bad("is not base64");
  rules.charsmap = std::move(*bytes);
  rules.add_dummy_prefix = json.at("add_dummy_prefix").boolean();
  rules.remove_extra_whitespaces = json.at("remove_extra_whitespaces").boolean();
  rules.escape_whitespaces = json.at("escape_whitespaces").boolean();
  rules.whitespace_is_suffix = json.at("whitespace_is_suffix").boolean();
  return sentencepiece_normalizer(std::move(rules), read_texts(json.at("user_defined")), charsmap.where());
}

std::unique_ptr<const Decoder> sentencepiece_decoder(SentencePieceDecoding decoding) {
  return std::make_unique<SentencePieceDecoder>(std::move(decoding));
}

std::unique_ptr<const Decoder> read_sentencepiece_decoder(const JsonView& json) {
  SentencePieceDecoding d;
  d.add_dummy_prefix = json.at("add_dummy_prefix").boolean();
  d.remove_extra_whitespaces = json.at("remove_extra_whitespaces").boolean();
  d.unk_piece = json.at("unk_piece").string();
  d.unk_surface = json.at("unk_surface").string();
  d.bytes = json.at("bytes").boolean();
  d.control = read_texts(json.at("control"));
  return sentencepiece_decoder(std::move(d));
}

}  // namespace bora::tokenize

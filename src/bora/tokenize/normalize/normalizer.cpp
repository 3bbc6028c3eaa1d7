// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/normalizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/formats/sentencepiece_text.h"
#include "bora/tokenize/normalize/bert_normalizer.h"
#include "bora/tokenize/normalize/normal_forms.h"
#include "bora/tokenize/normalize/precompiled.h"
#include "bora/unicode/properties.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

struct Normal final : Normalizer {
  NormalForm form;
  std::string name;
  Normal(NormalForm f, std::string_view n) : form(f), name(n) {}
  bool leaves(std::string_view text) const override { return is_surely_normal(text, form); }
  void apply(AlignedText& text) const override {
    if (leaves(text.text())) return;
    if (text.tracked())
      text.transform(normal_form_changes(text.text(), form));
    else
      text.rewrite(normal_form_text(text.text(), form), {});
  }
  void write(std::string& out) const override { out += fmt::format("{{\"type\":\"{}\"}}", name); }
};

struct Lowercase final : Normalizer {
  bool leaves(std::string_view text) const override { return text.empty(); }
  void apply(AlignedText& text) const override { to_lower_case(text); }
  void write(std::string& out) const override { out += R"({"type":"Lowercase"})"; }
};

struct Strip final : Normalizer {
  bool left, right;
  Strip(bool l, bool r) : left(l), right(r) {}
  bool leaves(std::string_view text) const override { return text.empty(); }
  void apply(AlignedText& text) const override {
    const std::string& t = text.text();
    std::size_t begin = 0, end = t.size();
    while (left && begin < end && is_white_space(code_point_at(t.data() + begin).value)) {
      begin += utf8_length(t[begin]);
    }
    while (right && begin < end) {
      const std::size_t last = previous_start(t, end);
      if (!is_white_space(code_point_at(t.data() + last).value)) break;
      end = last;
    }
    if (begin > 0 || end < t.size()) text = text.slice({begin, end});
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Strip","strip_left":{},"strip_right":{}}})", left, right);
  }
};

struct StripAccents final : Normalizer {
  bool leaves(std::string_view text) const override { return is_ascii(text); }
  void apply(AlignedText& text) const override {
    text.keep_if([](char32_t c) { return !has_property(c, kCombiningMark); });
  }
  void write(std::string& out) const override { out += R"({"type":"StripAccents"})"; }
};

/// The cleaning of Google's translation models (SentencePiece, "nmt").
struct Nmt final : Normalizer {
  bool leaves(std::string_view text) const override {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  }
  void apply(AlignedText& text) const override {
    text.keep_if([](char32_t c) {
      const bool control = c >= 1 && c < 0x20 && c != U'\t' && c != U'\n' && c != U'\f' && c != U'\r';
      return !control && c != 0x7F && c != 0x8F && c != 0x9F;
    });
    text.map([](char32_t c) {
      const bool space = (c >= 9 && c <= 13) || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
                         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      return space ? U' ' : c;
    });
  }
  void write(std::string& out) const override { out += R"({"type":"Nmt"})"; }
};

struct Replace final : Normalizer {
  Pattern pattern;
  std::string content;
  Replace(Pattern p, std::string c) : pattern(std::move(p)), content(std::move(c)) {}
  bool leaves(std::string_view text) const override { return !pattern.find(text, 0); }
  void apply(AlignedText& text) const override { text.replace(pattern, content); }
  void write(std::string& out) const override {
    out += R"({"type":"Replace","pattern":)";
    pattern.write(out);
    out += fmt::format(",\"content\":{}}}", json_string(content));
  }
};

struct Prepend final : Normalizer {
  std::string content;
  explicit Prepend(std::string c) : content(std::move(c)) {}
  bool leaves(std::string_view text) const override { return text.empty(); }
  void apply(AlignedText& text) const override { text.prepend(content); }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Prepend","prepend":{}}})", json_string(content));
  }
};

struct ByteLevel final : Normalizer {
  bool leaves(std::string_view text) const override { return text.empty(); }
  void apply(AlignedText& text) const override { text.bytes_to_alphabet(); }
  void write(std::string& out) const override { out += R"({"type":"ByteLevel"})"; }
};

struct Sequence final : Normalizer {
  std::vector<std::unique_ptr<const Normalizer>> items;
  bool leaves(std::string_view text) const override {
    for (const auto& item : items) {
      if (!item->leaves(text)) return false;
    }
    return true;
  }
  void apply(AlignedText& text) const override {
    for (const auto& item : items) item->apply(text);
  }
  void write(std::string& out) const override {
    out += R"({"type":"Sequence","normalizers":[)";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      items[i]->write(out);
    }
    out += "]}";
  }
};

std::unique_ptr<const Normalizer> read_bert(const JsonView& json) {
  BertNormalizerConfig config;
  config.clean_text = json.at("clean_text").boolean();
  config.handle_chinese_chars = json.at("handle_chinese_chars").boolean();
  if (const auto strip = json.find("strip_accents")) config.strip_accents = strip->boolean();
  config.lowercase = json.at("lowercase").boolean();
  return bert_normalizer(config);
}

std::unique_ptr<const Normalizer> read_precompiled(const JsonView& json) {
  const JsonView text = json.at("precompiled_charsmap");
  auto bytes = from_base64(text.string());
  if (!bytes || bytes->empty()) text.bad("is not base64, or is empty");
  return std::make_unique<Precompiled>(Charsmap(std::move(*bytes), text.where()));
}

}  // namespace

void to_lower_case(AlignedText& text) {
  const std::string& t = text.text();
  std::vector<Change> changes;
  changes.reserve(t.size());
  for (std::size_t i = 0; i < t.size(); i += utf8_length(t[i])) {
    const auto lower = lower_case(code_point_at(t.data() + i).value);
    changes.push_back({lower[0], 0});
    if (lower[1] != 0) changes.push_back({lower[1], 1});
  }
  text.transform(changes);
}

std::unique_ptr<const Normalizer> read_normalizer(const JsonView& json) {
  const std::string type(json.at("type").string());
  if (type == "NFC") return std::make_unique<Normal>(NormalForm::Nfc, type);
  if (type == "NFD") return std::make_unique<Normal>(NormalForm::Nfd, type);
  if (type == "NFKC") return std::make_unique<Normal>(NormalForm::Nfkc, type);
  if (type == "NFKD") return std::make_unique<Normal>(NormalForm::Nfkd, type);
  if (type == "BertNormalizer" || type == "Bert") return read_bert(json);
  if (type == "Precompiled") return read_precompiled(json);
  if (type == "SentencePiece") return read_sentencepiece_normalizer(json);
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Strip") {
    return std::make_unique<Strip>(json.at("strip_left").boolean(), json.at("strip_right").boolean());
  }
  if (type == "Replace") {
    return std::make_unique<Replace>(Pattern::read(json.at("pattern")),
                                     std::string(json.at("content").string()));
  }
  if (type == "Prepend") return std::make_unique<Prepend>(std::string(json.at("prepend").string()));
  if (type == "Sequence") {
    auto sequence = std::make_unique<Sequence>();
    json.at("normalizers").each_item([&](const JsonView& j) {
      sequence->items.push_back(read_normalizer(j));
    });
    return sequence;
  }
  fail(ErrorKind::Unsupported, "{}: normalizer {} is not supported", json.where(), json_string(type));
}

}  // namespace bora::tokenize

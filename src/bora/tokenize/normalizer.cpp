// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalizer.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/normal_forms.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

namespace {

struct Normal final : Normalizer {
  NormalForm form;
  std::string name;
  Normal(NormalForm f, std::string_view n) : form(f), name(n) {}
  bool leaves(std::string_view text) const override { return is_surely_normal(text, form); }
  void apply(AlignedText& text) const override {
    if (!leaves(text.text())) text.transform(normal_form_changes(text.text(), form));
  }
  void write(std::string& out) const override { out += fmt::format("{{\"type\":\"{}\"}}", name); }
};

struct Lowercase final : Normalizer {
  bool leaves(std::string_view text) const override { return text.empty(); }
  void apply(AlignedText& text) const override {
    std::vector<Change> changes;
    changes.reserve(text.text().size());
    for (std::size_t i = 0; i < text.text().size();) {
      const CodePoint c = code_point_at(text.text().data() + i);
      const auto lower = lower_case(c.value);
      changes.push_back({lower[0], 0});
      if (lower[1] != 0) changes.push_back({lower[1], 1});
      i += c.length;
    }
    text.transform(changes);
  }
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

}  // namespace

std::unique_ptr<const Normalizer> read_normalizer(const JsonView& json) {
  const std::string type(json.at("type").string());
  if (type == "NFC") return std::make_unique<Normal>(NormalForm::Nfc, type);
  if (type == "NFD") return std::make_unique<Normal>(NormalForm::Nfd, type);
  if (type == "NFKC") return std::make_unique<Normal>(NormalForm::Nfkc, type);
  if (type == "NFKD") return std::make_unique<Normal>(NormalForm::Nfkd, type);
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

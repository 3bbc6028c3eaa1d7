// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/bert_normalizer.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "bora/tokenize/normalize/normal_forms.h"
#include "bora/unicode/properties.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerConfig& config) : config_(config) {}

  /// Visible ASCII and spaces, without capitals, pass through every stage.
  bool leaves(std::string_view text) const override {
    for (const char c : text) {
      if (c < 0x20 || c == 0x7F || (config_.lowercase && c >= 'A' && c <= 'Z')) return false;
    }
    return true;
  }

  void apply(AlignedText& text) const override {
    if (leaves(text.text())) return;
    if (config_.clean_text) clean(text);
    if (config_.handle_chinese_chars) surround_chinese(text);
    if (config_.strip_accents.value_or(config_.lowercase)) {
      if (!is_surely_normal(text.text(), NormalForm::Nfd))
        text.transform(normal_form_changes(text.text(), NormalForm::Nfd));
      text.keep_if([](char32_t c) { return !has_property(c, kNonspacingMark); });
    }
    if (config_.lowercase) to_lower_case(text);
  }

  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"BertNormalizer","clean_text":{},"handle_chinese_chars":{},)"
                       R"("strip_accents":{},"lowercase":{}}})",
                       config_.clean_text, config_.handle_chinese_chars,
                       config_.strip_accents ? fmt::format("{}", *config_.strip_accents) : "null",
                       config_.lowercase);
  }

 private:
  static void clean(AlignedText& text) {
    text.keep_if([](char32_t c) {
      if (c == U'\t' || c == U'\n' || c == U'\r') return true;
      return c != 0 && c != 0xFFFD && !has_property(c, kControl);
    });
    text.map([](char32_t c) { return is_white_space(c) ? U' ' : c; });
  }

  static void surround_chinese(AlignedText& text) {
    std::vector<Change> changes;
    bool any = false;
    const std::string& t = text.text();
    for (std::size_t i = 0; i < t.size(); i += utf8_length(t[i])) {
      const char32_t c = code_point_at(t.data() + i).value;
      if (is_chinese(c)) {
        changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
        any = true;
      } else {
        changes.push_back({c, 0});
      }
    }
    if (any) text.transform(changes);
  }

  BertNormalizerConfig config_;
};

}  // namespace

std::unique_ptr<const Normalizer> bert_normalizer(const BertNormalizerConfig& config) {
  return std::make_unique<BertNormalizer>(config);
}

}  // namespace bora::tokenize

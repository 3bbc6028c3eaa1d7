// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/pretokenize/ordinary_text.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// Ids with the bytes of the original that each stands for.
class TrackingEncoder {
 public:
  TrackingEncoder(const Pipeline& pipeline, SpecialInText in_text, std::string_view text)
      : p_(pipeline), in_text_(in_text), text_(text) {}
  /// With special tokens only within the ranges of `control`, which are in order.
  TrackingEncoder(const Pipeline& pipeline, std::string_view text, std::span<const ByteRange> control)
      : p_(pipeline), in_text_(SpecialInText::Ordinary), text_(text), control_(control), chosen_(true) {}

  /// With `spaces`, offsets are left as they are before the post-processor trims them.
  Encoding run(std::vector<TokenSpaces>* spaces) {
    std::vector<AddedPart> parts;
    if (chosen_)
      p_.added.split(text_, false, [this](ByteRange r) { return is_control(r); }, parts);
    else
      p_.added.split(text_, false, in_text_, parts);
    for (const AddedPart& a : parts) {
      AlignedText part(text_.substr(a.range.begin, a.range.size()), a.range.begin, true);
      if (a.id >= 0) {
        added(a.id, part);
        continue;
      }
      if (p_.normalizer != nullptr) p_.normalizer->apply(part);
      normalized(part);
    }
    Encoding result;
    result.ids = std::move(ids_);
    result.offsets = code_points();
    if (spaces != nullptr) {
      *spaces = std::move(spaces_);
      return result;
    }
    for (const auto trim : p_.post_processor.trims) trim_offsets(result.offsets, spaces_, trim);
    return result;
  }

 private:
  bool is_control(ByteRange range) const {
    const auto after = std::upper_bound(control_.begin(), control_.end(), range.begin,
                                        [](std::size_t at, ByteRange r) { return at < r.begin; });
    return after != control_.begin() && range.end <= std::prev(after)->end;
  }

  void normalized(const AlignedText& text) {
    std::vector<AddedPart> parts;
    if (chosen_)
      p_.added.split(text.text(), true, [&](ByteRange r) { return is_control(text.origin(r)); }, parts);
    else
      p_.added.split(text.text(), true, in_text_, parts);
    for (const AddedPart& a : parts) {
      AlignedText part = text.slice(a.range);
      if (a.id >= 0)
        added(a.id, part);
      else
        pieces(std::move(part));
    }
  }

  void pieces(AlignedText text) {
    const std::size_t size = text.text().size();
    PreText pre{std::move(text), {{0, size}}};
    if (p_.pre_tokenizer != nullptr) p_.pre_tokenizer->apply(pre, !p_.bytes);
    std::vector<Token> tokens;
    for (const ByteRange& r : pre.pieces) {
      tokens.clear();
      const std::string_view piece = std::string_view(pre.text.text()).substr(r.begin, r.size());
      tokenize_piece(p_, in_text_, piece, tokens);
      for (const Token& t : tokens) {
        ids_.push_back(t.id);
        origins_.push_back(pre.text.origin({r.begin + t.begin, r.begin + t.end}));
        if (!p_.post_processor.trims.empty()) spaces_.push_back(spaces_of(p_.model->text_of(t, piece)));
      }
    }
  }

  void added(std::int32_t id, const AlignedText& text) {
    ids_.push_back(id);
    origins_.push_back(text.origin({0, text.text().size()}));
    spaces_.push_back(spaces_of(text.text()));
  }

  std::vector<CodePointSpan> code_points() const {
    std::vector<std::uint32_t> index(text_.size() + 1);  // of the character that a byte belongs to
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (!is_continuation(text_[i])) ++n;
      index[i] = n - 1;
    }
    index[text_.size()] = n;
    std::vector<CodePointSpan> spans;
    spans.reserve(origins_.size());
    for (const ByteRange& o : origins_) spans.push_back({index[o.begin], index[o.end]});
    return spans;
  }

  const Pipeline& p_;
  SpecialInText in_text_;
  std::string_view text_;
  std::span<const ByteRange> control_;
  bool chosen_ = false;
  std::vector<std::int32_t> ids_;
  std::vector<ByteRange> origins_;
  std::vector<TokenSpaces> spaces_;
};

}  // namespace

Encoding Pipeline::encode(std::string_view text, SpecialInText in_text,
                          std::vector<TokenSpaces>* spaces) const {
  return TrackingEncoder(*this, in_text, text).run(spaces);
}

Encoding Pipeline::encode_chosen(std::string_view text, std::span<const ByteRange> allowed) const {
  return TrackingEncoder(*this, text, allowed).run(nullptr);
}

}  // namespace bora::tokenize

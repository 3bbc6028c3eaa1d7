// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <utility>

#include "bora/tokenize/ordinary_text.h"
#include "bora/tokenize/piece_cache.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kMetaspace = "\xE2\x96\x81";

/// Calls use(part) for the parts of `text` that no merge joins: see Bpe::cuts_at_metaspace.
template <class Use>
void cut_at_metaspace(std::string_view text, Use&& use) {
  std::size_t begin = 0;
  for (std::size_t at = text.find(kMetaspace); at != std::string_view::npos;) {
    if (at > begin) use(text.substr(begin, at - begin));
    begin = at;
    while (text.substr(at).starts_with(kMetaspace)) at += kMetaspace.size();
    at = text.find(kMetaspace, at);
  }
  if (begin < text.size()) use(text.substr(begin));
}

/// Ids without offsets: no alignment is kept, texts that a normalizer would not change are not copied, and
/// pieces are looked up in this thread's cache.
class FastEncoder {
 public:
  FastEncoder(const Pipeline& pipeline, SpecialInText in_text, std::vector<std::int32_t>& out)
      : p_(pipeline),
        in_text_(in_text),
        out_(out),
        cache_(thread_piece_cache(pipeline.cache_number(in_text))) {}

  void raw(std::string_view text) {
    if (!p_.added.any(false)) return part(text, 0);
    std::vector<AddedPart> parts;
    p_.added.split(text, false, in_text_, parts);
    for (const AddedPart& a : parts) {
      if (a.id >= 0)
        out_.push_back(a.id);
      else
        part(text.substr(a.range.begin, a.range.size()), a.range.begin);
    }
  }

 private:
  /// `first`: where the text begins in the original; after a normalizer only whether that is 0 matters.
  void part(std::string_view text, std::size_t first) {
    if (p_.normalizer == nullptr || p_.normalizer->leaves(text)) return normalized(text, first);
    AlignedText changed(text, first, false);
    p_.normalizer->apply(changed);
    normalized(changed.text(), changed.at_start() ? 0 : std::max<std::size_t>(first, 1));
  }

  void normalized(std::string_view text, std::size_t first) {
    if (text.empty()) return;
    if (!p_.added.any(true)) return pieces(text, first);
    std::vector<AddedPart> parts;
    p_.added.split(text, true, in_text_, parts);
    for (const AddedPart& a : parts) {
      if (a.id >= 0)
        out_.push_back(a.id);
      else
        pieces(text.substr(a.range.begin, a.range.size()), first + a.range.begin);
    }
  }

  void pieces(std::string_view text, std::size_t first) {
    const char* const end = text.data() + text.size();
    const auto append = [&](std::string_view piece) { this->piece(piece, end); };
    if (p_.rule) {
      scan_each(*p_.rule, text, [&](const char* a, const char* b) {
        append({a, static_cast<std::size_t>(b - a)});
      });
    } else if (p_.cuts_at_metaspace) {
      cut_at_metaspace(text, append);
    } else if (p_.pre_tokenizer == nullptr) {
      if (!text.empty()) append(text);
    } else {
      PreText pre{AlignedText(text, first, false), {{0, text.size()}}};
      p_.pre_tokenizer->apply(pre, !p_.bytes);
      const std::string_view all = pre.text.text();
      for (const ByteRange& r : pre.pieces) piece(all.substr(r.begin, r.size()), all.data() + all.size());
    }
  }

  void piece(std::string_view text, const char* readable_end) {
    cache_.append(text, static_cast<std::size_t>(readable_end - text.data()), out_,
                  [this](std::string_view piece, std::vector<std::int32_t>& out) {
                    tokens_.clear();
                    tokenize_piece(p_, in_text_, piece, tokens_);
                    for (const Token& token : tokens_) out.push_back(token.id);
                  });
  }

  const Pipeline& p_;
  SpecialInText in_text_;
  std::vector<std::int32_t>& out_;
  PieceCache& cache_;
  std::vector<Token> tokens_;
};

/// Ids with the bytes of the original that each stands for.
class TrackingEncoder {
 public:
  TrackingEncoder(const Pipeline& pipeline, SpecialInText in_text, std::string_view text)
      : p_(pipeline), in_text_(in_text), text_(text) {}

  /// With `spaces`, offsets are left as they are before the post-processor trims them.
  Encoding run(std::vector<TokenSpaces>* spaces) {
    std::vector<AddedPart> parts;
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
  void normalized(const AlignedText& text) {
    std::vector<AddedPart> parts;
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
  std::vector<std::int32_t> ids_;
  std::vector<ByteRange> origins_;
  std::vector<TokenSpaces> spaces_;
};

}  // namespace

void Pipeline::encode_ids(std::string_view text, std::vector<std::int32_t>& out,
                          SpecialInText in_text) const {
  FastEncoder(*this, in_text, out).raw(text);
}

Encoding Pipeline::encode(std::string_view text, SpecialInText in_text,
                          std::vector<TokenSpaces>* spaces) const {
  return TrackingEncoder(*this, in_text, text).run(spaces);
}

}  // namespace bora::tokenize

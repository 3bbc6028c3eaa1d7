// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Ids without offsets: no alignment is kept, texts that a normalizer would not change are not copied, pieces
// go to the model one by one as they are cut, and most are looked up in tables.
#include <algorithm>
#include <array>
#include <cstring>

#include "bora/tokenize/models/piece_cache.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/pretokenize/metaspace_pieces.h"
#include "bora/tokenize/pretokenize/ordinary_text.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// Ids on their way into a vector: appended to it a few thousand at a time.
class IdBuffer {
 public:
  explicit IdBuffer(std::vector<std::int32_t>& out) : out_(out) {}
  /// Room for at least PieceCache::kIds.
  std::int32_t* end() { return ids_.data() + size_; }
  void grow(std::size_t count) {
    size_ += count;
    if (size_ + PieceCache::kIds > ids_.size()) flush();
  }
  void push(std::int32_t id) {
    *end() = id;
    grow(1);
  }
  void append(const std::int32_t* ids, std::size_t count) {
    if (count > PieceCache::kIds) {
      flush();
      out_.insert(out_.end(), ids, ids + count);
    } else {
      std::copy(ids, ids + count, end());
      grow(count);
    }
  }
  void flush() {
    out_.insert(out_.end(), ids_.data(), ids_.data() + size_);
    size_ = 0;
  }

 private:
  std::vector<std::int32_t>& out_;
  std::size_t size_ = 0;
  std::array<std::int32_t, 4096> ids_;
};

/// With or without this thread's cache of pieces.
template <bool kCached>
class FastEncoder {
 public:
  FastEncoder(const Pipeline& pipeline, SpecialInText in_text, std::vector<std::int32_t>& out)
      : p_(pipeline),
        words_(pipeline.words()),
        in_text_(in_text),
        out_(out),
        cache_(kCached ? &thread_piece_cache(pipeline.cache_number(in_text)) : nullptr) {}

  void raw(std::string_view text) {
    if (!p_.added.any(false)) {
      part(text, 0);
    } else {
      std::vector<AddedPart> parts;
      p_.added.split(text, false, in_text_, parts);
      for (const AddedPart& a : parts) {
        if (a.id >= 0)
          added(a.id);
        else
          part(text.substr(a.range.begin, a.range.size()), a.range.begin);
      }
    }
    drain();
    out_.flush();
  }

 private:
  void added(std::int32_t id) {
    drain();
    out_.push(id);
  }

  /// `first`: where the text begins in the original; after a normalizer only whether that is 0 matters.
  void part(std::string_view text, std::size_t first) {
    const bool changes = p_.normalizer != nullptr && !p_.normalizer->leaves(text);
    if (first == 0 && p_.tracks >= (changes ? Pipeline::Tracks::Normalized : Pipeline::Tracks::Always))
      return tracked(text);
    if (!changes) return normalized(text, first);
    AlignedText changed(text, first, false);
    p_.normalizer->apply(changed);
    if (first == 0 && !changed.at_start() && p_.tracks == Pipeline::Tracks::DroppedStart)
      return tracked(text);
    normalized(changed.text(), changed.at_start() ? 0 : std::max<std::size_t>(first, 1));
  }

  /// A text at the start of the original, of which each byte knows what it stands for: as Pipeline::encode().
  void tracked(std::string_view text) {
    AlignedText all(text, 0, true);
    if (p_.normalizer != nullptr) p_.normalizer->apply(all);
    std::vector<AddedPart> parts;
    p_.added.split(all.text(), true, in_text_, parts);
    for (const AddedPart& a : parts) {
      if (a.id >= 0)
        added(a.id);
      else
        pre_tokenized(all.slice(a.range));
    }
  }

  void pre_tokenized(AlignedText text) {
    const std::size_t size = text.text().size();
    PreText pre{std::move(text), {{0, size}}};
    p_.pre_tokenizer->apply(pre, !p_.bytes);
    const std::string_view all = pre.text.text();
    for (const ByteRange& r : pre.pieces) cut(all.substr(r.begin, r.size()), all.data() + all.size());
  }

  void normalized(std::string_view text, std::size_t first) {
    if (text.empty()) return;
    if (!p_.added.any(true)) return pieces(text, first);
    std::vector<AddedPart> parts;
    p_.added.split(text, true, in_text_, parts);
    for (const AddedPart& a : parts) {
      if (a.id >= 0)
        added(a.id);
      else
        pieces(text.substr(a.range.begin, a.range.size()), first + a.range.begin);
    }
  }

  void pieces(std::string_view text, std::size_t first) {
    if (p_.rule) {
      const char* const end = text.data() + text.size();
      scan_each(*p_.rule, text, [this, end](const char* a, const char* b) {
        short_or_long(a, static_cast<std::size_t>(b - a), static_cast<std::size_t>(end - a));
      });
    } else if (p_.pre_tokenizer == nullptr) {
      cut(text, text.data() + text.size());
    } else if (p_.metaspace) {
      each_metaspace_piece(
          *p_.metaspace, text, first == 0,
          [this](std::string_view piece, std::size_t readable) { cut(piece, piece.data() + readable); });
    } else {
      pre_tokenized(AlignedText(text, first, false));
    }
  }

  /// A piece of the pre-tokenizer, in the parts that no merge joins.
  void cut(std::string_view text, const char* end) {
    const auto use = [&](std::string_view piece) {
      short_or_long(piece.data(), piece.size(), static_cast<std::size_t>(end - piece.data()));
    };
    if (p_.bpe != nullptr && !p_.bytes)
      p_.bpe->cut(text, use);
    else
      use(text);
  }

  void short_or_long(const char* piece, std::size_t size, std::size_t readable) {
    if (size > PieceKey::kLongest) {
      drain();
      return long_piece({piece, size});
    }
    PieceKey& key = waiting_[waiting_count_];
    key = PieceKey::of({piece, size}, readable);
    __builtin_prefetch(words_.table.place(key));
    if (++waiting_count_ == kWaiting) drain();
  }

  /// Writes the ids of the pieces that wait. Their places in the tables were fetched meanwhile.
  void drain() {
    std::array<std::int32_t, kWaiting> ids;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
    const std::size_t count = waiting_count_;
    for (std::size_t i = 0; i < count; ++i) {
      ids[i] = words_.table.find(waiting_[i]);
      if (kCached && ids[i] < 0) __builtin_prefetch(cache_->place(waiting_[i]));
    }
    waiting_count_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (ids[i] >= 0)
        out_.push(ids[i]);
      else
        no_word(waiting_[i]);
    }
  }

  /// A short piece of several tokens.
  void no_word(const PieceKey& key) {
    if constexpr (kCached) {
      const int count = cache_->find(key, out_.end());
      if (count == PieceCache::kLong) return not_whole(key.text().view());
      if (count != PieceCache::kAbsent) return out_.grow(static_cast<std::size_t>(count));
    }
    compute(key.text().view());
    if constexpr (kCached) cache_->put(key, ids_.data(), ids_.size());
    out_.append(ids_.data(), ids_.size());
  }

  void long_piece(std::string_view piece) {
    if (const std::int32_t id = words_.table.find_long(piece); id >= 0)
      out_.push(id);
    else
      not_whole(piece);
  }

  /// A piece that is remembered among the long ones, if at all.
  void not_whole(std::string_view piece) {
    if constexpr (kCached) {
      if (piece.size() <= PieceCache::kLongest) {
        if (const auto found = cache_->find_long(piece); found.ids != nullptr)
          return out_.append(found.ids, found.count);
      }
    }
    compute(piece);
    if constexpr (kCached) cache_->put_long(piece, ids_.data(), ids_.size());
    out_.append(ids_.data(), ids_.size());
  }

  /// The model's ids of a piece that is no whole word, into ids_.
  [[gnu::noinline]] void compute(std::string_view piece) {
    ids_.clear();
    p_.model->append_ids(piece, words_.complete, ids_);
    if (in_text_ == SpecialInText::Recognised) return;
    const auto is_control = [this](std::int32_t id) { return p_.control[static_cast<std::size_t>(id)]; };
    if (std::none_of(ids_.begin(), ids_.end(), is_control)) return;
    ids_.clear();
    tokens_.clear();
    tokenize_piece(p_, in_text_, piece, tokens_);
    for (const Token& token : tokens_) ids_.push_back(token.id);
  }

  const Pipeline& p_;
  const WholeWords& words_;
  SpecialInText in_text_;
  IdBuffer out_;
  PieceCache* cache_;
  static constexpr std::size_t kWaiting = 64;
  std::array<PieceKey, kWaiting> waiting_;
  std::size_t waiting_count_ = 0;
  std::vector<std::int32_t> ids_;
  std::vector<Token> tokens_;
};

}  // namespace

void Pipeline::encode_ids(std::string_view text, std::vector<std::int32_t>& out, SpecialInText in_text,
                          bool piece_cache) const {
  if (piece_cache)
    FastEncoder<true>(*this, in_text, out).raw(text);
  else
    FastEncoder<false>(*this, in_text, out).raw(text);
}

}  // namespace bora::tokenize

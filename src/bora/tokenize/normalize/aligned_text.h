// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/unicode/pattern.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

/// One character of a rewritten text, and what it does to the text before: 0 it stands for the next
/// character, 1 it is inserted, -n it stands for the next character and swallows the n after it.
struct Change {
  char32_t character = 0;
  int change = 0;
};

/// A text on its way through normalizers and pre-tokenizers. When offsets are wanted, each byte knows the
/// bytes of the original text that it stands for; the bytes of one character share them. The rules of who
/// stands for what are those of `tokenizers` (NormalizedString).
class AlignedText {
 public:
  /// `text` is valid UTF-8; its first byte is byte `first` of the original.
  AlignedText(std::string_view text, std::size_t first, bool tracked);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  bool tracked() const { return tracked_; }

  /// Bytes of the original that bytes [begin, end) stand for; begin < end <= size, tracked only.
  ByteRange origin(ByteRange range) const { return {origin_[range.begin].begin, origin_[range.end - 1].end}; }

  /// True if the first byte stands for the first of the original (known without tracking).
  bool at_start() const { return tracked_ && !origin_.empty() ? origin_.front().begin == 0 : first_ == 0; }

  AlignedText slice(ByteRange range) const;

  /// The whole text rewritten; `skipped` characters at its start are dropped first.
  void transform(std::span<const Change> changes, std::size_t skipped = 0);
  /// Drops the characters that do not fit: keep(code point).
  template <class Keep>
  void keep_if(Keep&& keep);
  /// Each character becomes map(code point).
  template <class Map>
  void map(Map&& map);
  /// The text becomes `text`, whose byte i stands for bytes [from[i], from[i + 1]) of the text before.
  void rewrite(std::string text, std::span<const std::size_t> from);
  /// Each range, in order, becomes `by`, which stands for the range's last character.
  void replace(std::span<const ByteRange> ranges, std::string_view by);
  void replace(const Pattern& pattern, std::string_view by);
  /// Puts `before` in front, standing for the first character; nothing happens to an empty text.
  void prepend(std::string_view before);
  /// Every byte becomes its character of the byte alphabet.
  void bytes_to_alphabet();

  void append(const AlignedText& other);

 private:
  struct Origin {
    std::size_t begin = 0, end = 0;
  };
  void drop(const std::vector<ByteRange>& ranges);
  void replace_untracked(std::string_view what, std::string_view by);

  std::string text_;
  std::vector<Origin> origin_;
  std::size_t first_ = 0;  // where the text begins in the original
  bool tracked_ = false;
};

template <class Keep>
void AlignedText::keep_if(Keep&& keep) {
  std::vector<ByteRange> dropped;
  for (std::size_t i = 0; i < text_.size();) {
    const CodePoint c = code_point_at(text_.data() + i);
    if (!keep(c.value)) {
      if (!dropped.empty() && dropped.back().end == i)
        dropped.back().end += c.length;
      else
        dropped.push_back({i, i + c.length});
    }
    i += c.length;
  }
  if (!dropped.empty()) drop(dropped);
}

template <class Map>
void AlignedText::map(Map&& map) {
  std::vector<Change> changes;
  bool same = true;
  changes.reserve(text_.size());
  for (std::size_t i = 0; i < text_.size();) {
    const CodePoint c = code_point_at(text_.data() + i);
    changes.push_back({map(c.value), 0});
    same &= changes.back().character == c.value;
    i += c.length;
  }
  if (!same) transform(changes);
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/pattern.h"

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
  void replace_untracked(std::string_view what, std::string_view by);

  std::string text_;
  std::vector<Origin> origin_;
  std::size_t first_ = 0;  // where the text begins in the original
  bool tracked_ = false;
};

}  // namespace bora::tokenize

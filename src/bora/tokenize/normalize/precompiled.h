// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "bora/tokenize/normalize/charsmap.h"
#include "bora/tokenize/normalize/normalizer.h"

namespace bora::tokenize {

/// A Charsmap as `tokenizers` applies it: a grapheme cluster of less than 6 bytes whose beginning has a rule
/// becomes the shortest such rule's replacement, all of it; in any other cluster each character does.
class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap charsmap) : charsmap_(std::move(charsmap)) {}
  void apply(AlignedText& text) const override;
  bool leaves(std::string_view text) const override;
  void write(std::string& out) const override;

 private:
  std::string rewritten(std::string_view text) const;
  Charsmap charsmap_;
};

/// The end of the extended grapheme cluster (UAX #29) that begins at `begin` < text.size().
std::size_t grapheme_end(std::string_view text, std::size_t begin);

}  // namespace bora::tokenize

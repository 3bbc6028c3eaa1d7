// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json_view.h"
#include "bora/tokenize/tokenizer.h"

namespace bora {

/// One text, or two, as a model takes it: with special tokens, cut to a length, padded. All vectors have one
/// entry a token.
struct FramedEncoding {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> type_ids;    ///< segments, as the post-processor numbers them
  std::vector<CodePointSpan> offsets;    ///< in the text that the token is of; {0, 0} for what was added
  std::vector<std::int8_t> texts;        ///< 0 or 1: which text the token is of; -1: added
  std::vector<std::uint8_t> is_padding;  ///< 1: padding; attention masks are the opposite
  std::vector<FramedEncoding> overflow;  ///< what truncation cut off, framed in the same way
};

struct TextPair {
  std::string_view first;
  std::optional<std::string_view> second = {};
};

struct FrameOptions {
  bool add_special = true;
  bool truncate = true;  ///< as "truncation" in tokenizer.json asks, if it does
  bool pad = true;       ///< as "padding" asks
  SpecialInText in_text = SpecialInText::Recognised;
};

/// What encode() of `tokenizers` gives. Errors: InvalidArgument for a pair without a template for pairs, and
/// for lengths that leave no room.
FramedEncoding frame(const Tokenizer& tokenizer, const TextPair& text, const FrameOptions& options = {});
/// The same for many: padding is to the longest of them.
std::vector<FramedEncoding> frame_batch(const Tokenizer& tokenizer, std::span<const TextPair> texts,
                                        const FrameOptions& options = {});

namespace tokenize {

enum class Side { Left, Right };

/// "truncation": {"direction": "Left" | "Right", "max_length": COUNT,
///                "strategy": "LongestFirst" | "OnlyFirst" | "OnlySecond", "stride": COUNT}
struct Truncation {
  enum class Strategy { LongestFirst, OnlyFirst, OnlySecond };
  Side direction = Side::Right;
  std::int64_t max_length = 512;  ///< of the whole, special tokens included
  Strategy strategy = Strategy::LongestFirst;
  std::int64_t stride = 0;  ///< tokens that an overflow shares with what is before it
};

/// "padding": {"strategy": "BatchLongest" | {"Fixed": COUNT}, "direction": "Left" | "Right",
///             "pad_to_multiple_of": COUNT | null, "pad_id": ID, "pad_type_id": COUNT, "pad_token": TOKEN}
struct Padding {
  std::optional<std::int64_t> fixed;  ///< a length; nothing: that of the longest
  Side direction = Side::Right;
  std::int64_t multiple_of = 0;  ///< 0: any length
  std::int32_t id = 0, type_id = 0;
  std::string token;
};

struct Framing {
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  /// Errors: Corruption. `root` is tokenizer.json.
  static Framing read(const JsonView& root);
  /// "truncation":...,"padding":...
  void write(std::string& out) const;
};

}  // namespace tokenize
}  // namespace bora

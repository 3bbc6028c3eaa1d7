// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "bora/tokenize/post/framing.h"
#include "bora/tokenize/post/post_processor.h"

namespace bora::tokenize {

/// Tokens on their way through truncation, post-processor and padding. All vectors but the last have one
/// entry a token.
struct Frame {
  std::vector<std::int32_t> ids, type_ids;
  std::vector<CodePointSpan> offsets;
  std::vector<std::int8_t> texts;
  std::vector<std::uint8_t> is_padding;
  std::vector<TokenSpaces> spaces;
  std::vector<Frame> overflow;

  std::size_t size() const { return ids.size(); }
  void append(std::int32_t id, std::int32_t type_id, std::int8_t text, CodePointSpan offset = {},
              TokenSpaces token_spaces = {});
  /// The other's tokens come behind; each overflow of one meets each of the other and the other's tokens.
  void append(const Frame& other);
  Frame slice(std::size_t begin, std::size_t end) const;
  /// Errors: InvalidArgument for a stride that is not below `size`.
  void truncate(std::size_t size, std::size_t stride, Side direction);
  void pad(std::size_t size, const Padding& padding);
};

/// Cuts one text or two to `max_length` tokens. Errors: InvalidArgument if the strategy cannot.
void truncate(std::vector<Frame>& texts, const Truncation& truncation, std::size_t max_length);

/// One text or two through the stages of a post-processor; nothing if a template meets neither one part nor
/// two.
std::optional<Frame> process(const std::vector<PostProcessor::Stage>& stages, std::vector<Frame> parts,
                             bool add_special);

/// How many tokens process() adds.
std::size_t added_tokens(const std::vector<PostProcessor::Stage>& stages, bool pair);

}  // namespace bora::tokenize

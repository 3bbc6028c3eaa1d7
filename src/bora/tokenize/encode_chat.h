// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <vector>

#include "bora/tokenize/chat_template.h"
#include "bora/tokenize/tokenizer.h"

namespace bora {

/// A conversation as a model takes it. All vectors have one entry a token.
struct ChatEncoding {
  std::vector<std::int32_t> ids;
  std::vector<CodePointSpan> offsets;   ///< in ChatText::text
  std::vector<std::uint8_t> assistant;  ///< 1: stands for some of what {% generation %} enclosed
};

/// The ids of a rendered conversation, without those that the post-processor adds: templates write their own.
/// Special tokens are recognised only where they lie wholly within one control segment: what users, tools and
/// documents spell out is ordinary text, whatever the model's vocabulary holds. Errors: InvalidArgument for a
/// text that is not UTF-8.
ChatEncoding encode_chat(const Tokenizer& tokenizer, const ChatText& chat);

}  // namespace bora

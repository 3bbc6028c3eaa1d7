// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/config.h"
#include "bora/data/packing.h"

namespace bora::data {

/// How records become documents, and documents sequences: Levanter's `format`, with its keys and defaults.
struct FormatConfig {
  std::string type = "text";  ///< text, chat, supervised, prebuilt or preference_chat

  std::string text_key = "text";        ///< text
  std::string invalid_utf8 = "refuse";  ///< one of store::invalid_text_names()

  std::string messages_field = "messages";   ///< chat
  bool single_turn = false;                  ///< chat: only the last answer counts
  std::optional<std::string> chat_template;  ///< chat, preference_chat: Jinja, or a .jinja file
  std::optional<std::string> chat_date;      ///< chat, preference_chat: what parse_date takes
  std::optional<std::string> system_prompt;  ///< the field that holds one
  std::optional<std::string> chat_template_kwargs = "chat_template_kwargs";  ///< the field that holds them
  bool mask_user_turns = true;  ///< only what the template marks as generated counts
  std::string chosen_field = "chosen", rejected_field = "rejected";  ///< preference_chat

  std::string input_field = "prompt", output_field = "response";  ///< supervised
  std::optional<std::string> separate_with;
  bool mask_inputs = true;

  std::string input_ids_key = "input_ids";  ///< prebuilt
  std::optional<std::string> loss_weights_key;

  std::optional<std::string> pack;            ///< true, false, a number of documents, pad or concat
  std::optional<std::string> slice_strategy;  ///< one of overlong_names()

  void bind(Binder& b);

  /// Documents joined end to end and cut anywhere, rather than kept whole.
  bool is_concatenated() const;
  /// How whole documents share a sequence of so many tokens.
  PackRules pack_rules(std::int64_t seq_len) const;

 private:
  void bind_fields(Binder& b);
  void bind_chat(Binder& b);
};

/// "2024-07-26" or "2024-07-26T18:30:00" in seconds since 1970-01-01, of no zone; nothing for another text.
std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace bora::data

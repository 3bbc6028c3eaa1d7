// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/store/processor.h"
#include "bora/tokenize/chat_template.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::data {

/// A conversation as tokens.
struct ChatTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> turns;  ///< by id: the number of the assistant's turn it is part of, else -1
};

/// Tokens of a rendered conversation: those of the whole text at once, except that a special token that is
/// not wholly the template's own writing becomes ordinary text. A token that overlaps what the assistant said
/// is part of that.
ChatTokens encode_chat(const Tokenizer& tokenizer, const ChatText& chat);

/// Where the parts of a conversation are in a record. Optional ones: nothing looks for none.
struct ChatFields {
  std::vector<std::string> messages = {"messages"};  ///< two for pairs: chosen, rejected
  std::optional<std::string> system_prompt;          ///< a text, or a message
  std::optional<std::string> template_kwargs = "chat_template_kwargs";
};

/// Records that are conversations, Levanter's `chat` and `preference_chat` formats. The template writes
/// everything, the beginning and the end included. One document for each of fields.messages.
class ChatProcessor final : public store::Processor {
 public:
  struct Options {
    ChatFields fields;
    bool mask_user_turns = true;  ///< only the assistant's turns weigh 1
    bool single_turn = false;     ///< only the last of them
    std::map<std::string, std::string> special_tokens;
  };

  /// Errors: Config if turns should be masked and the template does not mark what is generated; what
  /// ChatTemplate::parse raises.
  ChatProcessor(Tokenizer tokenizer, std::string chat_template, Options options);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;
  bool takes_records() const override { return true; }
  store::CacheShape shape() const override;
  /// Errors: Corruption if there are no messages, or no assistant's turn although only these should count.
  void encode_record(std::string_view json, store::EncodedRecord& out) const override;

 private:
  Json messages_of(const Json& record, const std::string& field) const;
  ChatOptions options_of(const Json& record) const;
  void add_conversation(const ChatText& chat, store::EncodedRecord& out) const;

  Tokenizer tokenizer_;
  std::string text_;
  ChatTemplate template_;
  Options options_;
};

/// The text of the chat template to use: `given` (Jinja, or the path of a .jinja file) or, without, that of
/// the tokenizer's directory. Errors: Config if there is none.
std::string chat_template_text(const std::optional<std::string>& given, const std::string& tokenizer_path);

/// The special tokens in the tokenizer's directory, by name; none without a tokenizer_config.json.
std::map<std::string, std::string> chat_special_tokens(const std::string& tokenizer_path);

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/data/config.h"
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
  // Beside these, as apply_chat_template of `transformers` names them: `tools`, a list of JSON schemas or
  // that list as JSON text, and `documents`. Templates that do not ask for them get neither.
};

/// The templates of conversations.
struct ChatTexts {
  std::string text;
  std::optional<std::string> with_tools = {};  ///< instead, where a record brings tools
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
    std::optional<std::int64_t> date;  ///< ChatOptions::now
  };

  /// Errors: Config if turns should be masked and a template does not mark what is generated; what
  /// ChatTemplate::parse raises.
  ChatProcessor(Tokenizer tokenizer, ChatTexts templates, Options options);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;
  bool takes_records() const override { return true; }
  store::CacheShape shape() const override;
  /// Errors: Corruption if there are no messages, or no assistant's turn although only these should count, or
  /// if tools or documents are not what the template expects.
  void encode_record(std::string_view json, store::EncodedRecord& out) const override;

 private:
  Json messages_of(const Json& record, const std::string& field) const;
  ChatOptions options_of(const Json& record) const;
  Json argument_of(const Json& record, ChatOptions& options, const std::string& field) const;
  void add_conversation(const ChatText& chat, store::EncodedRecord& out) const;

  Tokenizer tokenizer_;
  ChatTexts texts_;
  ChatTemplate template_;
  std::optional<ChatTemplate> with_tools_;
  Options options_;
};

/// The chat templates to use: `given` (Jinja, or the path of a .jinja file) or, without, those of the
/// tokenizer, which errors call `name`. Errors: Config if there is none.
ChatTexts chat_templates(const std::optional<std::string>& given, const Tokenizer& tokenizer,
                         const std::string& name);

/// The chat template that a run's tokenizer gets: the one that all chat data sets of `config` name, else
/// data.chat_template; nothing where it is the tokenizer's own.
std::optional<std::string> configured_chat_template(const DataConfig& config);

/// Whether a template is given as the path of a .jinja file, and not as its text.
bool is_template_file(const std::optional<std::string>& chat_template);
/// The template itself. Errors: Config where there is no such file.
std::string chat_template_text(const std::string& given);

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/chat_processor.h"

#include <algorithm>
#include <set>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/text.h"
#include "bora/data/formats.h"
#include "bora/data/record_text.h"

namespace bora::data {
namespace {

/// Code points of a text by byte and back, in one walk forward.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) {
    starts_.reserve(text.size() + 1);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts_.push_back(i);
    }
    starts_.push_back(text.size());
  }
  std::size_t byte(std::int64_t point) const { return starts_.at(static_cast<std::size_t>(point)); }

 private:
  std::vector<std::size_t> starts_;
};

/// Whether one span of `spans`, which are in order, holds all of [begin, end).
template <class Spans, class Range>
bool is_within(const Spans& spans, ByteSpan wanted, const Range& range) {
  return std::any_of(spans.begin(), spans.end(), [&](const auto& item) {
    const ByteSpan span = range(item);
    return span.begin <= wanted.begin && wanted.end <= span.end;
  });
}

/// Where the token itself stands in what it covers; white space around it may be the token's as well.
ByteSpan spelling(std::string_view text, ByteSpan covered, const std::optional<std::string>& token) {
  if (!token) return covered;
  const auto at = text.substr(covered.begin, covered.end - covered.begin).find(*token);
  if (at == std::string_view::npos) return covered;
  return {covered.begin + at, covered.begin + at + token->size()};
}

/// True if the token `id` is a byte of a character in `covered` that the vocabulary does not have, and not spelled out
/// there: some files list <0x00> to <0xFF> as special.
bool stands_for_byte(const Tokenizer& tokenizer, std::string_view covered, std::int32_t id) {
  return tokenizer.is_byte(id) && covered.find(*tokenizer.token(id)) == std::string_view::npos;
}

std::int32_t turn_at(const std::vector<ByteSpan>& turns, ByteSpan covered) {
  const auto after = std::upper_bound(turns.begin(), turns.end(), covered.begin,
                                      [](std::size_t b, const ByteSpan& turn) { return b < turn.end; });
  const bool overlaps = after != turns.end() && after->begin < covered.end;
  return overlaps ? static_cast<std::int32_t>(after - turns.begin()) : -1;
}

ChatTemplate parse_for(const std::string& text, std::string_view name, bool masked) {
  ChatTemplate parsed = ChatTemplate::parse(text, name);
  if (!masked || parsed.has_generation()) return parsed;
  fail(ErrorKind::Config,
       "chat: the {} does not say what the assistant wrote, so nothing else can be masked\nhint: "
       "enclose it in {{% generation %}} ... {{% endgeneration %}}, or set format.mask_user_turns: false",
       name == "chat template" ? "template" : name);
}

/// The list in a field; Arrow tables, whose rows are all alike, often hold it as JSON text.
Json list_of(const Json& value, const std::string& field) {
  const auto* text = value.get_ptr<const Json::string_t*>();
  if (text != nullptr && text->empty()) return {};
  Json list = text != nullptr ? Json::parse(*text, nullptr, false) : value;
  if (list.is_null()) return list;
  const auto is_object = [](const Json& item) { return item.is_object(); };
  if (list.is_array() && std::all_of(list.begin(), list.end(), is_object)) return list;
  fail(ErrorKind::Corruption, "field \"{}\" should be a list of objects, or one as JSON text, but is {}",
       field, value.dump().substr(0, 40));
}

}  // namespace

bool is_template_file(const std::optional<std::string>& chat_template) {
  return chat_template && chat_template->ends_with(".jinja") &&
         chat_template->find_first_of("{\n") == std::string::npos;
}

std::string chat_template_text(const std::string& given) {
  if (!is_template_file(given)) return given;
  if (exists(given)) return read_text(given);
  fail(
      ErrorKind::Config,
      "chat: chat_template: there is no file {}\nhint: give the path of a template, relative to the folder in "
      "which bora was started, or its text",
      given);
}

ChatTokens encode_chat(const Tokenizer& tokenizer, const ChatText& chat) {
  const Encoding encoding = tokenizer.encode(chat.text, false);
  const CodePoints points(chat.text);
  ChatTokens out;
  const auto control_only = [](const ChatSegment& segment) {
    return segment.control ? segment.span : ByteSpan{};
  };
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::int32_t id = encoding.ids[i];
    const ByteSpan covered{points.byte(encoding.offsets[i].begin), points.byte(encoding.offsets[i].end)};
    const std::int32_t turn = turn_at(chat.assistant_spans, covered);
    const auto text = std::string_view(chat.text).substr(covered.begin, covered.end - covered.begin);
    const bool meant =
        !tokenizer.is_special(id) || stands_for_byte(tokenizer, text, id) ||
        is_within(chat.segments, spelling(chat.text, covered, tokenizer.token(id)), control_only);
    if (meant) {
      out.ids.push_back(id);
    } else {
      tokenizer.encode_ids(text, out.ids, false, SpecialInText::Ordinary);
    }
    out.turns.resize(out.ids.size(), turn);
  }
  return out;
}

ChatProcessor::ChatProcessor(Tokenizer tokenizer, ChatTexts templates, Options options)
    : tokenizer_(std::move(tokenizer)),
      texts_(std::move(templates)),
      template_(parse_for(texts_.text, "chat template", options.mask_user_turns)),
      options_(std::move(options)) {
  if (texts_.with_tools)
    with_tools_ = parse_for(*texts_.with_tools, "template tool_use", options_.mask_user_turns);
}

std::string ChatProcessor::fingerprint() const {
  std::string special;
  for (const auto& [name, token] : options_.special_tokens) special += name + "=" + token + "\n";
  const auto& fields = options_.fields;
  const std::string texts = texts_.text + '\0' + texts_.with_tools.value_or("") + '\0' + special;
  return fmt::format("{}; chat with tools: {}, system {}, variables {}, template {}{}{}{}",
                     tokenizer_.fingerprint().hex(), join(fields.messages),
                     fields.system_prompt.value_or("none"), fields.template_kwargs.value_or("none"),
                     hash128(texts).hex(), options_.mask_user_turns ? ", user turns masked" : "",
                     options_.single_turn ? ", last turn only" : "",
                     options_.date ? fmt::format(", date {}", *options_.date) : "");
}

void ChatProcessor::encode(const store::TextPiece&, std::vector<std::int32_t>&) const {
  fail(ErrorKind::InvalidArgument, "chat: conversations are no text");
}

store::CacheShape ChatProcessor::shape() const {
  return {options_.mask_user_turns, static_cast<std::int64_t>(options_.fields.messages.size())};
}

Json ChatProcessor::messages_of(const Json& record, const std::string& field) const {
  const bool pair = options_.fields.messages.size() == 2;
  const Json& messages = record_field(record, field, pair ? field + "_field" : "messages_field");
  if (!messages.is_array() || messages.empty()) {
    fail(ErrorKind::Corruption, "field \"{}\" should be a list of messages but is {}", field,
         messages.dump().substr(0, 40));
  }
  const auto& system = options_.fields.system_prompt;
  const auto found = system ? record.find(*system) : record.end();
  if (found == record.end() || found->is_null()) return messages;
  Json first = found->is_object() ? *found : Json{{"content", *found}};
  first["role"] = "system";
  Json all = Json::array({std::move(first)});
  for (const auto& message : messages) all.push_back(message);
  return all;
}

ChatOptions ChatProcessor::options_of(const Json& record) const {
  ChatOptions options;
  options.special_tokens = options_.special_tokens;
  options.now = options_.date;
  const auto& field = options_.fields.template_kwargs;
  const auto found = field ? record.find(*field) : record.end();
  if (found == record.end() || found->is_null()) return options;
  if (!found->is_object()) {
    fail(ErrorKind::Corruption, "field \"{}\" should be an object but is {}", *field,
         found->dump().substr(0, 40));
  }
  for (const auto& [name, value] : found->items()) {
    if (name == "chat_template") {
      fail(ErrorKind::Unsupported, "field \"{}\" brings a chat_template; all records have the same one",
           *field);
    }
    if (name != "add_generation_prompt") options.variables[name] = value;
  }
  return options;
}

void ChatProcessor::add_conversation(const ChatText& chat, store::EncodedRecord& out) const {
  const ChatTokens tokens = encode_chat(tokenizer_, chat);
  out.ids.insert(out.ids.end(), tokens.ids.begin(), tokens.ids.end());
  out.ends.push_back(out.ids.size());
  out.text_bytes += static_cast<std::int64_t>(chat.text.size());
  if (!options_.mask_user_turns) return;
  const std::int32_t last =
      tokens.turns.empty() ? -1 : *std::max_element(tokens.turns.begin(), tokens.turns.end());
  if (last < 0) {
    fail(ErrorKind::Corruption,
         "the conversation has no assistant's turn, so that none of it counts\nhint: remove it, or set "
         "format.mask_user_turns: false");
  }
  for (const std::int32_t turn : tokens.turns) {
    const bool counts = options_.single_turn ? turn == last : turn >= 0;
    out.weights.push_back(counts ? 1.0F : 0.0F);
  }
}

/// What a record brings for the template's variable of the same name: at its top, or among the variables.
Json ChatProcessor::argument_of(const Json& record, ChatOptions& options, const std::string& field) const {
  if (!template_.reads(field) && !(with_tools_ && (field == "tools" || with_tools_->reads(field)))) return {};
  const auto at_top = record.find(field);
  Json value = at_top == record.end() ? Json() : list_of(*at_top, field);
  const auto among = options.variables.find(field);
  if (among == options.variables.end()) return value;
  Json other = list_of(*among, field);
  options.variables.erase(field);
  if (!value.is_null() && value != other) {
    fail(ErrorKind::Corruption,
         "\"{}\" is in the record and, another one, in its field \"{}\"\nhint: keep one", field,
         options_.fields.template_kwargs.value_or(""));
  }
  return other;
}

void ChatProcessor::encode_record(std::string_view json, store::EncodedRecord& out) const {
  const Json record = parse_record(json);
  ChatOptions options = options_of(record);
  const Json tools = argument_of(record, options, "tools");
  options.documents = argument_of(record, options, "documents");
  const ChatTemplate& used = with_tools_ && !tools.is_null() ? *with_tools_ : template_;
  for (const auto& field : options_.fields.messages) {
    add_conversation(used.render(messages_of(record, field), tools, options), out);
  }
}

ChatTexts chat_templates(const std::optional<std::string>& given, const Tokenizer& tokenizer,
                         const std::string& name) {
  if (given) return {chat_template_text(*given)};
  const ChatTemplates& own = tokenizer.chat_templates();
  const auto found = own.find(std::string(kDefaultTemplate));
  if (found == own.end()) {
    fail(ErrorKind::Config,
         "chat: the tokenizer {} has no chat template\nhint: data.chat_template, as text or the path of a "
         ".jinja file",
         name);
  }
  const auto tools = own.find(std::string(kToolTemplate));
  return {found->second, tools == own.end() ? std::nullopt : std::optional(tools->second)};
}

std::optional<std::string> configured_chat_template(const DataConfig& config) {
  std::set<std::optional<std::string>> named;
  for (const auto& [name, source] : config.sources()) {
    const auto* format = dynamic_cast<const ConversationFormat*>(&*source.format.config);
    if (format != nullptr) named.insert(format->chat_template ? format->chat_template : config.chat_template);
  }
  const auto& given = named.size() == 1 ? *named.begin() : config.chat_template;
  return given ? std::optional(chat_template_text(*given)) : std::nullopt;
}

}  // namespace bora::data

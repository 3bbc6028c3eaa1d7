// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/chat_processor.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/text.h"
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

std::int32_t turn_at(const std::vector<ByteSpan>& turns, ByteSpan covered) {
  const auto after = std::upper_bound(turns.begin(), turns.end(), covered.begin,
                                      [](std::size_t b, const ByteSpan& turn) { return b < turn.end; });
  const bool overlaps = after != turns.end() && after->begin < covered.end;
  return overlaps ? static_cast<std::int32_t>(after - turns.begin()) : -1;
}

std::string directory_of(const std::string& tokenizer_path) {
  const auto info = files().info(tokenizer_path);
  return info && info->is_directory ? tokenizer_path : parent_path(tokenizer_path);
}

}  // namespace

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
    const bool meant =
        !tokenizer.is_special(id) ||
        is_within(chat.segments, spelling(chat.text, covered, tokenizer.token(id)), control_only);
    if (meant) {
      out.ids.push_back(id);
    } else {
      tokenizer.encode_ids(std::string_view(chat.text).substr(covered.begin, covered.end - covered.begin),
                           out.ids, false, SpecialInText::Ordinary);
    }
    out.turns.resize(out.ids.size(), turn);
  }
  return out;
}

ChatProcessor::ChatProcessor(Tokenizer tokenizer, std::string chat_template, Options options)
    : tokenizer_(std::move(tokenizer)),
      text_(std::move(chat_template)),
      template_(ChatTemplate::parse(text_)),
      options_(std::move(options)) {
  if (options_.mask_user_turns && !template_.has_generation()) {
    fail(ErrorKind::Config,
         "chat: the template does not say what the assistant wrote, so nothing else can be masked\nhint: "
         "enclose it in {{% generation %}} ... {{% endgeneration %}}, or set format.mask_user_turns: false");
  }
}

std::string ChatProcessor::fingerprint() const {
  std::string special;
  for (const auto& [name, token] : options_.special_tokens) special += name + "=" + token + "\n";
  const auto& fields = options_.fields;
  return fmt::format("{}; chat: {}, system {}, variables {}, template {}{}{}", tokenizer_.fingerprint().hex(),
                     join(fields.messages), fields.system_prompt.value_or("none"),
                     fields.template_kwargs.value_or("none"), hash128(text_ + '\0' + special).hex(),
                     options_.mask_user_turns ? ", user turns masked" : "",
                     options_.single_turn ? ", last turn only" : "");
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

void ChatProcessor::encode_record(std::string_view json, store::EncodedRecord& out) const {
  const Json record = parse_record(json);
  const ChatOptions options = options_of(record);
  for (const auto& field : options_.fields.messages) {
    add_conversation(template_.render(messages_of(record, field), nullptr, options), out);
  }
}

std::string chat_template_text(const std::optional<std::string>& given, const std::string& tokenizer_path) {
  if (given) return given->ends_with(".jinja") && exists(*given) ? read_text(*given) : *given;
  const std::string directory = directory_of(tokenizer_path);
  const std::string file = path_join(directory, "chat_template.jinja");
  if (exists(file)) return read_text(file);
  const std::string config = path_join(directory, "tokenizer_config.json");
  const Json json = exists(config) ? parse_json(read_text(config), config) : Json::object();
  const auto found = json.find("chat_template");
  if (found != json.end() && found->is_string()) return found->get<std::string>();
  if (found != json.end() && found->is_array()) {
    for (const auto& entry : *found) {
      if (entry.is_object() && json_get<std::string>(entry, "name", config, std::string()) == "default")
        return json_get<std::string>(entry, "template", config);
    }
  }
  fail(ErrorKind::Config,
       "chat: the tokenizer {} has no chat template\nhint: data.chat_template, as text or the path of a "
       ".jinja "
       "file",
       tokenizer_path);
}

std::map<std::string, std::string> chat_special_tokens(const std::string& tokenizer_path) {
  const std::string config = path_join(directory_of(tokenizer_path), "tokenizer_config.json");
  if (!exists(config)) return {};
  return ChatTemplate::special_tokens(parse_json(read_text(config), config));
}

}  // namespace bora::data

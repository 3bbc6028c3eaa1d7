// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/chat_template.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/jinja/machine.h"
#include "bora/unicode/unicode.h"

namespace bora {
namespace {

using jinja::Guard;
using jinja::Origin;
using jinja::Text;
using jinja::Value;

Value to_value(Guard& guard, const Json& json) {
  const jinja::Level level(guard, guard.at);
  guard.charge();
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > INT64_MAX) {
        guard.stop(ErrorKind::Unsupported, fmt::format("{} does not fit an integer of 64 bits", json.dump()));
      }
      return Value(json.get<std::int64_t>());
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string: {
      const std::string& text = json.get_ref<const std::string&>();
      guard.charge_bytes(text.size());
      return Value(bora::utf8_lossy(text), jinja::kUnknown);
    }
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(to_value(guard, item));
      return jinja::list_of(guard, std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> entries;
      for (const auto& [key, item] : json.items()) {
        entries.emplace_back(Value(bora::utf8_lossy(key), jinja::kUnknown), to_value(guard, item));
      }
      return jinja::dict_of(guard, std::move(entries));
    }
    default:
      return Value();
  }
}

// The names under which reasoning comes; the first is the one that most templates read.
constexpr std::array<std::string_view, 3> kReasoning = {"reasoning_content", "thinking", "reasoning"};

// A message as templates get it: what is null counts as absent, and reasoning has two names, whichever it
// came under: `reasoning_content`, and `thinking` unless that is taken, which then stands first.
Json normalized(const Json& message) {
  Json out = Json::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) out[key] = value;
  }
  for (const std::string_view name : kReasoning) {
    const auto reasoning = out.find(name);
    if (reasoning == out.end()) continue;
    Json both = {{"thinking", *reasoning}};
    for (const auto& [key, value] : out.items()) both[key] = value;
    both["reasoning_content"] = *reasoning;
    return both;
  }
  return out;
}

// Messages, with known roles as control text.
Value to_messages(Guard& guard, const Json& messages, const std::vector<std::string>& roles) {
  if (!messages.is_array()) {
    fail(ErrorKind::InvalidArgument, "{}: messages should be a list but is {}", guard.name(),
         std::string_view(messages.type_name()));
  }
  std::vector<Value> out;
  for (const Json& message : messages) {
    Value value = to_value(guard, message.is_object() ? normalized(message) : message);
    if (value.is(Value::Kind::Dict)) {
      auto entries = value.dict().entries;
      for (auto& [key, entry] : entries) {
        const bool known = key.bytes() == "role" && entry.is(Value::Kind::String) &&
                           std::find(roles.begin(), roles.end(), entry.bytes()) != roles.end();
        if (known) entry = Value(entry.bytes(), jinja::kControl);
      }
      value = jinja::dict_of(guard, std::move(entries));
    }
    out.push_back(std::move(value));
  }
  return jinja::list_of(guard, std::move(out));
}

ChatText spans_of(const Text& text) {
  ChatText out;
  out.text = text.bytes();
  std::size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    const bool control = (run.origin & jinja::kControl) != 0;
    if (!out.segments.empty() && out.segments.back().control == control) {
      out.segments.back().span.end = run.end;
    } else {
      out.segments.push_back({{begin, run.end}, control});
    }
    if ((run.origin & jinja::kAssistant) != 0) {
      const bool touches = !out.assistant_spans.empty() && out.assistant_spans.back().end == begin;
      if (touches) {
        out.assistant_spans.back().end = run.end;
      } else {
        out.assistant_spans.push_back({begin, run.end});
      }
    }
    begin = run.end;
  }
  return out;
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view text, std::string_view name, const jinja::Limits& limits) {
  return ChatTemplate(jinja::parse_program(text, name, limits));
}

std::map<std::string, std::string> ChatTemplate::special_tokens(const Json& tokenizer_config) {
  std::map<std::string, std::string> tokens;
  if (!tokenizer_config.is_object()) return tokens;
  for (const auto& [key, value] : tokenizer_config.items()) {
    if (!key.ends_with("_token")) continue;
    if (value.is_string()) {
      tokens[key] = value.get<std::string>();
    } else if (value.is_object() && value.contains("content") && value["content"].is_string()) {
      tokens[key] = value["content"].get<std::string>();
    }
  }
  return tokens;
}

ChatText ChatTemplate::render(const Json& messages, const Json& tools, const ChatOptions& options) const {
  jinja::Machine machine(*program_, options.limits);
  machine.define_globals(options.now);
  machine.define("messages", to_messages(machine, messages, options.roles));
  machine.define("tools", to_value(machine, tools));
  machine.define("documents", to_value(machine, options.documents));
  machine.define("add_generation_prompt", Value(options.add_generation_prompt));
  for (const auto& [name, token] : options.special_tokens) {
    machine.define(name, Value(bora::utf8_lossy(token), jinja::kControl));
  }
  if (!options.variables.is_object()) {
    fail(ErrorKind::InvalidArgument, "{}: variables should be an object but is {}", machine.name(),
         std::string_view(options.variables.type_name()));
  }
  for (const auto& [name, value] : options.variables.items()) machine.define(name, to_value(machine, value));
  return spans_of(machine.run());
}

bool ChatTemplate::has_generation() const { return program_->has_generation; }

bool ChatTemplate::reads(std::string_view variable) const {
  const auto& names = program_->names;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

}  // namespace bora

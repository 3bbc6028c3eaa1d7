// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/chat_template.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/template_machine.h"
#include "bora/tokenize/unicode.h"

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
      return Value(tokenize::utf8_lossy(text), jinja::kUnknown);
    }
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(to_value(guard, item));
      return jinja::list_of(guard, std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> entries;
      for (const auto& [key, item] : json.items()) {
        entries.emplace_back(Value(tokenize::utf8_lossy(key), jinja::kUnknown), to_value(guard, item));
      }
      return jinja::dict_of(guard, std::move(entries));
    }
    default:
      return Value();
  }
}

// Messages, with known roles as control text.
Value to_messages(Guard& guard, const Json& messages, const std::vector<std::string>& roles) {
  if (!messages.is_array()) {
    fail(ErrorKind::InvalidArgument, "{}: messages should be a list but is {}", guard.name(),
         std::string_view(messages.type_name()));
  }
  std::vector<Value> out;
  for (const Json& message : messages) {
    Value value = to_value(guard, message);
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

// tokenizer_config.json's `chat_template`: a text, or a list of {"name": ..., "template": ...}.
std::string template_text(const Json& config, std::string_view which, const std::string& path) {
  const auto at = config.find("chat_template");
  if (at == config.end() || at->is_null()) {
    fail(ErrorKind::NotFound, "{}: there is no chat_template\nhint: give a template of your own", path);
  }
  if (at->is_string()) return at->get<std::string>();
  if (!at->is_array()) fail(ErrorKind::Corruption, "{}: chat_template should be a text or a list", path);
  std::string names;
  for (const Json& entry : *at) {
    const std::string name = json_get<std::string>(entry, "name", path);
    if (name == which) return json_get<std::string>(entry, "template", path);
    names += (names.empty() ? "" : ", ") + name;
  }
  fail(ErrorKind::NotFound, "{}: chat_template has no {}, only {}", path, which, names);
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view text, std::string_view name, const ChatLimits& limits) {
  return ChatTemplate(jinja::parse_program(text, name, limits));
}

ChatTemplate ChatTemplate::load(const std::string& directory, std::string_view which) {
  const std::string alone = directory + "/chat_template.jinja";
  if (which == "default" && exists(alone)) return parse(read_text(alone), alone);
  const std::string path = directory + "/tokenizer_config.json";
  if (!exists(path)) {
    fail(ErrorKind::NotFound, "{}: there is neither chat_template.jinja nor tokenizer_config.json",
         directory);
  }
  const Json config = parse_json(read_text(path), path);
  return parse(template_text(config, which, path), path + ": chat_template");
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
    machine.define(name, Value(tokenize::utf8_lossy(token), jinja::kControl));
  }
  if (!options.variables.is_object()) {
    fail(ErrorKind::InvalidArgument, "{}: variables should be an object but is {}", machine.name(),
         std::string_view(options.variables.type_name()));
  }
  for (const auto& [name, value] : options.variables.items()) machine.define(name, to_value(machine, value));
  return spans_of(machine.run());
}

bool ChatTemplate::has_generation() const { return program_->has_generation; }

}  // namespace bora

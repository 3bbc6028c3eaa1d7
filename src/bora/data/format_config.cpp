// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/format_config.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/invalid_text.h"

namespace bora::data {
namespace {

const std::vector<std::string> kTypes = {"text", "chat", "supervised", "prebuilt", "preference_chat"};

/// Documents in a sequence; 0: concatenated; nothing: no such value.
std::optional<std::int64_t> documents_of(const FormatConfig& format) {
  const bool text = format.type == "text", packs = format.type == "chat" || format.type == "supervised";
  if (!format.pack) return text ? 0 : packs ? kMostSegments : 1;
  const std::string& pack = *format.pack;
  if (pack == "true") return kMostSegments;
  if (pack == "concat" || (pack == "false" && text)) return 0;
  if (pack == "pad" || pack == "false") return 1;
  const auto n = parse_int(pack);
  if (n && *n >= 1) return n;
  return {};
}

std::string default_slicing(const std::string& type) {
  if (type == "supervised") return "right";
  return type == "prebuilt" || type == "preference_chat" ? "raise" : "left";
}

}  // namespace

void FormatConfig::bind(Binder& b) {
  b.choice("type", type, kTypes,
           "what a record is: text, a conversation, a question with its answer, token ids, or a pair of "
           "conversations of which one is preferred");
  bind_fields(b);
  b.choice(
      "invalid_utf8", invalid_utf8, store::invalid_text_names(),
      "files that are not UTF-8: an error with the place, U+FFFD for what is wrong, or the bytes as they "
      "are (text files only)");
  b.field(
      "pack", pack,
      "how documents become sequences: concat (joined and cut; the default of text), true (whole ones "
      "together, at most 64; of chat and supervised), a number of them, or pad (one in each; of prebuilt)");
  b.field("slice_strategy", slice_strategy,
          "documents longer than a sequence, unless concatenated: left (keeps the first tokens; default of "
          "text and chat), right (the last; supervised), raise (an error; prebuilt), drop");
  if (!b.reading()) return;
  if (!documents_of(*this))
    b.problem("pack", "should be true, false, pad, concat or a number of documents, at least 1");
  const auto& names = overlong_names();
  if (slice_strategy && std::find(names.begin(), names.end(), *slice_strategy) == names.end())
    b.problem("slice_strategy", "should be one of " + join(names));
  if (chat_date && !parse_date(*chat_date)) {
    b.problem("chat_date",
              fmt::format("is {} but should be a date like 2024-07-26 or 2024-07-26T18:30:00", *chat_date));
  }
  if (type != "preference_chat") return;
  if (documents_of(*this) != 1) b.problem("pack", "pairs are not packed; leave it out");
  if (slice_strategy && *slice_strategy != "raise")
    b.problem("slice_strategy", "a pair is never cut: raise is the only choice");
}

void FormatConfig::bind_fields(Binder& b) {
  const bool all = !b.reading() && b.mode() == Binder::Mode::Describe;
  if (all || type == "text") b.field("text_key", text_key, "text: the field that holds it");
  if (all || type == "chat") {
    b.field("messages_field", messages_field, "chat: the field with the list of messages");
    b.field("single_turn", single_turn, "chat: of several answers only the last counts");
  }
  if (all || type == "preference_chat") {
    b.field("chosen_field", chosen_field, "preference_chat: the preferred conversation");
    b.field("rejected_field", rejected_field, "preference_chat: the other one");
  }
  if (all || type == "chat" || type == "preference_chat") bind_chat(b);
  if (all || type == "supervised") {
    b.field("input_field", input_field, "supervised: the question");
    b.field("output_field", output_field, "supervised: the answer");
    b.field("separate_with", separate_with, "supervised: text between the two");
    b.field("mask_inputs", mask_inputs, "supervised: only the answer counts");
  }
  if (all || type == "prebuilt") {
    b.field("input_ids_key", input_ids_key, "prebuilt: the field with the list of token ids");
    b.field(
        "loss_weights_key", loss_weights_key,
        "prebuilt: the field with how much each position counts, that is the prediction of the token after "
        "it; absent: 1");
  }
}

void FormatConfig::bind_chat(Binder& b) {
  b.field("chat_template", chat_template,
          "chat: the template, as text or as a .jinja file; by default data.chat_template, else the "
          "tokenizer's");
  b.field("chat_date", chat_date,
          "chat: the date and time that templates show (strftime_now), as 2024-07-26 or 2024-07-26T18:30:00; "
          "without one, a template that needs it is an error");
  b.field("system_prompt", system_prompt, "chat: a field whose text becomes the first message, role system");
  b.field("chat_template_kwargs", chat_template_kwargs, "chat: a field with variables for the template");
  b.field("mask_user_turns", mask_user_turns,
          "chat: only what the template encloses in {% generation %} counts");
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t size) -> std::int64_t {
    std::int64_t out = 0;
    for (const char c : text.substr(at, size)) {
      if (c < '0' || c > '9') return -1;
      out = 10 * out + (c - '0');
    }
    return out;
  };
  const bool has_time = text.size() == 19;
  if (text.size() != 10 && !has_time) return {};
  if (text[4] != '-' || text[7] != '-') return {};
  if (has_time && (text[10] != 'T' || text[13] != ':' || text[16] != ':')) return {};
  const std::int64_t year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const std::int64_t hour = has_time ? number(11, 2) : 0, minute = has_time ? number(14, 2) : 0,
                     second = has_time ? number(17, 2) : 0;
  if (year < 0 || month < 1 || day < 1) return {};
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return {};
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<std::int64_t>(days) * 86'400 + hour * 3600 + minute * 60 + second;
}

bool FormatConfig::is_concatenated() const { return documents_of(*this).value_or(1) == 0; }

PackRules FormatConfig::pack_rules(std::int64_t seq_len) const {
  return {seq_len, std::max<std::int64_t>(1, documents_of(*this).value_or(1)),
          parse_overlong(slice_strategy.value_or(default_slicing(type)))};
}

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/speech_defaults.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/run/generation_defaults.h"
#include "bora/run/language_names.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

using Names = std::map<std::string, std::int32_t>;

std::vector<std::string> names_of(const Names& all) {
  std::vector<std::string> out;
  for (const auto& [name, id] : all) out.push_back(name);
  return out;
}

std::string name_of(std::int32_t id, const Names& all) {
  const auto found = std::ranges::find(all, id, &Names::value_type::second);
  return found == all.end() ? "" : found->first;
}

/// A name that the file says for a flag that is not given; of a model that has no such names it chooses nothing.
std::string named(const GenerationDefaults& defaults, const char* key, const Names& all) {
  const auto* found = defaults.find(key);
  if (found == nullptr || all.empty() || defaults.is_given(fmt::format("--{}", key))) return "";
  const auto hint = fmt::format("--{} takes its place", key);
  if (!found->is_string()) defaults.refuse(key, "must be a text", hint);
  const auto written = found->get<std::string>();
  auto name = all.contains(written) ? written : language_code(written);
  if (!all.contains(name)) defaults.refuse(key, "must be one of " + join(names_of(all)), hint);
  return name;
}

/// [[1, id], [2, id], ...]: what stands behind the start; null, first of them, is the language that is heard.
std::vector<std::int32_t> forced_ids(const GenerationDefaults& defaults, std::int64_t vocab) {
  constexpr const char* kKey = "forced_decoder_ids";
  const auto* found = defaults.find(kKey);
  std::vector<std::int32_t> out;
  if (found == nullptr || found->empty()) return out;
  const auto refuse = [&] {
    defaults.refuse(
        kKey, fmt::format("must be a list of [place, id], places from 1 on, ids below {}", vocab),
        "take the file that belongs to the model, or leave the key out: --language and --task say the same");
  };
  if (!found->is_array()) refuse();
  if (found->front().is_array() && !found->front().empty() && found->front()[0] != 1) return out;  // as there
  std::int64_t place = 0;
  for (const auto& entry : *found) {
    if (!entry.is_array() || entry.size() != 2 || entry[0] != ++place) refuse();
    const auto& id = entry[1];
    if (id.is_null()) {
      if (place == 1) out.push_back(kHeardLanguage);
    } else if (id.is_number_integer() && id >= 0 && id < vocab) {
      out.push_back(id.get<std::int32_t>());
    } else {
      refuse();
    }
  }
  return out;
}

/// True: it says something of its own.
bool take_forced(const infer::SpeechTokens& tokens, TranscribeOptions& options,
                 GenerationDefaults& defaults) {
  const auto before = options;
  for (const auto id : options.forced) {
    if (const auto language = name_of(id, tokens.languages); !language.empty()) options.language = language;
    if (const auto task = name_of(id, tokens.tasks); !task.empty()) options.task = task;
  }
  if (options.language != before.language) defaults.tell("language " + options.language);
  if (options.task != before.task) defaults.tell("task " + options.task);
  return !defaults.told().empty();
}

}  // namespace

std::string take_speech_defaults(const OpenedModel& opened, const std::set<std::string>& given,
                                 TranscribeOptions& options) {
  const auto shape = require_speech(*opened.model, opened.directory).shape();
  const auto tokens = speech_tokens(opened.generation, opened.tokenizer, shape.vocab, opened.directory);
  GenerationDefaults defaults(opened.generation, opened.generation_file, given);
  const auto language = named(defaults, "language", tokens.languages);
  const auto task = named(defaults, "task", tokens.tasks);
  const bool by_name = defaults.find("language") != nullptr || defaults.find("task") != nullptr ||
                       given.contains("--language") || given.contains("--task");
  if (!by_name) options.forced = forced_ids(defaults, shape.vocab);
  bool of_config = false;  // what is forced may be of config.json
  if (!options.forced.empty()) {
    of_config = take_forced(tokens, options, defaults);
  } else {
    if (!language.empty()) {
      options.language = language;
      defaults.tell("language " + language);
    }
    if (!task.empty() && task != options.task) {
      options.task = task;
      defaults.tell("task " + task);
    }
  }
  auto& decoding = options.decoding;
  const bool has_times = tokens.no_timestamps && tokens.first_timestamp() < shape.vocab;
  if (!decoding.timestamps && has_times && defaults.says("return_timestamps")) {
    decoding.timestamps = true;
    defaults.tell("return_timestamps true");
  }
  defaults.take("num_beams", "--beams", from_to(1, 1024), decoding.beams);
  if (decoding.beams > 1)
    defaults.take("length_penalty", "--length_penalty", from_to(-100, 100), decoding.length_penalty);
  const char* longest = defaults.find("max_new_tokens") != nullptr ? "max_new_tokens" : "max_length";
  if (const auto* found = defaults.find(longest); found != nullptr && *found < shape.seq_len)
    defaults.take(longest, "--max_new_tokens", kSize, decoding.max_new_tokens);
  const auto told = defaults.told();
  return told.empty() ? ""
                      : fmt::format("{} of {}", told,
                                    of_config ? parent_path(opened.generation_file) : opened.generation_file);
}

}  // namespace bora::run

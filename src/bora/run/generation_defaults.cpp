// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/generation_defaults.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <concepts>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::run {

const Json* GenerationDefaults::find(const char* key) const {
  const auto at = generation_.find(key);
  return at == generation_.end() || at->is_null() ? nullptr : &*at;
}

bool GenerationDefaults::says(const char* key) const {
  const auto* found = find(key);
  if (found == nullptr) return false;
  if (!found->is_boolean())
    refuse(key, "must be true or false", "take the file that belongs to the model, or leave the key out");
  return found->get<bool>();
}

template <class T>
void GenerationDefaults::take_number(const char* key, const std::string& flag, const Range& range, T& value) {
  const auto* found = find(key);
  if (found == nullptr || is_given(flag)) return;
  const auto hint = fmt::format("{} takes its place", flag);
  const double number = found->is_number() ? found->get<double>() : std::nan("");
  if (std::integral<T> && std::floor(number) != number)
    refuse(key, "must be a whole number, " + range.words(), hint);
  if (const auto wrong = range.problem<T>(number)) refuse(key, *wrong, hint);
  if (value == static_cast<T>(number)) return;
  value = static_cast<T>(number);
  tell(fmt::format("{} {}", key, value));
}

void GenerationDefaults::take(const char* key, const std::string& flag, const Range& range, double& value) {
  take_number(key, flag, range, value);
}

void GenerationDefaults::take(const char* key, const std::string& flag, const Range& range,
                              std::int64_t& value) {
  take_number(key, flag, range, value);
}

void GenerationDefaults::refuse(const char* key, const std::string& why, const std::string& hint) const {
  fail(ErrorKind::Corruption, "{}: {} is {}; it {}\nhint: {}", file_, key, find(key)->dump().substr(0, 60),
       why, hint);
}

std::string GenerationDefaults::told() const { return join(told_); }

std::string take_sampling_defaults(const Json& generation, const std::string& file,
                                   const std::set<std::string>& given, infer::SamplingOptions& options) {
  GenerationDefaults defaults(generation, file, given);
  if (defaults.says("do_sample"))
    defaults.take("temperature", "--temperature", kNonNegative, options.temperature);
  if (defaults.says("do_sample") && options.temperature > 0) {
    defaults.take("top_k", "--top_k", kNonNegative, options.top_k);
    defaults.take("top_p", "--top_p", infer::kTopP, options.top_p);
    defaults.take("min_p", "--min_p", kFraction, options.min_p);
  }
  defaults.take("repetition_penalty", "--repetition_penalty", kPositive, options.repetition_penalty);
  const auto told = defaults.told();
  return told.empty() ? "" : fmt::format("{} of {}", told, file);
}

namespace {

enum class Use : std::uint8_t { Always, Text, Sampling, Speech };
struct UnusedKey {
  const char* key;
  Use use;
  double neutral = 0;  // a number that changes nothing
};

constexpr std::array kUnused = {
    UnusedKey{"no_repeat_ngram_size", Use::Always},
    UnusedKey{"encoder_no_repeat_ngram_size", Use::Always},
    UnusedKey{"repetition_penalty", Use::Speech, 1},
    UnusedKey{"encoder_repetition_penalty", Use::Always, 1},
    UnusedKey{"bad_words_ids", Use::Always},
    UnusedKey{"sequence_bias", Use::Always},
    UnusedKey{"suppress_tokens", Use::Text},
    UnusedKey{"begin_suppress_tokens", Use::Text},
    UnusedKey{"forced_bos_token_id", Use::Always, -1},
    UnusedKey{"forced_eos_token_id", Use::Always, -1},
    UnusedKey{"exponential_decay_length_penalty", Use::Always},
    UnusedKey{"min_length", Use::Always},
    UnusedKey{"min_new_tokens", Use::Always},
    UnusedKey{"stop_strings", Use::Always},
    UnusedKey{"num_beams", Use::Text, 1},
    UnusedKey{"num_beam_groups", Use::Always, 1},
    UnusedKey{"diversity_penalty", Use::Always},
    UnusedKey{"penalty_alpha", Use::Always},
    UnusedKey{"dola_layers", Use::Always},
    UnusedKey{"guidance_scale", Use::Always, 1},
    UnusedKey{"watermarking_config", Use::Always},
    UnusedKey{"typical_p", Use::Sampling, 1},
    UnusedKey{"top_h", Use::Sampling, 1},
    UnusedKey{"epsilon_cutoff", Use::Sampling},
    UnusedKey{"eta_cutoff", Use::Sampling},
    UnusedKey{"early_stopping", Use::Speech},
    UnusedKey{"no_speech_threshold", Use::Speech, -1},
    UnusedKey{"condition_on_prev_tokens", Use::Speech},
};

bool is_for(const UnusedKey& key, Decoding decoding) {
  if (key.use == Use::Always) return true;
  if (key.use == Use::Sampling) return decoding == Decoding::Sampled;
  return (key.use == Use::Speech) == (decoding == Decoding::Speech);
}

bool changes_texts(const Json& value, double neutral) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != neutral;
  return value.is_string() || !value.empty();
}

std::string shown(const char* key, const Json& value) {
  constexpr std::size_t kMost = 40;
  const auto text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  return fmt::format("{} = {}{}", key, text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

}  // namespace

std::string unused_settings(const Json& generation, const std::string& file, Decoding decoding) {
  std::vector<std::string> told;
  for (const auto& key : kUnused) {
    const auto at = generation.find(key.key);
    if (at == generation.end() || !is_for(key, decoding) || !changes_texts(*at, key.neutral)) continue;
    told.push_back(shown(key.key, *at));
  }
  // Names that the model has no tokens for.
  for (const auto& [key, names] : {std::pair("language", "lang_to_id"), std::pair("task", "task_to_id")}) {
    const auto at = generation.find(key);
    const bool is_said = decoding == Decoding::Speech && at != generation.end() && !at->is_null();
    if (is_said && !generation.contains(names)) told.push_back(shown(key, *at));
  }
  if (told.empty()) return "";
  return fmt::format("{}: {} {} not used here", file, join(told), told.size() == 1 ? "is" : "are");
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/generation_defaults.h"

#include <fmt/core.h>

#include <cmath>
#include <concepts>

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

}  // namespace bora::run

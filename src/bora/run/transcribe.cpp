// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/transcribe.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/create.h"
#include "bora/run/language_names.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

std::vector<std::string> names_of(const std::map<std::string, std::int32_t>& all) {
  std::vector<std::string> out;
  for (const auto& [name, id] : all) out.push_back(name);
  return out;
}

void require_one_of(const std::map<std::string, std::int32_t>& all, const std::string& flag,
                    const std::string& value, const char* key, const std::string& model) {
  if (all.contains(value)) return;
  if (all.empty()) {
    fail(
        ErrorKind::Usage,
        "transcribe: {} {}, but {} has none to choose from ({} in its generation_config.json)\nhint: leave {} "
        "out",
        flag, value, model, key, flag);
  }
  const auto names = names_of(all);
  fail(ErrorKind::Usage, "transcribe: {} {} is not one of {}{}\nhint: bora transcribe --help", flag, value,
       join(names), did_you_mean(value, names));
}

// [mel bin, frame] of a chunk, out of the features of a longer sound; zeros after its end.
std::vector<float> part_of(std::span<const float> features, std::int64_t bins, std::int64_t first,
                           std::int64_t frames) {
  const auto all = std::ssize(features) / bins, count = std::min(frames, all - first);
  std::vector<float> out(static_cast<std::size_t>(bins * frames));
  for (std::int64_t bin = 0; bin < bins; ++bin)
    std::copy_n(features.begin() + bin * all + first, count, out.begin() + bin * frames);
  return out;
}

// Texts of chunks that know nothing of each other.
void append(std::string& text, std::string_view more) {
  const auto bare = trim(more);
  if (!text.empty() && !bare.empty()) text += ' ';
  text += bare;
}

}  // namespace

Transcriber::Transcriber(OpenedModel& opened, TranscribeOptions options)
    : opened_(opened),
      model_(require_speech(*opened.model, opened.directory)),
      options_(std::move(options)),
      log_mel_(features_of(model_.shape(), opened.directory)),
      tokens_(speech_tokens(opened.generation, opened.tokenizer, model_.shape().vocab, opened.directory)) {
  (void)opened.require_tokenizer();
  if (!tokens_.languages.contains(options_.language)) options_.language = language_code(options_.language);
  require_choices(opened.directory);
}

void Transcriber::require_choices(const std::string& name) const {
  if (!options_.language.empty())
    require_one_of(tokens_.languages, "--language", options_.language, "lang_to_id", name);
  if (!tokens_.tasks.empty() || options_.task != "transcribe")
    require_one_of(tokens_.tasks, "--task", options_.task, "task_to_id", name);
  const bool has_times = tokens_.no_timestamps && tokens_.first_timestamp() < model_.shape().vocab;
  if (!options_.decoding.timestamps || has_times) return;
  fail(ErrorKind::Usage,
       "transcribe: --timestamps, but {} has none (no_timestamps_token_id in its generation_config.json, and "
       "ids after it)\nhint: leave --timestamps out",
       name);
}

bool Transcriber::listens_for_language() const {
  const auto& forced = options_.forced;
  return !tokens_.languages.empty() && (forced.empty() || forced.front() == kHeardLanguage);
}

std::vector<std::int32_t> Transcriber::prompt(const std::string& language, bool timestamps) const {
  std::vector<std::int32_t> ids{tokens_.start};
  if (options_.forced.empty()) {
    if (!language.empty()) ids.push_back(tokens_.languages.at(language));
    if (!tokens_.tasks.empty()) ids.push_back(tokens_.tasks.at(options_.task));
  }
  for (const auto id : options_.forced) {
    if (id != kHeardLanguage)
      ids.push_back(id);
    else if (!language.empty())
      ids.push_back(tokens_.languages.at(language));
  }
  if (!tokens_.no_timestamps) return ids;
  if (ids.back() == *tokens_.no_timestamps) ids.pop_back();
  if (!timestamps) ids.push_back(*tokens_.no_timestamps);
  return ids;
}

std::string Transcriber::text_of(const std::vector<std::int32_t>& ids) const {
  std::vector<std::int32_t> words;
  for (const auto id : ids)
    if (!tokens_.no_timestamps || id < tokens_.first_timestamp()) words.push_back(id);
  return opened_.require_tokenizer().decode(words, /*skip_special=*/true);
}

std::int64_t Transcriber::write(std::span<const float> features, std::int64_t frames, double begin,
                                bool timestamps, Transcript& out) const {
  const auto shape = model_.shape();
  constexpr std::array<std::string_view, 3> names{"batch", "mel", "frame"};
  const std::array<std::int64_t, 3> sizes{1, shape.mel_bins, shape.frames};
  const auto heard = model_.hear(model_.encode(core::from_data({names, sizes}, features), {}));
  if (out.language.empty())
    out.language = !options_.language.empty() ? options_.language
                   : listens_for_language()   ? infer::detect_language(model_, heard, tokens_)
                                              : "";
  auto decoding = options_.decoding;
  decoding.timestamps = timestamps;
  const auto ids = infer::decode_speech(model_, heard, tokens_, prompt(out.language, timestamps), decoding);
  const auto& c = log_mel_.config();
  const double frame = static_cast<double>(c.hop_length) / static_cast<double>(c.sampling_rate);
  if (!timestamps) {
    const auto text = text_of(ids);
    append(out.text, text);
    out.parts.push_back({begin, std::min(begin + frame * static_cast<double>(frames), out.seconds),
                         std::string(trim(text)), ids});
    return frames;
  }
  const auto heard_parts = infer::split_by_timestamps(tokens_, ids, frames);
  for (const auto& part : heard_parts.parts) {
    const auto text = text_of(part.ids);
    out.text += text;
    if (trim(text).empty()) continue;
    out.parts.push_back({begin + 2 * frame * static_cast<double>(part.begin),
                         begin + 2 * frame * static_cast<double>(part.end), std::string(trim(text)),
                         part.ids});
  }
  return heard_parts.advance;
}

Transcript Transcriber::operator()(std::span<const float> sound) const {
  const auto& c = log_mel_.config();
  Transcript out;
  out.seconds = static_cast<double>(sound.size()) / static_cast<double>(c.sampling_rate);
  const auto samples = std::ssize(sound), chunk = c.samples(), frames = c.frames();
  const bool has_times = tokens_.no_timestamps && tokens_.first_timestamp() < model_.shape().vocab;
  naming_bad_weights(opened_, [&] {
    if (has_times && (samples > chunk || options_.decoding.timestamps)) {
      const auto all = samples > chunk ? log_mel_.whole(sound) : log_mel_(sound);
      const auto total =
          samples > chunk ? std::ssize(all) / c.feature_size : (samples + c.hop_length - 1) / c.hop_length;
      for (std::int64_t at = 0; at < total;) {
        const auto part = part_of(all, c.feature_size, at, frames);
        const double begin = static_cast<double>(at * c.hop_length) / static_cast<double>(c.sampling_rate);
        at += write(part, std::min(frames, total - at), begin, true, out);
      }
      return;
    }
    for (std::int64_t at = 0; at < samples; at += chunk) {
      const auto n = std::min(chunk, samples - at);
      const auto part = sound.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
      const double begin = static_cast<double>(at) / static_cast<double>(c.sampling_rate);
      write(log_mel_(part), (n + c.hop_length - 1) / c.hop_length, begin, false, out);
    }
  });
  out.text = std::string(trim(out.text));
  return out;
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/speech_model.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/run/models.h"

namespace bora::run {
namespace {

constexpr std::string_view kGenerationFile = "generation_config.json";

// Reads ids, of which each is one of the vocabulary.
class IdReader {
 public:
  IdReader(const Json& generation, std::int64_t vocab, const std::string& directory)
      : generation_(generation), vocab_(vocab), file_(path_join(directory, kGenerationFile)) {}

  std::optional<std::int32_t> id(const char* key) const {
    const auto* found = find(key);
    if (found == nullptr) return std::nullopt;
    return checked(key, found->is_array() && !found->empty() ? found->front() : *found);
  }
  std::vector<std::int32_t> ids(const char* key) const {
    std::vector<std::int32_t> out;
    const auto* found = find(key);
    if (found == nullptr) return out;
    if (!found->is_array()) refuse(key, "a list of ids", *found);
    for (const auto& id : *found) {
      if (id.is_array()) refuse(key, "a list of ids", *found);
      // -1 stands for a list that transformers' older tokenizers make themselves.
      if (id != -1) out.push_back(checked(key, id));
    }
    return out;
  }
  /// By name; what stands around it, as in <|en|>, is left out.
  std::map<std::string, std::int32_t> named(const char* key) const {
    std::map<std::string, std::int32_t> out;
    const auto* found = find(key);
    if (found == nullptr) return out;
    if (!found->is_object()) refuse(key, "an object of names and ids", *found);
    for (const auto& [name, id] : found->items()) {
      const bool marked = name.size() > 4 && name.starts_with("<|") && name.ends_with("|>");
      out[marked ? name.substr(2, name.size() - 4) : name] = checked(key, id);
    }
    return out;
  }
  std::optional<std::int64_t> number(const char* key) const {
    const auto* found = find(key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number_integer() || found->get<std::int64_t>() < 0)
      refuse(key, "a whole number from 0 on", *found);
    return found->get<std::int64_t>();
  }

 private:
  const Json* find(const char* key) const {
    const auto at = generation_.find(key);
    return at == generation_.end() || at->is_null() ? nullptr : &*at;
  }
  std::int32_t checked(const char* key, const Json& id) const {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= vocab_)
      refuse(key, fmt::format("ids below {}, the size of the vocabulary", vocab_), id);
    return id.get<std::int32_t>();
  }
  [[noreturn]] void refuse(const char* key, const std::string& should, const Json& is) const {
    fail(ErrorKind::Corruption,
         "{}: {} should be {} but is {}\nhint: take the file that belongs to the model", file_, key, should,
         is.dump().substr(0, 60));
  }

  const Json& generation_;
  std::int64_t vocab_;
  std::string file_;
};

template <class T>
std::optional<T> first_of(std::initializer_list<std::optional<T>> choices) {
  for (const auto& choice : choices)
    if (choice) return choice;
  return std::nullopt;
}

std::int32_t require(const std::optional<std::int32_t>& id, const std::string& directory, const char* key,
                     std::string_view what) {
  if (id) return *id;
  fail(ErrorKind::NotFound,
       "{}: nothing says with which token a text {}\nhint: {} in {}, or a tokenizer that has one", directory,
       what, key, kGenerationFile);
}

}  // namespace

nn::SpeechModel& require_speech(nn::LanguageModel& model, const std::string& name) {
  if (auto* speech = dynamic_cast<nn::SpeechModel*>(&model)) return *speech;
  fail(
      ErrorKind::Unsupported,
      "{}: a model of type {} reads text and hears nothing; Bora has whisper for speech\nhint: bora generate "
      "continues texts",
      name, model.shape().type);
}

std::unique_ptr<nn::SpeechModel> load_speech(const std::string& directory) {
  auto model = load_model(directory);
  (void)require_speech(*model, directory);
  return std::unique_ptr<nn::SpeechModel>(dynamic_cast<nn::SpeechModel*>(model.release()));
}

audio::FeatureConfig features_of(const nn::ModelShape& shape, const std::string& directory) {
  const auto path = path_join(directory, "preprocessor_config.json");
  if (!exists(path)) return audio::whisper_features(shape.mel_bins, shape.frames);
  const auto out = audio::read_feature_config(path);
  const auto compare = [&](std::string_view what, std::int64_t file, std::int64_t model) {
    if (file == model) return;
    fail(ErrorKind::Corruption,
         "{}: features of {} {}, but the model beside it hears {}\nhint: take the file that belongs to the "
         "model, or remove it: without it the features are those of the model's config.json",
         path, file, what, model);
  };
  compare("mel bins (feature_size)", out.feature_size, shape.mel_bins);
  compare("frames (chunk_length, sampling_rate, hop_length)", out.frames(), shape.frames);
  return out;
}

infer::SpeechTokens speech_tokens(const Json& generation, const std::optional<Tokenizer>& tokenizer,
                                  std::int64_t vocab, const std::string& directory) {
  const IdReader read(generation, vocab, directory);
  const auto named = [&](std::string_view token) {
    return tokenizer ? tokenizer->id_of(token) : std::optional<std::int32_t>();
  };
  infer::SpeechTokens out;
  const auto begin = read.id("bos_token_id"), end = read.id("eos_token_id");
  out.end = require(end, directory, "eos_token_id", "ends");
  out.start =
      require(first_of({read.id("decoder_start_token_id"), named("<|startoftranscript|>"), begin, end}),
              directory, "decoder_start_token_id", "begins");
  out.no_timestamps = first_of({read.id("no_timestamps_token_id"), named("<|notimestamps|>")});
  out.suppress = read.ids("suppress_tokens");
  out.begin_suppress = read.ids("begin_suppress_tokens");
  out.max_initial_timestamp = read.number("max_initial_timestamp_index");
  out.languages = read.named("lang_to_id");
  out.tasks = read.named("task_to_id");
  return out;
}

Json preprocessor_config(const nn::ModelShape& shape) {
  const auto c = audio::whisper_features(shape.mel_bins, shape.frames);
  return {{"feature_extractor_type", "WhisperFeatureExtractor"},
          {"feature_size", c.feature_size},
          {"sampling_rate", c.sampling_rate},
          {"hop_length", c.hop_length},
          {"n_fft", c.n_fft},
          {"chunk_length", c.chunk_length},
          {"n_samples", c.samples()},
          {"nb_max_frames", c.frames()},
          {"padding_side", "right"},
          {"padding_value", 0.0},
          {"return_attention_mask", false}};
}

}  // namespace bora::run

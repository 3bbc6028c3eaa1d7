// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/finish_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/infer/generate.h"
#include "bora/run/generation_config.h"
#include "bora/run/launch.h"
#include "bora/tokenize/post/stream_decoder.h"
#include "bora/train/evaluate.h"

namespace bora::run {

double baseline_entropy(const TextData& text) {
  return text.datasets.train ? train::unigram_entropy(*text.datasets.train, 4096, text.vocab_size()) : 0;
}

namespace {

// With the text before it in mind: a tokenizer that begins texts with a space would drop one here.
std::string continuation(const Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt,
                         const std::vector<std::int32_t>& ids) {
  StreamDecoder decoder(tokenizer);
  for (auto id : prompt) decoder.push(id);
  std::string text;
  for (auto id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

}  // namespace

std::vector<track::Sample> draw_samples(const nn::LanguageModel& model, const TextData& text,
                                        const LmConfig& config, const RunPlace& place) {
  const auto ends = stop_ids(generation_of(place.directory, text.tokenizer, model.shape().vocab));
  std::vector<track::Sample> samples;
  std::uint64_t seed = 0;
  for (const auto& prompt : config.sample.prompts) {
    std::vector<std::int32_t> ids;
    text.tokenizer.encode_ids(prompt, ids, false, SpecialInText::Ordinary);
    infer::GenerateOptions options{.max_new_tokens = config.sample.max_new_tokens,
                                   .stop_ids = ends,
                                   .seed = seed++,
                                   .sampling = {.temperature = config.sample.temperature}};
    samples.push_back({prompt, continuation(text.tokenizer, ids, infer::generate(model, ids, options))});
  }
  return samples;
}

namespace {

// The speed is that of the whole start, not of its last moments; its tokens are told where the run had others before.
std::string speed_line(const RunTimes& times) {
  const auto total = times.meter.total_tokens();
  const auto count = [](std::int64_t tokens) { return human_count(static_cast<double>(tokens)); };
  return fmt::format(
      "first step {:.1f} s after start · {} tokens{} · {} tokens/s · data waiting {:.1f} %",
      times.first_step_seconds, count(total),
      times.tokens == total ? "" : fmt::format(", {} of them in this start", count(times.tokens)),
      human_count(static_cast<double>(times.tokens) / times.trained_seconds),
      100 * times.waited_seconds / times.trained_seconds);
}

}  // namespace

void finish_run(const LmConfig& config, const RunPlace& place, const RunTimes& times,
                const RunResults& results, track::Console& console, track::Tracker& tracker) {
  const auto last = config.trainer.num_train_steps - 1;  // as evaluations between are numbered
  tracker.log(last, results.evaluation);
  auto summary = results.evaluation;
  for (const auto& s : results.samples)
    tracker.log_text(last, "sample/" + s.prompt, s.prompt + s.continuation);
  if (!results.samples.empty()) console.samples(results.samples);
  console.line();
  if (times.trained_seconds > 0) console.line(speed_line(times));
  console.line(
      fmt::format("checkpoint {}/step-{}{}", place.directory, config.trainer.num_train_steps,
                  results.exported.empty() ? "" : "        hugging face export " + results.exported));
  if (!results.adapter.empty()) console.line("adapter " + results.adapter);
  const auto& n = results.parameters;
  if (n.trained != n.all) {
    console.line(fmt::format("trained {} of {} parameters", with_commas(n.trained), with_commas(n.all)));
    summary.push_back({"parameters/all", static_cast<double>(n.all)});
    summary.push_back({"parameters/trained", static_cast<double>(n.trained)});
  }
  tracker.log_summary(summary);
}

namespace {

// `bora train` with these words, as the run was started.
std::string train_with(const std::string& words) {
  return fmt::format("{}{}{} train {}", program_word(), launched_by().empty() ? "" : " ", launched_by(),
                     words);
}

}  // namespace

void show_next(const LmConfig& config, const RunPlace& place, const std::string& words_to_go_on,
               track::Console& console) {
  const auto program = program_word();
  const auto step = path_join(place.directory, fmt::format("step-{}", config.trainer.num_train_steps));
  const bool hears = config.model.config->shape(1).hears();
  std::vector<std::string> commands = {
      fmt::format("{} {} {} {}", program, hears ? "transcribe" : "generate", shell_word(place.directory),
                  hears ? "my.wav" : "\"The moon is\""),
      fmt::format("{} inspect {}", program, shell_word(step))};
  commands.push_back(train_with(words_to_go_on));
  console.next(commands);
}

void show_next_after_stop(const RunPlace& place, track::Console& console) {
  console.next(std::vector{train_with(with_flag(place.command, "--trainer.stop_at_step", "null"))});
}

}  // namespace bora::run

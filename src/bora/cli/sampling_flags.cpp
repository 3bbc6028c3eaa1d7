// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/sampling_flags.h"

#include "bora/base/locale_text.h"
#include "bora/run/generation_config.h"
#include "bora/run/generation_defaults.h"

namespace bora::cli {

void SamplingFlags::declare(Args& args) {
  auto& sampling = options.sampling;
  args.option("--max_new_tokens", options.max_new_tokens, kSize, "tokens to add");
  args.option("--temperature", sampling.temperature, kNonNegative, "0: always the most probable token");
  args.option("--top_k", sampling.top_k, kNonNegative, "only the k most probable tokens; 0: all");
  args.option("--top_p", sampling.top_p, infer::kTopP, "only the most probable tokens that together reach p");
  args.option("--min_p", sampling.min_p, kFraction,
              "only tokens at least min_p times as probable as the most probable one");
  args.option("--repetition_penalty", sampling.repetition_penalty, kPositive,
              "> 1: tokens of prompt and text become less probable, as in transformers");
  args.option("--presence_penalty", sampling.presence_penalty, from_to(-2, 2),
              "taken from the logits of tokens that the new text holds, as in OpenAI's API");
  args.option("--frequency_penalty", sampling.frequency_penalty, from_to(-2, 2),
              "the same for each time that it holds them");
  args.option("--stop", stops, "end before this text; may be given several times");
  args.option("--seed", seed, kSeed, "another seed, another text");
}

void SamplingFlags::settle(const Args& args) {
  options.seed = static_cast<std::uint64_t>(seed);
  given = args.given();
}

void SamplingFlags::take_defaults(const run::OpenedModel& opened, bool tells) {
  options.stop_ids = run::stop_ids(opened.generation);
  const auto told =
      run::take_sampling_defaults(opened.generation, opened.generation_file, given, options.sampling);
  if (!tells) return;
  if (!told.empty()) print_note("bora: {}\n", told);
  const auto decoding = options.sampling.temperature > 0 ? run::Decoding::Sampled : run::Decoding::Greedy;
  const auto unused = run::unused_settings(opened.generation, opened.generation_file, decoding);
  if (!unused.empty()) print_note("bora: {}\n", unused);
}

}  // namespace bora::cli

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/sampling_flags.h"

namespace bora::cli {

void SamplingFlags::declare(Args& args) {
  auto& sampling = options.sampling;
  args.option("--max_new_tokens", options.max_new_tokens, kSize, "tokens to add");
  args.option("--temperature", sampling.temperature, kNonNegative, "0: always the most probable token");
  args.option("--top_k", sampling.top_k, kNonNegative, "only the k most probable tokens; 0: all");
  args.option("--top_p", sampling.top_p, Range{.least = 0, .most = 1, .above = true},
              "only the most probable tokens that together reach p");
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

void SamplingFlags::settle() { options.seed = static_cast<std::uint64_t>(seed); }

}  // namespace bora::cli

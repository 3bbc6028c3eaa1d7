// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <cmath>
#include <cstdio>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/core/runtime.h"
#include "bora/infer/generate.h"
#include "bora/run/generation_config.h"
#include "bora/run/open_model.h"
#include "bora/tokenize/post/stream_decoder.h"

namespace bora::cli {
int run_generate(const Arguments& arguments) {
  std::string path, prompt, adapter;
  infer::GenerateOptions options;
  std::int64_t seed = 0;
  bool quiet = false, ids_only = false;
  Args args("generate", "Continue a text.",
            "  bora generate runs/brisk-otter-7 \"The moon is\"\n"
            "  bora generate runs/brisk-otter-7/hf \"The moon is\" --temperature 0 --max_new_tokens 50");
  args.positional("model", path, "a run, a checkpoint, or a Hugging Face directory");
  args.positional("prompt", prompt, "the text to continue; default: the beginning of a text", false);
  args.option("--adapter", adapter, "put this adapter on the model: a directory as PEFT writes it");
  args.option("--max_new_tokens", options.max_new_tokens, kSize, "tokens to add");
  args.option("--temperature", options.sampling.temperature, kNonNegative,
              "0: always the most probable token");
  args.option("--top_k", options.sampling.top_k, kNonNegative, "only the k most probable tokens; 0: all");
  args.option("--top_p", options.sampling.top_p, Range{.least = 0, .most = 1, .above = true},
              "only the most probable tokens that together reach p");
  args.option("--seed", seed, kSeed, "another seed, another text");
  args.flag("--ids", ids_only, "print token ids instead of text");
  args.flag("--quiet", quiet, "the text alone, no speed");
  args.parse(arguments);
  core::initialize();
  auto opened = run::open_model(path, adapter);
  const auto& tokenizer = opened.require_tokenizer();

  std::vector<std::int32_t> ids;
  if (auto bos = tokenizer.bos_id(); bos && (prompt.empty() || opened.prepend_bos)) ids.push_back(*bos);
  tokenizer.encode_ids(prompt, ids, false, SpecialInText::Ordinary);
  options.seed = static_cast<std::uint64_t>(seed);
  options.stop_ids = run::stop_ids(opened.generation);
  StreamDecoder decoder(tokenizer);
  for (auto id : ids) decoder.push(id);  // the first word to come is not the first word of the text
  double started = monotonic_seconds();
  bool begun = false;  // the prompt is shown once the model has taken it
  auto begin = [&] {
    if (!ids_only && !begun) fmt::print("{}", prompt);
    begun = true;
  };
  const auto show = [&](std::int32_t id) {
    begin();
    if (ids_only)
      fmt::print("{} ", id);
    else
      fmt::print("{}", decoder.push(id));
    std::fflush(stdout);
    return true;
  };
  std::vector<std::int32_t> out;
  run::naming_bad_weights(opened, [&] { out = infer::generate(*opened.model, ids, options, show); });
  begin();
  fmt::print("{}\n", ids_only ? "" : decoder.finish());
  std::fflush(stdout);  // the text ends before what follows it on the other stream
  double seconds = monotonic_seconds() - started;
  if (!quiet)
    fmt::print(stderr, "bora: {} tokens, {:.1f} tokens/s\n", out.size(),
               static_cast<double>(out.size()) / seconds);
  return 0;
}

}  // namespace bora::cli

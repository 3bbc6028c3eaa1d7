// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <cstdio>

#include "args.h"
#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/core/runtime.h"
#include "bora/infer/generate.h"
#include "bora/tokenize/stream_decoder.h"
#include "commands.h"
#include "open_model.h"

namespace bora::app {

int run_generate(const Arguments& arguments) {
  std::string path, prompt;
  infer::GenerateOptions options;
  std::int64_t seed = 0;
  bool quiet = false, ids_only = false;
  Args args("generate", "Continue a text.",
            "  bora generate runs/brisk-otter-7 \"The moon is\"\n"
            "  bora generate runs/brisk-otter-7/hf \"The moon is\" --temperature 0 --max_new_tokens 50");
  args.positional("model", path, "a run, a checkpoint, or a Hugging Face directory");
  args.positional("prompt", prompt, "the text to continue; default: the beginning of a text", false);
  args.option("--max_new_tokens", options.max_new_tokens, "tokens to add");
  args.option("--temperature", options.sampling.temperature, "0: always the most probable token");
  args.option("--top_k", options.sampling.top_k, "only the k most probable tokens; 0: all");
  args.option("--top_p", options.sampling.top_p, "only the most probable tokens that together reach p");
  args.option("--seed", seed, "another seed, another text");
  args.flag("--ids", ids_only, "print token ids instead of text");
  args.flag("--quiet", quiet, "the text alone, no speed");
  args.parse(arguments);
  core::initialize();
  auto opened = open_model(path);
  const auto& tokenizer = opened.require_tokenizer();

  std::vector<std::int32_t> ids;
  if (auto bos = tokenizer.bos_id(); bos && (prompt.empty() || opened.prepend_bos)) ids.push_back(*bos);
  tokenizer.encode_ids(prompt, ids);
  options.seed = static_cast<std::uint64_t>(seed);
  options.stop_id = tokenizer.eos_id();
  StreamDecoder decoder(tokenizer);
  if (!ids_only) fmt::print("{}", prompt);
  double started = monotonic_seconds();
  auto out = infer::generate(*opened.model, ids, options, [&](std::int32_t id) {
    if (ids_only)
      fmt::print("{} ", id);
    else
      fmt::print("{}", decoder.push(id));
    std::fflush(stdout);
    return true;
  });
  fmt::print("{}\n", ids_only ? "" : decoder.finish());
  double seconds = monotonic_seconds() - started;
  if (!quiet)
    fmt::print(stderr, "bora: {} tokens, {:.1f} tokens/s\n", out.size(),
               static_cast<double>(out.size()) / seconds);
  return 0;
}

}  // namespace bora::app

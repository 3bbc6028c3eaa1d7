// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "args.h"
#include "bora/base/clock.h"
#include "bora/base/text.h"
#include "bora/store/urls.h"
#include "bora/tokenize/bpe_trainer.h"
#include "commands.h"
#include "document_source.h"

namespace bora::app {

int run_train_tokenizer(const Arguments& arguments) {
  std::vector<std::string> inputs;
  std::string out;
  BpeTrainerConfig config;
  config.vocab_size = 4096;
  Args args("train-tokenizer", "Train a byte-level BPE tokenizer on text files.",
            "  bora train-tokenizer 'books/*.txt' more.jsonl.zst --vocab_size 4096 --out my-tokenizer");
  args.positional("files", inputs, "txt or jsonl files, .gz or .zst too, globs, directories");
  args.option("--out", out, "directory to write tokenizer.json into", true);
  args.option("--vocab_size", config.vocab_size, "ids in all: special tokens, 256 bytes, merges");
  args.option("--min_frequency", config.min_frequency, "rarer pairs are not merged");
  args.parse(arguments);
  double started = monotonic_seconds();
  auto trained = train_bpe(document_source(store::expand_urls(inputs)), config);
  trained.tokenizer.save(out);
  double seconds = monotonic_seconds() - started;
  fmt::print("{} pieces from {} in {} ({}/s) -> {}\n", with_commas(trained.tokenizer.vocab_size()),
             human_bytes(static_cast<double>(trained.text_bytes)), human_duration(seconds),
             human_bytes(static_cast<double>(trained.text_bytes) / seconds), out);
  if (!trained.warning.empty()) fmt::print(stderr, "bora: {}\n", trained.warning);
  return 0;
}

}  // namespace bora::app

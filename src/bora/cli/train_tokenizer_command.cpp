// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/run/document_source.h"
#include "bora/store/urls.h"
#include "bora/tokenize/train/tokenizer_trainer.h"

namespace bora::cli {

namespace {

// Readers name keys of a configuration, which this command has not.
std::string with_flags(std::string text) {
  constexpr std::string_view kKey = "hint: set format.text_key to", kFlag = "hint: --text_key names",
                             kOther = ", or set format.invalid_utf8: replace";
  if (const auto at = text.find(kKey); at != text.npos) text.replace(at, kKey.size(), kFlag);
  if (const auto at = text.find(kOther); at != text.npos) text.erase(at, kOther.size());
  return text;
}

/// What the trainer finds wrong is wrong with the command line: only it knows how many ids the characters of
/// the text need.
template <class Body>
auto as_usage(const std::vector<std::string>& inputs, Body&& body) {
  try {
    return body();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::InvalidArgument) throw Error(e.kind(), with_flags(e.what()));
    const std::string text = e.what();
    throw Error(ErrorKind::Usage,
                fmt::format("train-tokenizer: {}{}", text,
                            text.find("hint: ") == text.npos ? "\nhint: look into " + join(inputs) : ""));
  }
}

}  // namespace

int run_train_tokenizer(const Arguments& arguments) {
  std::vector<std::string> inputs;
  std::string out, kind = "bpe", text_key = "text";
  bool force = false;
  TokenizerTrainerConfig config;
  store::DownloadOptions options;
  config.vocab_size = 4096;
  Args args("train-tokenizer", "Train a tokenizer on text files.",
            "  bora train-tokenizer 'books/*.txt' more.jsonl.zst --vocab_size 4096 --out my-tokenizer\n"
            "  bora train-tokenizer books --kind unigram --vocab_size 8000 --out my-unigram");
  args.positional("files", inputs, "txt or jsonl files, .gz or .zst too, globs, directories").is_path();
  args.option("--out", out, "directory to write tokenizer.json into", true).is_path();
  args.flag("--force", force, "write over a tokenizer that is there");
  args.option("--kind", kind, "bpe (byte-level), sentencepiece-bpe, unigram or wordpiece")
      .one_of(tokenizer_kind_names());
  args.option("--vocab_size", config.vocab_size, kSize,
              "ids in all: special tokens, bytes or characters, pieces");
  args.option("--text_key", text_key, "the field of .jsonl, .json and tables that holds the text");
  args.option("--min_frequency", config.min_frequency, kNonNegative,
              "rarer pairs (unigram: substrings) become no piece");
  args.option("--character_coverage", config.character_coverage, Range{.least = 0, .most = 1, .above = true},
              "share of the text whose characters get an id each; not for bpe");
  args.flag("--allow_private_addresses", options.allow_private,
            "fetch URLs from machines that are not in the public network too");
  args.parse(arguments);
  if (const auto there = path_join(out, "tokenizer.json"); !force && exists(there)) {
    fail(ErrorKind::Usage,
         "train-tokenizer: {} exists, and models may depend on it\nhint: --out ANOTHER, or --force to write "
         "over it",
         there);
  }
  double started = monotonic_seconds();
  config.kind = parse_tokenizer_kind(kind);
  auto trained = as_usage(inputs, [&] {
    std::vector<run::TextFile> files;
    for (const auto& path : store::expand_urls(inputs, store::Split::Train, options))
      files.push_back({path, {.text_key = text_key}});
    return train_tokenizer(run::document_source(std::move(files)), config);
  });
  trained.tokenizer.save(out);
  double seconds = monotonic_seconds() - started;
  fmt::print("{} pieces from {} in {} ({}/s) -> {}\n", with_commas(trained.tokenizer.vocab_size()),
             human_bytes(static_cast<double>(trained.text_bytes)), human_duration(seconds),
             human_bytes(static_cast<double>(trained.text_bytes) / seconds), out);
  if (!trained.warning.empty()) print_note("bora: {}\n", trained.warning);
  return 0;
}

}  // namespace bora::cli

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/json.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/core/runtime.h"
#include "bora/run/open_model.h"
#include "bora/run/senses.h"

namespace bora::cli {
namespace {

// As after a space, as most words of a text stand, unless that takes more tokens.
std::vector<std::int32_t> tokens_of(const Tokenizer& tokenizer, const std::string& word) {
  std::vector<std::int32_t> within, alone;
  tokenizer.encode_ids(" " + word, within);
  tokenizer.encode_ids(word, alone);
  return alone.size() < within.size() ? alone : within;
}

std::string shown(const Tokenizer& tokenizer, std::int32_t id) {
  const auto text = tokenizer.decode(std::vector{id});
  return Json(text.empty() ? tokenizer.token(id).value_or("") : text)
      .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace

int run_senses(const Arguments& arguments) {
  std::string path;
  std::vector<std::string> words;
  std::int64_t top = 6;
  Args args("senses", "What each sense vector of a word predicts, in a Backpack.",
            "  bora senses runs/backpack_nano moon river\n"
            "  A word is read as after a space; one of several tokens is shown token by token.");
  args.positional("model", path, "a run, a checkpoint, or a Hugging Face directory").is_path();
  args.positional("words", words, "words, each with its senses");
  args.option("--top", top, kSize, "tokens shown of each sense, the strongest first");
  args.parse(arguments);
  core::initialize();
  const auto opened = run::open_model(path);
  const auto& tokenizer = opened.require_tokenizer();
  for (const auto& word : words) {
    for (const auto id : tokens_of(tokenizer, word)) {
      const auto senses = run::predictions_of_senses(*opened.model, id, top);
      fmt::print("{} (id {})\n", shown(tokenizer, id), id);
      for (std::size_t i = 0; i < senses.size(); ++i) {
        fmt::print("  {:>3} ", i);
        for (const auto& p : senses[i]) fmt::print("  {} {:.2f}", shown(tokenizer, p.id), p.logit);
        fmt::print("\n");
      }
    }
  }
  return 0;
}

}  // namespace bora::cli

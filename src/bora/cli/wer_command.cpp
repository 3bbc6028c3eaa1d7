// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/locale_text.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/infer/word_errors.h"

namespace bora::cli {
namespace {

// One a line; of a .jsonl file the text of each object, whose blank lines are none.
std::vector<std::string> read_texts(const std::string& path, const std::string& key) {
  const bool json = path.ends_with(".jsonl");
  const auto all = read_text(path);
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // of byte order: no part of the first word
  std::string_view text = all;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  auto lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();  // after the last line end
  std::vector<std::string> out;
  std::int64_t number = 0;
  for (std::string_view line : lines) {
    const auto place = fmt::format("{}:{}", path, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto byte = invalid_utf8(line))
      fail(ErrorKind::Corruption, "{}: byte {} of the line is not UTF-8\nhint: iconv -t UTF-8 converts it",
           place, *byte + 1);
    if (json && trim(line).empty()) continue;
    out.push_back(json ? json_get<std::string>(parse_json(line, place), key, place) : std::string(line));
  }
  return out;
}

std::string count(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

int run_wer(const Arguments& arguments) {
  std::string reference, hypothesis, key = "text";
  bool json = false;
  Args args("wer",
            "Word error rate: how far what was heard is from what was said. Case and punctuation count.",
            "  bora wer said.txt heard.txt\n  bora wer test.jsonl texts.jsonl --json");
  args.positional("reference", reference,
                  "what was said: a text a line, or of each object of a .jsonl file its \"text\"")
      .is_path();
  args.positional("hypothesis", hypothesis, "what was heard, likewise").is_path();
  args.option("--text_key", key, "the field of a .jsonl file that holds the text");
  args.flag("--json", json, "a JSON object");
  args.parse(arguments);
  const auto said = read_texts(reference, key), heard = read_texts(hypothesis, key);
  if (said.size() != heard.size()) {
    fail(ErrorKind::Usage,
         "wer: {} has {} and {} has {}\nhint: the texts of both belong together, the first to the first",
         reference, count(std::ssize(said), "text"), hypothesis, count(std::ssize(heard), "text"));
  }
  if (said.empty())
    fail(ErrorKind::Usage,
         "wer: {} and {} hold no text: there is nothing to compare\nhint: a text a line in each", reference,
         hypothesis);
  infer::WordErrors all;
  for (std::size_t i = 0; i < said.size(); ++i) all += infer::word_errors(said[i], heard[i]);
  if (json) {
    const Json out{{"wer", all.rate()},
                   {"hits", all.hits},
                   {"substitutions", all.substitutions},
                   {"deletions", all.deletions},
                   {"insertions", all.insertions},
                   {"words", all.reference_words()},
                   {"texts", said.size()}};
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  print_shown("word error rate {:.2f} % · {}, {}, {} in {} · {}\n", 100 * all.rate(),
              count(all.substitutions, "substitution"), count(all.deletions, "deletion"),
              count(all.insertions, "insertion"), count(all.reference_words(), "word"),
              count(std::ssize(said), "text"));
  return 0;
}

}  // namespace bora::cli

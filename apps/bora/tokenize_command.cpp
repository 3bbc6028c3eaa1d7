// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <iostream>
#include <string>

#include "args.h"
#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/tokenize/tokenizer.h"
#include "commands.h"

namespace bora::app {
namespace {

std::string read_all() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

void print_ids(const std::vector<std::int32_t>& ids) {
  std::string line;
  for (auto id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  fmt::print("{}\n", line);
}

std::vector<std::int32_t> parse_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  std::string word;
  for (char c : text + " ") {
    if (c != ' ' && c != '\n' && c != '\t' && c != ',') {
      word += c;
    } else if (!word.empty()) {
      auto id = parse_int(word);
      if (!id)
        fail(ErrorKind::Usage, "tokenize: {} is not an id\nhint: decode reads numbers separated by spaces",
             word);
      ids.push_back(static_cast<std::int32_t>(*id));
      word.clear();
    }
  }
  return ids;
}

// One JSON object a line: {"text": ...} -> {"ids", "offsets"}, {"ids": ...} -> {"text"}.
void serve_jsonl(const Tokenizer& tokenizer, bool special, SpecialInText in_text) {
  std::string line;
  std::int64_t number = 0;
  while (std::getline(std::cin, line)) {
    auto in = parse_json(line, fmt::format("standard input:{}", ++number));
    Json out;
    if (in.contains("text")) {
      auto encoding = tokenizer.encode(in["text"].get<std::string>(), special, in_text);
      out["ids"] = encoding.ids;
      out["offsets"] = Json::array();
      for (auto& span : encoding.offsets) {
        out["offsets"].push_back(span.begin);
        out["offsets"].push_back(span.end);
      }
    } else {
      out["text"] = tokenizer.decode(in.at("ids").get<std::vector<std::int32_t>>());
    }
    fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

int bench(const Tokenizer& tokenizer, const std::string& text, SpecialInText in_text) {
  std::vector<std::int32_t> ids;
  double started = monotonic_seconds();
  tokenizer.encode_ids(text, ids, false, in_text);
  double seconds = monotonic_seconds() - started;
  fmt::print("{} tokens from {} in {:.3f} s: {}/s, {:.2f} bytes per token\n", with_commas(std::ssize(ids)),
             human_bytes(static_cast<double>(text.size())), seconds,
             human_bytes(static_cast<double>(text.size()) / seconds),
             static_cast<double>(text.size()) / static_cast<double>(ids.size()));
  return 0;
}

}  // namespace

int run_tokenize(const Arguments& arguments) {
  std::string path, action;
  bool jsonl = false, special = false, no_special = false, plain_text = false;
  Args args("tokenize", "Turn text into ids and back: standard input to standard output.",
            "  echo 'Hello world' | bora tokenize --tokenizer my-tokenizer encode\n"
            "  echo '15496 995' | bora tokenize --tokenizer my-tokenizer decode\n"
            "  bora tokenize --tokenizer my-tokenizer --jsonl --special encode < texts.jsonl");
  args.positional("action", action, "encode, decode, count or bench");
  args.option("--tokenizer", path, "tokenizer.json or a directory that holds one", true);
  args.flag("--jsonl", jsonl,
            "one JSON object a line: {\"text\"} gives {\"ids\", \"offsets\"}, {\"ids\"} gives {\"text\"}");
  args.flag("--special", special, "add the post-processor's special tokens");
  args.flag("--no-special", no_special, "do not (the default)");
  args.flag("--no-special-in-text", plain_text,
            "special tokens spelled out in the text are ordinary text, as they are in training data; without "
            "this flag they become their ids");
  args.parse(arguments);
  auto tokenizer = Tokenizer::load(path);
  special = special && !no_special;
  const auto in_text = plain_text ? SpecialInText::Ordinary : SpecialInText::Recognised;
  if (jsonl) {
    serve_jsonl(tokenizer, special, in_text);
    return 0;
  }
  auto text = read_all();
  if (action == "encode")
    print_ids(tokenizer.encode(text, special, in_text).ids);
  else if (action == "decode")
    fmt::print("{}", tokenizer.decode(parse_ids(text)));
  else if (action == "count")
    fmt::print("{}\n", tokenizer.encode(text, special, in_text).ids.size());
  else if (action == "bench")
    return bench(tokenizer, text, in_text);
  else
    fail(ErrorKind::Usage, "tokenize: {} is not one of encode, decode, count, bench", action);
  return 0;
}

}  // namespace bora::app

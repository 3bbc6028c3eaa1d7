// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/run/hub_name.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::cli {
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
      if (!id || *id < 0 || *id > std::numeric_limits<std::int32_t>::max())
        fail(ErrorKind::Usage, "tokenize: {} is not an id\nhint: decode reads numbers separated by spaces",
             word);
      ids.push_back(static_cast<std::int32_t>(*id));
      word.clear();
    }
  }
  return ids;
}

void require_ids(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer, const std::string& where,
                 ErrorKind kind) {
  for (const auto id : ids) {
    if (id < tokenizer.vocab_size()) continue;
    fail(
        kind,
        "{}: there is no id {}: the tokenizer has ids from 0 to {}\nhint: is it the tokenizer that made the ids?",
        where, id, tokenizer.vocab_size() - 1);
  }
}

// What is no UTF-8 is read as U+FFFD.
void warn_of_bytes(const std::string& text, const std::string& where) {
  if (const auto at = invalid_utf8(text))
    log_warning("{}: byte {} is no UTF-8: it becomes U+FFFD, and decoding does not bring it back", where,
                *at + 1);
}

// One JSON object a line: {"text": ...} -> {"ids", "offsets"}, {"ids": ...} -> {"text"}.
std::vector<std::int32_t> ids_of(const Json& in, const std::string& name) {
  const auto list = in.is_object() ? in.find("ids") : in.end();
  if (list == in.end() || !list->is_array())
    fail(ErrorKind::Corruption, "{}: each line should be an object with \"text\", or \"ids\" and a list",
         name);
  std::vector<std::int32_t> ids;
  for (const auto& item : *list) {
    const auto id = item.is_number_integer() ? item.get<double>() : -1;
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
      fail(ErrorKind::Corruption, "{}: {} is not an id", name, item.dump());
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

void serve_jsonl(const Tokenizer& tokenizer, bool special, SpecialInText in_text) {
  std::string line;
  std::int64_t number = 0;
  while (std::getline(std::cin, line)) {
    const auto name = fmt::format("standard input:{}", ++number);
    const auto in = parse_json(line, name);
    Json out;
    if (in.contains("text")) {
      const auto text = json_get<std::string>(in, "text", name);
      auto encoding = tokenizer.encode(text, special, in_text);
      out["ids"] = encoding.ids;
      out["offsets"] = Json::array();
      for (auto& span : encoding.offsets) {
        out["offsets"].push_back(span.begin);
        out["offsets"].push_back(span.end);
      }
    } else {
      const auto ids = ids_of(in, name);
      require_ids(ids, tokenizer, name, ErrorKind::Corruption);
      out["text"] = tokenizer.decode(ids);
    }
    fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

struct BenchOptions {
  std::int64_t threads = 1, rounds = 5;
  bool piece_cache = true;
};

/// `text` in parts of about `size` bytes, cut after line ends.
std::vector<std::string_view> parts_of(std::string_view text, std::size_t size) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t line = text.size() > size ? text.find('\n', size) : std::string_view::npos;
    const std::size_t end = line == std::string_view::npos ? text.size() : line + 1;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

/// Tokens and seconds of one round.
std::pair<std::size_t, double> bench_round(const Tokenizer& tokenizer, const std::string& text,
                                           SpecialInText in_text, const BenchOptions& options) {
  constexpr std::size_t kDocument = std::size_t{1} << 16;  // bytes
  const auto documents = parts_of(text, kDocument);
  std::size_t tokens = 0;
  const double started = monotonic_seconds();
  if (options.threads == 1) {
    std::vector<std::int32_t> ids;
    for (const auto document : documents)
      tokenizer.encode_ids(document, ids, false, in_text, options.piece_cache);
    tokens = ids.size();
  } else {
    const int threads = bounded_threads(options.threads);
    for (const auto& ids : tokenizer.encode_batch(documents, false, in_text, threads)) tokens += ids.size();
  }
  return {tokens, monotonic_seconds() - started};
}

int bench(const Tokenizer& tokenizer, const std::string& text, SpecialInText in_text,
          const BenchOptions& options) {
  if (text.empty())
    fail(ErrorKind::Usage,
         "tokenize: bench needs a text on standard input, which is empty\nhint: bora tokenize "
         "--tokenizer TOKENIZER bench < text.txt");
  if (options.threads > 1 && !options.piece_cache) {
    fail(ErrorKind::Usage, "tokenize: --no-piece_cache goes with one thread");
  }
  std::vector<double> seconds;
  std::size_t tokens = 0;
  for (std::int64_t i = 0; i < options.rounds; ++i) {
    const auto [count, time] = bench_round(tokenizer, text, in_text, options);
    tokens = count;
    seconds.push_back(time);
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2], bytes = static_cast<double>(text.size());
  fmt::print("{} tokens from {} in {:.4f} s (median of {}): {:.1f} MB/s, {:.2f} bytes per token\n",
             with_commas(static_cast<std::int64_t>(tokens)), human_bytes(bytes), median, seconds.size(),
             bytes / median / 1e6, bytes / static_cast<double>(tokens));
  return 0;
}

}  // namespace

int run_tokenize(const Arguments& arguments) {
  std::string path, action;
  bool jsonl = false, special = false, no_special = false, plain_text = false, no_cache = false;
  BenchOptions bench_options;
  Args args("tokenize", "Turn text into ids and back: standard input to standard output.",
            "  echo 'Hello world' | bora tokenize --tokenizer my-tokenizer encode\n"
            "  echo '15496 995' | bora tokenize --tokenizer my-tokenizer decode\n"
            "  bora tokenize --tokenizer my-tokenizer --jsonl --special encode < texts.jsonl");
  args.positional("action", action, "encode, decode, count or bench")
      .words({"encode", "decode", "count", "bench"})
      .surplus("the text comes from standard input: echo 'Hello world' | bora tokenize ..., or ... < FILE");
  args.option("--tokenizer", path, "tokenizer.json or a directory that holds one", true).is_path();
  args.flag("--jsonl", jsonl,
            "one JSON object a line: {\"text\"} gives {\"ids\", \"offsets\"}, {\"ids\"} gives {\"text\"}");
  args.flag("--special", special, "add the post-processor's special tokens");
  args.flag("--no-special", no_special, "do not (the default)");
  args.flag("--no-special-in-text", plain_text,
            "special tokens spelled out in the text are ordinary text, as they are in training data; without "
            "this flag they become their ids");
  args.option("--threads", bench_options.threads, from_to(1, kThreads.most),
              "bench: threads, each with documents of 64 KiB");
  args.option("--rounds", bench_options.rounds, kSize, "bench: how often to encode the text");
  args.flag("--no-piece_cache", no_cache, "bench: without the cache of the pieces that a thread has met");
  args.parse(arguments);
  if (action != "encode" && action != "decode" && action != "count" && action != "bench") {
    fail(ErrorKind::Usage,
         "tokenize: {} is not one of encode, decode, count, bench\nhint: bora tokenize --help", action);
  }
  if (special && no_special)
    fail(ErrorKind::Usage,
         "tokenize: --special and --no-special say the opposite\nhint: leave out one of them");
  bench_options.piece_cache = !no_cache;
  const double started = monotonic_seconds();
  auto tokenizer = Tokenizer::load(run::local_path(path, store::HubFiles::Tokenizer));
  const double loading = monotonic_seconds() - started;
  const auto in_text = plain_text ? SpecialInText::Ordinary : SpecialInText::Recognised;
  if (jsonl) {
    serve_jsonl(tokenizer, special, in_text);
    return 0;
  }
  auto text = read_all();
  if (action == "encode" || action == "count") warn_of_bytes(text, "standard input");
  if (action == "encode") {
    print_ids(tokenizer.encode(text, special, in_text).ids);
  } else if (action == "decode") {
    const auto ids = parse_ids(text);
    require_ids(ids, tokenizer, "tokenize decode", ErrorKind::Usage);
    fmt::print("{}", tokenizer.decode(ids));
  } else if (action == "count") {
    fmt::print("{}\n", tokenizer.encode(text, special, in_text).ids.size());
  } else {
    fmt::print("loaded in {:.3f} s\n", loading);
    return bench(tokenizer, text, in_text, bench_options);
  }
  return 0;
}

}  // namespace bora::cli

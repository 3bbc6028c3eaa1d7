// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A tiktoken file has one line a token, "BASE64 RANK"; all 256 bytes are tokens, and ranks are ids.
#include "bora/tokenize/formats/tiktoken.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/formats/tokenizer_files.h"
#include "bora/tokenize/normalize/charsmap.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/pretokenize/scanner.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace tokenize {

namespace {

constexpr std::string_view kCl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view kQwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Special = std::vector<std::pair<std::string, std::int32_t>>;

Special qwen_special() {
  Special all{{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}};
  for (int i = 0; i < 205; ++i) all.emplace_back(fmt::format("<|extra_{}|>", i), 151646 + i);
  return all;
}

Special llama3_special() {
  std::vector<std::string> names{"<|begin_of_text|>", "<|end_of_text|>"};
  const auto reserve = [&](int from, int to) {
    for (int i = from; i < to; ++i) names.push_back(fmt::format("<|reserved_special_token_{}|>", i));
  };
  reserve(0, 4);
  names.insert(names.end(), {"<|start_header_id|>", "<|end_header_id|>"});
  reserve(4, 5);
  names.emplace_back("<|eot_id|>");
  reserve(5, 251);
  Special all;
  for (const auto& name : names) all.emplace_back(name, 128000 + static_cast<int>(all.size()));
  return all;
}

/// The rules that go with a number of ranks: tiktoken_ext/openai_public.py, Qwen's tokenization_qwen.py,
/// Llama 3's tokenizer.py.
std::optional<TiktokenRules> rules_of(std::size_t ranks) {
  switch (ranks) {
    case 50256:
    case 50280:
      return TiktokenRules{kGpt2Pattern, false, {{"<|endoftext|>", 50256}}};
    case 100256:
      return TiktokenRules{std::string(kCl100k),
                           false,
                           {{"<|endoftext|>", 100257},
                            {"<|fim_prefix|>", 100258},
                            {"<|fim_middle|>", 100259},
                            {"<|fim_suffix|>", 100260},
                            {"<|endofprompt|>", 100276}}};
    case 199998:
      return TiktokenRules{
          std::string(kO200k), false, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}};
    case 151643:
      return TiktokenRules{std::string(kQwen), true, qwen_special()};
    case 128000:
      return TiktokenRules{std::string(kCl100k), false, llama3_special()};
    default:
      return std::nullopt;
  }
}

struct Rank {
  std::string bytes;
  std::int32_t id;
};

std::optional<Rank> read_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto bytes = from_base64(line.substr(0, space));
  const std::string_view number = line.substr(space + 1);
  std::int64_t rank = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (!bytes || bytes->empty() || error != std::errc() || end != number.data() + number.size() || rank < 0 ||
      rank >= Vocabulary::kMaxIds) {
    return std::nullopt;
  }
  return Rank{std::move(*bytes), static_cast<std::int32_t>(rank)};
}

/// Ids by bytes.
Vocabulary read_ranks(std::string_view text, const std::string& path) {
  Vocabulary ranks;
  for (std::size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view content = text.substr(begin, end - begin);
    if (content.ends_with('\r')) content.remove_suffix(1);
    begin = end + 1;
    if (content.empty()) continue;
    const auto rank = read_line(content);
    if (!rank) {
      fail(ErrorKind::Corruption, "{}: line {}: {} is not a token in base64 and its rank", path, line,
           json_excerpt(utf8_lossy(content)));
    }
    if (!ranks.add(rank->bytes, rank->id)) {
      fail(ErrorKind::Corruption, "{}: line {}: the token or its rank {} is there twice", path, line,
           rank->id);
    }
  }
  for (int b = 0; b < 256; ++b) {
    if (!ranks.find(std::string(1, static_cast<char>(b))))
      fail(ErrorKind::Corruption, "{}: the byte {} is no token", path, b);
  }
  return ranks;
}

/// Every way to make a token of two others, by result, then by parts.
std::vector<std::pair<std::int32_t, std::int32_t>> merges_of(const Vocabulary& ranks) {
  std::vector<std::pair<std::int32_t, std::int32_t>> merges, ways;
  for (std::int32_t id = 0; id < ranks.size(); ++id) {
    if (!ranks.has(id)) continue;
    const std::string_view bytes = ranks.text(id);
    ways.clear();
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ranks.find(bytes.substr(0, cut));
      const auto right = left ? ranks.find(bytes.substr(cut)) : std::nullopt;
      if (right) ways.emplace_back(*left, *right);
    }
    std::sort(ways.begin(), ways.end());
    merges.insert(merges.end(), ways.begin(), ways.end());
  }
  return merges;
}

/// Added tokens that the model does not have get the ids behind those it has: where that would not be their
/// own, the model has them all.
std::vector<std::pair<std::int32_t, std::string>> kept_in_model(const Vocabulary& ranks,
                                                                const Special& special) {
  std::vector<std::pair<std::int32_t, std::string>> by_id;
  for (const auto& [content, id] : special) by_id.emplace_back(id, content);
  std::sort(by_id.begin(), by_id.end());
  std::int64_t next = ranks.count();
  const bool in_a_row =
      std::all_of(by_id.begin(), by_id.end(), [&next](const auto& token) { return token.first == next++; });
  if (in_a_row) by_id.clear();
  return by_id;
}

std::unique_ptr<const Model> model_of(const Vocabulary& ranks, const TiktokenRules& rules,
                                      const std::string& path) {
  Vocabulary spelled;
  for (std::int32_t id = 0; id < ranks.size(); ++id) {
    if (!ranks.has(id)) continue;
    std::string text;
    append_in_alphabet(text, ranks.text(id));
    spelled.add(text, id);
  }
  for (const auto& [id, content] : kept_in_model(ranks, rules.special_tokens)) {
    if (!spelled.add(content, id)) {
      fail(ErrorKind::InvalidArgument, "{}: the special token {} or its id {} is also that of a rank", path,
           json_string(content), id);
    }
  }
  BpeConfig config;
  config.ignore_merges = true;
  config.rank_by_result = true;
  return std::make_unique<Bpe>(std::move(config), std::move(spelled), merges_of(ranks), true, path);
}

void check_rules(const TiktokenRules& rules, const std::string& path) {
  for (const auto& [content, id] : rules.special_tokens) {
    if (content.empty() || id < 0 || id >= Vocabulary::kMaxIds) {
      fail(ErrorKind::InvalidArgument, "{}: the special token {} has id {}; ids are from 0 to {}", path,
           json_string(content), id, Vocabulary::kMaxIds - 1);
    }
  }
}

std::shared_ptr<Pipeline> assemble_pipeline(const Vocabulary& ranks, const TiktokenRules& rules,
                                            const std::string& path) {
  check_rules(rules, path);
  auto p = std::make_shared<Pipeline>();
  if (rules.nfc) p->normalizer = make_normalizer(R"({"type":"NFC"})");
  p->pre_tokenizer = make_pre_tokenizer(fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Removed",)"
      R"("invert":true}},{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}}]}})",
      json_string(rules.pattern)));
  p->model = model_of(ranks, rules, path);
  p->bytes = p->model->takes_bytes();
  p->post_processor = PostProcessor::byte_level();
  p->decoder = byte_level_decoder();
  Special by_id = rules.special_tokens;  // as in the file that save() writes
  std::sort(by_id.begin(), by_id.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [content, id] : by_id) {
    AddedToken token;
    token.id = id;
    token.content = content;
    token.special = true;
    p->added.add(std::move(token));
  }
  p->added.index(p->normalizer.get());
  return p;
}

}  // namespace

bool is_rank_file(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  return read_line(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line).has_value();
}

std::shared_ptr<Pipeline> read_rank_file(const std::string& path) {
  const Vocabulary ranks = read_ranks(read_text(path), path);
  const auto rules = rules_of(static_cast<std::size_t>(ranks.count()));
  if (!rules) {
    fail(ErrorKind::Unsupported,
         "{}: {} ranks belong to no tokenizer that Bora knows the pattern and special tokens of\nhint: use "
         "load_tiktoken with both",
         path, ranks.count());
  }
  return assemble_pipeline(ranks, *rules, path);
}

}  // namespace tokenize

Tokenizer load_tiktoken(const std::string& path, const TiktokenRules& rules) {
  auto p = tokenize::assemble_pipeline(tokenize::read_ranks(read_text(path), path), rules, path);
  p->finish("tokenizer_config.json");
  return Tokenizer(std::move(p));
}

}  // namespace bora

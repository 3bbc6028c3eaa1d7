// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// "model" of tokenizer.json for BPE:
//   {"type": "BPE", "dropout": null, "unk_token": STRING | null, "continuing_subword_prefix": STRING | null,
//    "end_of_word_suffix": STRING | null, "fuse_unk": BOOL, "byte_fallback": BOOL, "ignore_merges": BOOL,
//    "vocab": {TOKEN: ID, ...}, "merges": [[LEFT, RIGHT], ...]}     older files: "LEFT RIGHT"; no "type"
// and, of Bora's own, "rank_by_result": true for what was read from tiktoken.
#include <fmt/core.h>

#include <array>

#include "bora/base/error.h"
#include "bora/tokenize/models/bpe.h"

namespace bora::tokenize {

namespace {

std::int32_t member(const Vocabulary& vocabulary, const JsonView& merge, std::string_view text) {
  const auto id = vocabulary.find(text);
  if (!id) merge.bad(fmt::format("joins {}, which is not in the vocabulary", json_string(text)));
  return *id;
}

std::pair<std::int32_t, std::int32_t> read_merge(const Vocabulary& vocabulary, const JsonView& json) {
  std::array<std::string_view, 2> sides;
  if (json.is_string()) {
    const std::string_view text = json.string();
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      json.bad("should be two tokens with a space between");
    }
    sides = {text.substr(0, space), text.substr(space + 1)};
  } else {
    std::size_t count = 0;
    json.each_item([&](const JsonView& side) {
      const std::string_view text = side.string();
      if (count < sides.size()) sides[count] = text;
      ++count;
    });
    if (count != sides.size()) json.bad(fmt::format("should have 2 tokens but has {}", count));
  }
  return {member(vocabulary, json, sides[0]), member(vocabulary, json, sides[1])};
}

void write_optional(std::string& out, std::string_view key, const std::string& value) {
  out += fmt::format(",\"{}\":{}", key, value.empty() ? "null" : json_string(value));
}

}  // namespace

void Bpe::write(std::string& out) const {
  out += R"({"type":"BPE","dropout":null)";
  write_optional(out, "unk_token", config_.unk_token);
  write_optional(out, "continuing_subword_prefix", config_.continuing_subword_prefix);
  write_optional(out, "end_of_word_suffix", config_.end_of_word_suffix);
  if (config_.rank_by_result) out += ",\"rank_by_result\":true";
  out +=
      fmt::format(",\"fuse_unk\":{},\"byte_fallback\":{},\"ignore_merges\":{},\"vocab\":", config_.fuse_unk,
                  config_.byte_fallback, config_.ignore_merges);
  vocabulary_.write(out);
  out += ",\"merges\":[";
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    out += i > 0 ? ",[" : "[";
    append_json_string(out, vocabulary_.text(merges_[i].first));
    out += ',';
    append_json_string(out, vocabulary_.text(merges_[i].second));
    out += ']';
  }
  out += "]}";
}

std::unique_ptr<const Bpe> read_bpe(const JsonView& json, bool bytes) {
  if (const auto dropout = json.find("dropout"); dropout && dropout->number() > 0) {
    fail(ErrorKind::Unsupported,
         "{}: BPE with dropout {} is not supported: ids would be random\nhint: set it to null",
         dropout->where(), dropout->number());
  }
  BpeConfig config;
  config.unk_token = json.string("unk_token", "");
  config.continuing_subword_prefix = json.string("continuing_subword_prefix", "");
  config.end_of_word_suffix = json.string("end_of_word_suffix", "");
  config.fuse_unk = json.boolean("fuse_unk", false);
  config.byte_fallback = json.boolean("byte_fallback", false);
  config.rank_by_result = json.boolean("rank_by_result", false);
  config.ignore_merges = json.boolean("ignore_merges", false);
  Vocabulary vocabulary = Vocabulary::read(json.at("vocab"));
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
  json.at("merges").each_item([&](const JsonView& merge) {
    if (merge.is_string() && merge.string().starts_with("#version")) return;  // a line of merges.txt
    merges.push_back(read_merge(vocabulary, merge));
  });
  return std::make_unique<Bpe>(std::move(config), std::move(vocabulary), std::move(merges), bytes,
                               json.where());
}

}  // namespace bora::tokenize

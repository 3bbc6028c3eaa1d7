// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post_processor.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

namespace {

constexpr char32_t kSpaceInAlphabet = 0x120;  // Ġ

struct Reader {
  PostProcessor& out;
  std::int64_t vocab_size;

  std::int32_t special_id(const JsonView& json) const {
    const std::int64_t id = json.integer();
    if (id < 0 || id >= vocab_size) {
      json.bad(fmt::format("is {}, which is no id of the {} of the vocabulary", id, vocab_size));
    }
    return static_cast<std::int32_t>(id);
  }

  /// Of ["[SEP]", 102].
  std::int32_t id_of_pair(const JsonView& json) const {
    std::optional<std::int32_t> id;
    std::size_t i = 0;
    json.each_item([&](const JsonView& item) {
      if (i++ == 1) id = special_id(item);
    });
    if (i != 2) json.bad("should be a token and its id");
    return *id;
  }

  /// What a stage puts around the text goes around what earlier stages put there.
  void surround(const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after) const {
    out.before.insert(out.before.begin(), before.begin(), before.end());
    out.after.insert(out.after.end(), after.begin(), after.end());
  }

  void read_template(const JsonView& json) const {
    std::vector<std::int32_t> before, after;
    int texts = 0;
    json.at("single").each_item([&](const JsonView& piece) {
      if (const auto sequence = piece.find("Sequence")) {
        if (sequence->at("id").string() != "A") sequence->bad("should be sequence A: there is one text");
        ++texts;
        return;
      }
      const std::string_view name = piece.at("SpecialToken").at("id").string();
      json.at("special_tokens").at(name).at("ids").each_item([&](const JsonView& id) {
        (texts == 0 ? before : after).push_back(special_id(id));
      });
    });
    if (texts != 1)
      json.at("single").bad(fmt::format("should have the text once but has it {} times", texts));
    surround(before, after);
  }

  void read(const JsonView& json) const {
    const std::string type(json.at("type").string());
    const auto trim = [&] {
      if (json.boolean("trim_offsets", true)) out.trims.push_back({json.boolean("add_prefix_space", true)});
    };
    if (type == "ByteLevel") {
      trim();
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      if (type == "RobertaProcessing") trim();
      surround({id_of_pair(json.at("cls"))}, {id_of_pair(json.at("sep"))});
    } else if (type == "TemplateProcessing") {
      read_template(json);
    } else if (type == "Sequence") {
      json.at("processors").each_item([&](const JsonView& item) { read(item); });
    } else {
      fail(ErrorKind::Unsupported, "{}: post-processor {} is not supported", json.where(), json_string(type));
    }
  }
};

}  // namespace

PostProcessor PostProcessor::read(const std::optional<JsonView>& json, std::int64_t vocab_size) {
  PostProcessor out;
  out.json = "null";
  if (!json) return out;
  Reader{out, vocab_size}.read(*json);
  out.json = json->json();
  return out;
}

PostProcessor PostProcessor::byte_level() {
  PostProcessor out;
  out.json = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})";
  return out;
}

TokenSpaces spaces_of(std::string_view token) {
  const auto is_space = [&](std::size_t i) {
    const char32_t c = code_point_at(token.data() + i).value;
    return c == kSpaceInAlphabet || is_white_space(c);
  };
  TokenSpaces spaces;
  for (std::size_t i = 0; i < token.size() && is_space(i); i += utf8_length(token[i])) ++spaces.leading;
  for (std::size_t end = token.size(); end > 0;) {
    end = previous_start(token, end);
    if (!is_space(end)) break;
    ++spaces.trailing;
  }
  return spaces;
}

void trim_offsets(std::vector<CodePointSpan>& offsets, const std::vector<TokenSpaces>& spaces,
                  PostProcessor::Trim trim) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    CodePointSpan& span = offsets[i];
    std::int64_t leading = spaces[i].leading;
    const bool first = i == 0 || span.begin == 0;
    if (first && trim.prefix_space && leading == 1) leading = 0;
    if (leading > 0) span.begin = std::min(span.begin + leading, span.end);
    if (span.end >= spaces[i].trailing) span.end = std::max(span.end - spaces[i].trailing, span.begin);
  }
}

}  // namespace bora::tokenize

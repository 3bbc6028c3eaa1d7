// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/post_processor.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/tokenize/post/frame.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::int64_t kMaxTypeId = 1 << 30;
constexpr std::int32_t kTheText = -1;         // stands for the tokens of the text
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

  std::vector<PostProcessor::Part> read_parts(const JsonView& json, std::string_view key) const {
    std::vector<PostProcessor::Part> parts;
    json.at(key).each_item([&](const JsonView& item) {
      PostProcessor::Part part;
      const auto sequence = item.find("Sequence");
      const JsonView piece = sequence ? *sequence : item.at("SpecialToken");
      const std::int64_t type = piece.integer("type_id", 0);
      if (type < 0 || type > kMaxTypeId) piece.at("type_id").bad(fmt::format("is {}, no segment", type));
      part.type_id = static_cast<std::int32_t>(type);
      const std::string_view name = piece.at("id").string();
      if (sequence) {
        if (key == "single" && name != "A") piece.bad("should be sequence A: there is one text");
        if (name != "A" && name != "B") piece.at("id").bad("should be \"A\" or \"B\"");
        part.text = name == "A" ? 0 : 1;
      } else {
        json.at("special_tokens").at(name).at("ids").each_item([&](const JsonView& id) {
          part.ids.push_back(special_id(id));
        });
      }
      parts.push_back(std::move(part));
    });
    return parts;
  }

  void read_template(const JsonView& json) const {
    PostProcessor::Template t;
    t.single = read_parts(json, "single");
    if (json.find("pair")) t.pair = read_parts(json, "pair");
    const auto texts =
        std::count_if(t.single.begin(), t.single.end(), [](const auto& part) { return part.text == 0; });
    if (texts != 1)
      json.at("single").bad(fmt::format("should have the text once but has it {} times", texts));
    out.stages.emplace_back(std::move(t));
  }

  void read(const JsonView& json) const {
    const std::string type(json.at("type").string());
    const auto trim = [&] {
      if (!json.boolean("trim_offsets", true)) return;
      out.stages.emplace_back(PostProcessor::Trim{json.boolean("add_prefix_space", true)});
    };
    if (type == "ByteLevel") {
      trim();
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      if (type == "RobertaProcessing") trim();
      out.stages.emplace_back(PostProcessor::Surround{id_of_pair(json.at("cls")), id_of_pair(json.at("sep")),
                                                      type == "RobertaProcessing"});
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
  out.frame_one_text(*json);
  out.json = json->json();
  return out;
}

void PostProcessor::frame_one_text(const JsonView& where) {
  for (const Stage& stage : stages) {
    if (const auto* trim = std::get_if<Trim>(&stage)) trims.push_back(*trim);
  }
  Frame text;
  text.append(kTheText, 0, 0);
  const auto framed = process(stages, {std::move(text)}, true);
  if (!framed) {
    fail(ErrorKind::Unsupported, "{}: a TemplateProcessing of a Sequence gets more than two parts",
         where.where());
  }
  const auto& ids = framed->ids;
  const auto at = std::find(ids.begin(), ids.end(), kTheText);
  if (at == ids.end() || std::find(at + 1, ids.end(), kTheText) != ids.end()) {
    where.bad(fmt::format("should give the text once but gives it {} times",
                          std::count(ids.begin(), ids.end(), kTheText)));
  }
  before.assign(ids.begin(), at);
  after.assign(at + 1, ids.end());
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

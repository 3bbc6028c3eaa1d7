// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// vocab.json is an object of TOKEN: ID. merges.txt has "LEFT RIGHT" a line, in rank order; a first line that
// begins with "#version" is none. What is done around the model follows from tokenizer_class of
// tokenizer_config.json.
#include <fmt/core.h>

#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/formats/tokenizer_files.h"
#include "bora/tokenize/models/bpe.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kEnd = "<|endoftext|>";
constexpr std::string_view kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view kClipPattern = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

enum class Family { Gpt2, Roberta, Clip, Qwen };

Family family_of(const FileConfig& config) {
  std::string name = config.text("tokenizer_class", "GPT2Tokenizer");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  for (const char* known : {"GPT2Tokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer", "WhisperTokenizer",
                            "PreTrainedTokenizer", "TokenizersBackend"}) {
    if (name == known) return Family::Gpt2;
  }
  for (const char* known : {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"}) {
    if (name == known) return Family::Roberta;
  }
  if (name == "CLIPTokenizer") return Family::Clip;
  if (name == "Qwen2Tokenizer") return Family::Qwen;
  fail(ErrorKind::Unsupported,
       "{}: tokenizer_class {} is not supported for vocab.json with merges.txt; Bora knows those of GPT-2, "
       "CodeGen, GPT-NeoX, Whisper, RoBERTa, BART, Longformer, CLIP and Qwen2\nhint: save the tokenizer as "
       "tokenizer.json",
       config.name(), json_string(name));
}

using Merges = std::vector<std::pair<std::int32_t, std::int32_t>>;

Merges read_merges(const Vocabulary& vocabulary, const std::string& path) {
  const std::string text = read_text(path);
  Merges merges;
  for (std::size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view content = std::string_view(text).substr(begin, end - begin);
    if (content.ends_with('\r')) content.remove_suffix(1);
    begin = end + 1;
    if (content.empty() || content.starts_with("#version")) continue;
    const std::size_t space = content.find(' ');
    if (space == std::string_view::npos || content.find(' ', space + 1) != std::string_view::npos) {
      fail(ErrorKind::Corruption, "{}: line {}: {} should be two tokens with a space between", path, line,
           json_excerpt(content));
    }
    const auto id_of = [&](std::string_view token) {
      const auto id = vocabulary.find(token);
      if (!id) {
        fail(ErrorKind::Corruption, "{}: line {}: {} is not in vocab.json", path, line, json_string(token));
      }
      return *id;
    };
    merges.emplace_back(id_of(content.substr(0, space)), id_of(content.substr(space + 1)));
  }
  return merges;
}

std::string byte_level(bool prefix_space, bool regex) {
  return fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
                     prefix_space, regex);
}

std::string split_then_bytes(std::string_view pattern, std::string_view behavior, bool invert,
                             bool prefix_space) {
  return fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},"behavior":"{}",)"
      R"("invert":{}}},{}]}})",
      json_string(pattern), behavior, invert, byte_level(prefix_space, invert));
}

std::int32_t id_or(const Pipeline& p, const FileConfig& config, std::string_view key,
                   std::string_view otherwise) {
  const std::string token = config.token(key).value_or(std::string(otherwise));
  const auto id = p.id_of(token);
  if (!id) {
    fail(ErrorKind::Corruption, "{}: {} is {}, which is not in the vocabulary", config.name(), key,
         json_string(token));
  }
  return *id;
}

std::string roberta(const Pipeline& p, const FileConfig& config, const NamedToken& cls, const NamedToken& sep,
                    bool trim, bool prefix_space) {
  const auto named = [&](const NamedToken& token) {
    const std::int32_t id = id_or(p, config, token.first, token.second);
    return fmt::format("[{},{}]", json_string(*p.token(id)), id);
  };
  const std::string first = named(cls), last = named(sep);
  return fmt::format(
      R"({{"type":"RobertaProcessing","sep":{},"cls":{},"trim_offsets":{},"add_prefix_space":{}}})", last,
      first, trim, prefix_space);
}

/// GPT-2's post-processor, or the beginning and the end that the configuration asks for.
PostProcessor ends(const Pipeline& p, const FileConfig& config) {
  const bool bos = config.flag("add_bos_token", false), eos = config.flag("add_eos_token", false);
  if (!bos && !eos) return PostProcessor::byte_level();
  std::string single, pair, tokens;
  const auto add = [&](std::string& out, std::string_view piece) {
    if (!out.empty()) out += ',';
    out += piece;
  };
  const auto name = [&](std::string_view key) {
    const std::int32_t id = id_or(p, config, key, kEnd);
    std::string text = json_string(*p.token(id));
    add(tokens, fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", text, id));
    return text;
  };
  const std::string before = bos ? name("bos_token") : "";
  const std::string after = !eos ? ""
                            : bos && config.token("eos_token") == config.token("bos_token")
                                ? before
                                : name("eos_token");
  for (int text = 0; text < 2; ++text) {
    const auto special = [&](const std::string& token) {
      return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", token, text);
    };
    std::string part;
    if (bos) add(part, special(before));
    add(part, fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", text == 0 ? "A" : "B", text));
    if (eos) add(part, special(after));
    if (text == 0) single = part;
    add(pair, part);
  }
  return make_post_processor(
      fmt::format(R"({{"type":"TemplateProcessing","single":[{}],"pair":[{}],"special_tokens":{{{}}}}})",
                  single, pair, tokens),
      p.vocab_size());
}

void surround_gpt2(Pipeline& p, const FileConfig& config) {
  p.pre_tokenizer = make_pre_tokenizer(byte_level(config.flag("add_prefix_space", false), true));
  add_special_tokens(p, config,
                     {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", ""}});
  p.post_processor = ends(p, config);
}

void surround_roberta(Pipeline& p, const FileConfig& config) {
  const bool prefix = config.flag("add_prefix_space", false);
  p.pre_tokenizer = make_pre_tokenizer(byte_level(prefix, true));
  add_special_tokens(p, config,
                     {{"bos_token", "<s>"},
                      {"eos_token", "</s>"},
                      {"unk_token", "<unk>"},
                      {"sep_token", "</s>"},
                      {"pad_token", "<pad>"},
                      {"cls_token", "<s>"},
                      {"mask_token", "<mask>"}});
  p.post_processor = make_post_processor(roberta(p, config, {"cls_token", "<s>"}, {"sep_token", "</s>"},
                                                 config.flag("trim_offsets", true), prefix),
                                         p.vocab_size());
}

void surround_clip(Pipeline& p, const FileConfig& config) {
  p.normalizer = make_normalizer(
      R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"\\s+"},)"
      R"("content":" "},{"type":"Lowercase"}]})");
  p.pre_tokenizer = make_pre_tokenizer(split_then_bytes(kClipPattern, "Removed", true, false));
  add_special_tokens(
      p, config,
      {{"bos_token", "<|startoftext|>"}, {"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", kEnd}});
  p.post_processor = make_post_processor(
      roberta(p, config, {"bos_token", "<|startoftext|>"}, {"eos_token", kEnd}, false, false),
      p.vocab_size());
}

void surround_qwen(Pipeline& p, const FileConfig& config) {
  p.normalizer = make_normalizer(R"({"type":"NFC"})");
  p.pre_tokenizer = make_pre_tokenizer(
      split_then_bytes(kQwenPattern, "Isolated", false, config.flag("add_prefix_space", false)));
  add_special_tokens(p, config,
                     {{"bos_token", ""}, {"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", kEnd}});
  p.post_processor = PostProcessor::byte_level();
}

}  // namespace

std::shared_ptr<Pipeline> read_merges_files(const TokenizerFiles& files, const FileConfig& config) {
  const Family family = family_of(config);
  const std::string text = read_text(files.main);
  const JsonDocument document(text, files.main);
  Vocabulary vocabulary = Vocabulary::read(document.root());
  Merges merges = read_merges(vocabulary, files.merges);
  BpeConfig bpe;
  if (family == Family::Clip) {
    bpe.end_of_word_suffix = "</w>";
    bpe.unk_token = config.token("unk_token").value_or(std::string(kEnd));
  }
  auto p = std::make_shared<Pipeline>();
  p->model =
      std::make_unique<Bpe>(std::move(bpe), std::move(vocabulary), std::move(merges), true, files.merges);
  p->bytes = p->model->takes_bytes();
  p->decoder = byte_level_decoder();
  switch (family) {
    case Family::Gpt2:
      surround_gpt2(*p, config);
      break;
    case Family::Roberta:
      surround_roberta(*p, config);
      break;
    case Family::Clip:
      surround_clip(*p, config);
      break;
    case Family::Qwen:
      surround_qwen(*p, config);
      break;
  }
  return p;
}

}  // namespace bora::tokenize

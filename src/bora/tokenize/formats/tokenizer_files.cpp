// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/formats/tokenizer_files.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/lfs_pointer.h"
#include "bora/tokenize/formats/sentencepiece_file.h"
#include "bora/tokenize/formats/tiktoken.h"

namespace bora::tokenize {

namespace {

using FileKind = TokenizerFiles::Kind;

constexpr std::size_t kSniffed = 4096;  // bytes from which a file's kind is told

std::string start_of(const std::string& path) {
  const auto file = files().open(path);
  std::string start(std::min<std::uint64_t>(file->size(), kSniffed), '\0');
  start.resize(file->read_at(0, {reinterpret_cast<std::byte*>(start.data()), start.size()}));
  return start;
}

bool is_object(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

std::string config_beside(const std::string& file) {
  const std::string config = path_join(parent_path(file), "tokenizer_config.json");
  return exists(config) ? config : std::string();
}

std::optional<TokenizerFiles> two_files(const std::string& vocab, const std::string& merges) {
  if (!exists(vocab) || !exists(merges)) return std::nullopt;
  return TokenizerFiles{FileKind::Merges, vocab, merges, config_beside(vocab)};
}

std::optional<FileKind> kind_of(const std::string& path) {
  const std::string start = start_of(path);
  if (is_sentencepiece_file(start)) return FileKind::SentencePiece;
  if (is_rank_file(start)) return FileKind::Ranks;
  if (is_object(start)) return FileKind::TokenizerJson;
  if (base_name(path) == "vocab.txt") return FileKind::Words;
  return std::nullopt;
}

TokenizerFiles of_file(const std::string& path) {
  refuse_lfs_pointer(path);
  const std::string folder = parent_path(path), name(base_name(path));
  if (name == "vocab.json" || name == "merges.txt") {
    if (auto files = two_files(path_join(folder, "vocab.json"), path_join(folder, "merges.txt")))
      return *files;
  }
  const auto kind = kind_of(path);
  if (!kind) {
    fail(ErrorKind::Unsupported,
         "{}: no tokenizer that Bora knows\nhint: tokenizer.json, vocab.json with merges.txt, vocab.txt, a "
         "tiktoken file and a SentencePiece .model are read",
         path);
  }
  return {*kind, path, "", config_beside(path)};
}

/// The one file of a directory whose name ends so, if any.
std::optional<std::string> only_file(const std::string& folder, std::string_view end) {
  std::vector<std::string> found;
  for (const std::string& name : files().list(folder)) {
    if (name.ends_with(end)) found.push_back(name);
  }
  if (found.size() > 1) {
    fail(ErrorKind::Unsupported, "{}: {} files end in {}: {}, {}{}\nhint: give the file itself", folder,
         found.size(), end, found[0], found[1], found.size() > 2 ? ", ..." : "");
  }
  return found.empty() ? std::nullopt : std::optional(path_join(folder, found[0]));
}

TokenizerFiles of_directory(const std::string& folder) {
  const auto in_folder = [&](std::string_view name) { return path_join(folder, name); };
  if (exists(in_folder("tokenizer.json"))) {
    refuse_lfs_pointer(in_folder("tokenizer.json"));
    return {FileKind::TokenizerJson, in_folder("tokenizer.json"), "",
            config_beside(in_folder("tokenizer.json"))};
  }
  if (auto files = two_files(in_folder("vocab.json"), in_folder("merges.txt"))) return *files;
  for (const char* end : {"tokenizer.model", ".model", ".tiktoken"}) {
    if (const auto file = only_file(folder, end)) return of_file(*file);
  }
  if (exists(in_folder("vocab.txt"))) return of_file(in_folder("vocab.txt"));
  std::string near;  // of a run, or of one of its checkpoints
  for (auto place : {in_folder("tokenizer"), path_join(parent_path(folder), "tokenizer")})
    if (near.empty() && exists(path_join(place, "tokenizer.json")))
      near = fmt::format("\nhint: there is one in {}", place);
  fail(ErrorKind::NotFound,
       "{}: no tokenizer there: neither tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt, nor a "
       ".model or .tiktoken file{}",
       folder, near);
}

template <class Read>
auto from_json_text(std::string_view json, Read&& read) {
  const JsonDocument document(json, "tokenizer");
  return read(document.root());
}

}  // namespace

TokenizerFiles find_tokenizer(const std::string& path) {
  const auto info = files().info(path);
  return info && info->is_directory ? of_directory(path) : of_file(path);
}

bool holds_tokenizer(const std::string& directory) {
  const auto info = files().info(directory);
  if (!info || !info->is_directory) return false;
  try {
    of_directory(directory);
    return true;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NotFound) throw;
    return false;
  }
}

std::shared_ptr<Pipeline> read_tokenizer(const TokenizerFiles& files) {
  const FileConfig config(files.config);
  std::shared_ptr<Pipeline> p;
  switch (files.kind) {
    case FileKind::TokenizerJson:
      p = read_pipeline(read_text(files.main), files.main);
      break;
    case FileKind::Merges:
      p = read_merges_files(files, config);
      break;
    case FileKind::Words:
      p = read_words_file(files, config);
      break;
    case FileKind::Ranks:
      p = read_rank_file(files.main);
      break;
    case FileKind::SentencePiece:
      p = read_sentencepiece_model(files, config);
      break;
  }
  for (const auto& [key, value] : config.json().items()) p->config[key] = value;
  return p;
}

FileConfig::FileConfig(const std::string& path) {
  if (path.empty()) return;
  name_ = path;
  json_ = parse_json(read_text(path), path);
  if (!json_.is_object()) {
    fail(ErrorKind::Corruption, "{}: should be an object but is {}", path, json_.type_name());
  }
}

bool FileConfig::flag(std::string_view key, bool otherwise) const {
  return json_get<bool>(json_, key, name_, otherwise);
}

std::string FileConfig::text(std::string_view key, std::string_view otherwise) const {
  return json_get<std::string>(json_, key, name_, std::string(otherwise));
}

std::optional<std::string> FileConfig::token(std::string_view key) const {
  const auto found = json_.find(key);
  if (found == json_.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object()) return json_get<std::string>(*found, "content", name_);
  fail(ErrorKind::Corruption, "{}: {} should be a token but is {}", name_, key, found->dump());
}

void add_special_tokens(Pipeline& p, const FileConfig& config, std::initializer_list<NamedToken> defaults) {
  const Vocabulary& vocabulary = p.model->vocabulary();
  std::vector<std::string> known;
  std::string json = "[";
  const auto add = [&](const std::string& content, std::int64_t id, const Json& flags) {
    if (std::find(known.begin(), known.end(), content) != known.end()) return;
    known.push_back(content);
    const auto flag = [&](const char* key, bool otherwise) {
      return json_get<bool>(flags, key, config.name(), otherwise);
    };
    json += fmt::format(
        R"({}{{"id":{},"content":{},"special":{},"normalized":{},"single_word":{},"lstrip":{},"rstrip":{}}})",
        json.size() > 1 ? "," : "", id, json_string(content), flag("special", true),
        flag("normalized", false), flag("single_word", false), flag("lstrip", false), flag("rstrip", false));
  };
  std::int64_t next = vocabulary.count();
  const auto listed = config.json().find("added_tokens_decoder");
  if (listed != config.json().end() && listed->is_object()) {
    for (const auto& [number, token] : listed->items()) {
      const auto content = json_get<std::string>(token, "content", config.name());
      const auto id = vocabulary.find(content);
      add(content, id ? *id : next++, token);
    }
  }
  const auto add_special = [&](const std::string& content) {
    const auto id = vocabulary.find(content);
    const bool is_new = !id && std::find(known.begin(), known.end(), content) == known.end();
    add(content, id ? *id : next, Json::object());
    if (is_new) ++next;
  };
  for (const auto& [key, token] : defaults) {
    if (const auto configured = config.token(key))
      add_special(*configured);
    else if (!config.json().contains(key) && vocabulary.find(token))
      add_special(std::string(token));
  }
  const auto more = config.json().find("additional_special_tokens");
  if (more != config.json().end() && more->is_array()) {
    for (const Json& token : *more) {
      add_special(token.is_string() ? token.get<std::string>()
                                    : json_get<std::string>(token, "content", config.name()));
    }
  }
  const JsonDocument document(json + "]", config.name());
  p.added = AddedTokens::read(document.root(), vocabulary, p.normalizer.get());
}

std::unique_ptr<const Normalizer> make_normalizer(std::string_view json) {
  return from_json_text(json, read_normalizer);
}
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(std::string_view json) {
  return from_json_text(json, read_pre_tokenizer);
}
std::unique_ptr<const Decoder> make_decoder(std::string_view json) {
  return from_json_text(json, read_decoder);
}

PostProcessor make_post_processor(std::string_view json, std::int64_t vocab_size) {
  return from_json_text(json, [&](const JsonView& root) { return PostProcessor::read(root, vocab_size); });
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/json.h"
#include "bora/tokenize/pipeline.h"

namespace bora::tokenize {

/// The files a tokenizer comes in.
struct TokenizerFiles {
  enum class Kind {
    TokenizerJson,  ///< tokenizer.json
    Merges,         ///< vocab.json and merges.txt: byte-level BPE as GPT-2 wrote it
    Words,          ///< vocab.txt: WordPiece as BERT wrote it
    Ranks,          ///< tiktoken: "BASE64 RANK" a line
    SentencePiece,  ///< a ".model" of SentencePiece
  };
  Kind kind = Kind::TokenizerJson;
  std::string main;    ///< the file, vocab.json of two
  std::string merges;  ///< merges.txt
  std::string config;  ///< tokenizer_config.json beside them; empty if there is none
};

/// What `path` is: a directory that holds a tokenizer, or one of its files, told apart by what is in it. In a
/// directory the first of the kinds above counts. Errors: NotFound; Unsupported for a file of another kind
/// and for a directory with several files of one kind.
TokenizerFiles find_tokenizer(const std::string& path);

/// Whether a directory holds a tokenizer of any kind. Errors: those of find_tokenizer but NotFound.
bool holds_tokenizer(const std::string& directory);

/// All but finish(). Errors as Tokenizer::load.
std::shared_ptr<Pipeline> read_tokenizer(const TokenizerFiles& files);

/// tokenizer_config.json, or nothing.
class FileConfig {
 public:
  FileConfig() = default;
  /// An empty `path` means there is none. Errors: Corruption.
  explicit FileConfig(const std::string& path);

  const Json& json() const { return json_; }
  const std::string& name() const { return name_; }
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// A string, or an object with "content".
  std::optional<std::string> token(std::string_view key) const;

 private:
  Json json_ = Json::object();
  std::string name_ = "tokenizer_config.json";
};

using NamedToken = std::pair<std::string_view, std::string_view>;  ///< a key and the token it has by default

/// Gives `p` (which has its model) the added tokens of the configuration: added_tokens_decoder, then the
/// special tokens that its keys name; a default counts only if the model has it.
void add_special_tokens(Pipeline& p, const FileConfig& config, std::initializer_list<NamedToken> defaults);

// One for each kind of file.
std::shared_ptr<Pipeline> read_merges_files(const TokenizerFiles& files, const FileConfig& config);
std::shared_ptr<Pipeline> read_words_file(const TokenizerFiles& files, const FileConfig& config);
std::shared_ptr<Pipeline> read_sentencepiece_model(const TokenizerFiles& files, const FileConfig& config);

/// A component from JSON text of our own.
std::unique_ptr<const Normalizer> make_normalizer(std::string_view json);
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(std::string_view json);
std::unique_ptr<const Decoder> make_decoder(std::string_view json);
PostProcessor make_post_processor(std::string_view json, std::int64_t vocab_size);

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Keys of a GGUF file's tokenizer, each checked when it is read.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_reader.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// The tokenizer of a file, of any kind. Errors: Corruption with file, key and both sides.
class GgufWords {
 public:
  explicit GgufWords(const checkpoint::GgufFile& file) : file_(file) {}

  const checkpoint::GgufFile& file() const { return file_; }
  const std::string& path() const { return file_.path(); }
  /// Of the key tokenizer.ggml.`key`; null where it is not there.
  const Json* value(const std::string& key) const { return file_.value("tokenizer.ggml." + key); }
  /// A token that a key names.
  std::optional<std::size_t> id(const std::string& key) const;
  /// The same; of model llama, files without the key mean `otherwise`, if that is a control token.
  std::optional<std::size_t> id(const std::string& key, std::size_t otherwise) const;
  std::vector<std::string> texts(const std::string& key) const;
  bool flag(const std::string& key, bool otherwise) const;
  /// One of each of `tokens`, of the kinds that `allowed` says; Unsupported, for `whose` tokenizer, for others.
  std::vector<std::int32_t> types(const std::vector<std::string>& tokens,
                                  std::span<const std::int32_t> allowed, std::string_view whose) const;
  /// As JSON. `what` and `i` name it in errors.
  std::string quoted(const std::string& text, std::string_view what, std::size_t i) const;

  /// Of SentencePiece, for files of model llama that do not name them.
  static constexpr std::size_t kUsualBegin = 1, kUsualEnd = 2;
  struct Frame {
    std::optional<std::size_t> begin, end;
  };
  /// By add_bos_token, which is `begins` where the file does not say it, and add_eos_token.
  Frame frame(bool begins) const;
  /// post_processor of tokenizer.json: the tokens that are put around a text. `plain`: where none are.
  std::string around(const std::vector<std::string>& tokens, const Frame& frame, std::string plain) const;

  static std::string shown(const Json& value);
  /// Unsupported: what the tokenizer is.
  [[noreturn]] void refuse(const std::string& what) const;
  /// Corruption.
  [[noreturn]] void wrong(const std::string& what) const;

 private:
  const checkpoint::GgufFile& file_;
};

/// BPE by scores: tokenizer.ggml.model "llama". `config`: tokenizer_config.json.
Tokenizer sentencepiece_of_gguf(const GgufWords& words, const std::string& config);

}  // namespace bora::run

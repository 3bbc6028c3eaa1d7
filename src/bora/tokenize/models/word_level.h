// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/model.h"

namespace bora::tokenize {

/// Each piece is one token, or the unknown one.
class WordLevel final : public Model {
 public:
  WordLevel(std::string unk_token, Vocabulary vocabulary);

  /// Errors: InvalidArgument for an unknown word where the unknown token is no token.
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  void write(std::string& out) const override;

 private:
  std::string unk_token_;
  Vocabulary vocabulary_;
  std::optional<std::int32_t> unk_;
};

/// {"type": "WordLevel", "vocab": {WORD: ID, ...}, "unk_token": STRING}
std::unique_ptr<const Model> read_word_level(const JsonView& json);

}  // namespace bora::tokenize

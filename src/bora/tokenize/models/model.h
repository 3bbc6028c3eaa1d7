// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json_view.h"
#include "bora/tokenize/models/vocabulary.h"

namespace bora::tokenize {

/// An id and the bytes of the piece it covers.
struct Token {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;
};

/// Turns a piece into tokens: "model" in tokenizer.json.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a piece that is not empty.
  virtual void tokenize(std::string_view piece, std::vector<Token>& out) const = 0;
  /// The ids alone. `no_token`: the piece is known not to be a token as a whole.
  virtual void append_ids(std::string_view piece, bool no_token, std::vector<std::int32_t>& out) const;
  virtual const Vocabulary& vocabulary() const = 0;
  virtual std::optional<std::int32_t> unk_id() const = 0;
  /// How a token of `piece` reads: its spelling in the vocabulary or, for an unknown of some models, the
  /// text.
  virtual std::string_view text_of(const Token& token, std::string_view /*piece*/) const {
    return vocabulary().text(token.id);
  }
  /// Whether `text`, part of a piece, is how the token `id` is written, and not, say, a character whose bytes it
  /// helps to stand for.
  virtual bool spells(std::string_view text, std::int32_t id) const { return vocabulary().text(id) == text; }
  /// True if `id` stands for a byte of what is not in the vocabulary: <0x0A>.
  virtual bool is_fallback(std::int32_t /*id*/) const { return false; }
  /// True if neighbouring unknowns of a piece are one token, wherever they come from.
  virtual bool fuses_unknowns() const { return false; }
  /// True if pieces are raw bytes, which the vocabulary spells in the byte alphabet.
  virtual bool takes_bytes() const { return false; }
  /// Appends the JSON that read_model() reads.
  virtual void write(std::string& out) const = 0;
};

/// BPE, Unigram, WordPiece, WordLevel; SentencePiece of Bora's own. `bytes`: pieces come from a ByteLevel,
/// which will leave raw bytes to a model that takes them. Errors: Unsupported for other models, by name.
std::unique_ptr<const Model> read_model(const JsonView& json, bool bytes);

}  // namespace bora::tokenize

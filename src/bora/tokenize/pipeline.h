// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/tokenize/added_tokens.h"
#include "bora/tokenize/models/bpe.h"
#include "bora/tokenize/models/model.h"
#include "bora/tokenize/models/whole_words.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/post/decoder.h"
#include "bora/tokenize/post/framing.h"
#include "bora/tokenize/post/post_processor.h"
#include "bora/tokenize/pretokenize/pre_tokenizer.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {

/// The stages of a tokenizer, in the order in which a text meets them:
/// added tokens of the raw text, normalizer, added tokens of the normalized text, pre-tokenizer, model,
/// post-processor. Immutable once finish() was called.
struct Pipeline {
  AddedTokens added;
  std::unique_ptr<const Normalizer> normalizer;       ///< may be null
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  ///< may be null
  std::unique_ptr<const Model> model;
  PostProcessor post_processor;
  std::unique_ptr<const Decoder> decoder;  ///< may be null: tokens are joined by spaces
  Framing framing;                         ///< for frame(): encode() neither cuts nor pads
  bool bytes = false;                      ///< the model takes the raw bytes of a final ByteLevel
  Json config = Json::object();            ///< tokenizer_config.json

  // What follows is worked out by finish().
  std::optional<std::int32_t> bos, eos, pad, unk;
  std::optional<ScanRule> rule;            ///< pieces are those of a scan
  std::optional<MetaspaceRule> metaspace;  ///< pieces are those of each_metaspace_piece()
  /// When ids alone, too, need to know which bytes came from the first character of the original (fast_encoder.cpp).
  enum class Tracks { Never, DroppedStart, Normalized, Always };
  Tracks tracks = Tracks::Never;
  const Bpe* bpe = nullptr;  ///< the model, if it is one
  std::vector<std::int32_t> bytes_per_token;
  Hash128 fingerprint;
  std::vector<bool> control;  ///< by id: special tokens, but for the model's unknown one
  std::uint64_t number = 0;   ///< even; of this tokenizer in this process, never used again

  /// `config_name` stands for tokenizer_config.json in errors.
  void finish(std::string_view config_name);

  /// The pieces of ordinary text have other tokens than those of a text with control tokens.
  std::uint64_t cache_number(SpecialInText in_text) const {
    return number + (in_text == SpecialInText::Ordinary ? 1 : 0);
  }

  /// Worked out when they are first asked for: only who encodes pays for it.
  const WholeWords& words() const;

  std::int64_t vocab_size() const;
  std::optional<std::string_view> token(std::int32_t id) const;
  bool is_fallback(std::int32_t id) const;  ///< Model::is_fallback, of any id
  std::optional<std::int32_t> id_of(std::string_view token) const;

  /// Both take valid UTF-8 of less than 4 GiB. Ids of the text alone.
  void encode_ids(std::string_view text, std::vector<std::int32_t>& out, SpecialInText in_text,
                  bool piece_cache = true) const;
  /// With `spaces`: offsets before the post-processor trims them, and, if it does, what it needs to (by
  /// token).
  Encoding encode(std::string_view text, SpecialInText in_text,
                  std::vector<TokenSpaces>* spaces = nullptr) const;

  /// Special tokens are recognised within the `allowed` ranges alone, which are in order; all else is
  /// ordinary.
  Encoding encode_chosen(std::string_view text, std::span<const ByteRange> allowed) const;

  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const;

  /// tokenizer.json, in one canonical spelling.
  std::string json() const;

 private:
  mutable std::once_flag words_once_;
  mutable WholeWords words_;
};

/// Reads tokenizer.json. Errors as Tokenizer::load.
std::shared_ptr<Pipeline> read_pipeline(std::string_view tokenizer_json, const std::string& name);

/// tokenizer_config.json for `pipeline`: what was read, or the special tokens alone.
std::string config_json(const Pipeline& pipeline);

}  // namespace bora::tokenize

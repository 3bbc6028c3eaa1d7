// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::tokenize {

/// The pieces of a SentencePiece model and what the segmentation needs to know.
struct SentencePieces {
  enum class Algorithm { Unigram = 1, Bpe = 2, Word = 3, Char = 4 };
  enum class Kind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::Normal;
  };
  Algorithm algorithm = Algorithm::Unigram;
  std::vector<Piece> pieces;  ///< by id
  bool byte_fallback = false;
};

/// How SentencePiece prepares a text.
struct SentencePieceRules {
  std::string charsmap;                  ///< see Charsmap; may be empty
  bool add_dummy_prefix = true;          ///< a space in front, so that first words are like others
  bool remove_extra_whitespaces = true;  ///< at both ends, and all but one of each run
  bool escape_whitespaces = true;        ///< ▁ for spaces
  bool whitespace_is_suffix = false;     ///< the dummy prefix comes last
};

/// What Bora takes from a SentencePiece ".model" file.
struct SentencePieceFile {
  SentencePieces pieces;
  SentencePieceRules rules;
  std::string unk_surface = " \xE2\x81\x87 ";  ///< how an unknown token reads
  std::int32_t bos = -1, eos = -1, pad = -1;   ///< -1: none
};

/// Reads a ".model": the protocol buffers message ModelProto (sentencepiece_model.proto), of which
///   ModelProto = {1: repeated SentencePiece, 2: TrainerSpec, 3: NormalizerSpec, 5: NormalizerSpec
///                 (denormalizer)}
///   SentencePiece = {1: text, 2: float score, 3: kind}
///   TrainerSpec = {3: algorithm, 24: treat_whitespace_as_suffix, 35: byte_fallback, 41: bos_id, 42: eos_id,
///                  43: pad_id, 44: unk_surface}
///   NormalizerSpec = {2: precompiled_charsmap, 3: add_dummy_prefix, 4: remove_extra_whitespaces,
///                     5: escape_whitespaces}
/// and skips the rest. `name` stands in errors: Corruption; Unsupported for a denormalizer with rules.
SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name);

/// True if `bytes` look like a ".model": they begin with a piece.
bool is_sentencepiece_file(std::string_view bytes);

}  // namespace bora::tokenize

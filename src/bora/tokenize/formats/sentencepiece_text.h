// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bora/tokenize/formats/sentencepiece_file.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/post/decoder.h"

namespace bora::tokenize {

/// SentencePiece's preparation of a text: user-defined symbols stay as they are; elsewhere the longest rule
/// of the charsmap applies at each place; then spaces. In offsets a token reaches to where the next one
/// begins. `where` stands in errors: Corruption.
std::unique_ptr<const Normalizer> sentencepiece_normalizer(SentencePieceRules rules,
                                                           std::vector<std::string> user_defined,
                                                           const std::string& where);
std::unique_ptr<const Normalizer> read_sentencepiece_normalizer(const JsonView& json);

struct SentencePieceDecoding {
  bool add_dummy_prefix = true, remove_extra_whitespaces = true;  ///< spaces at the start are taken off
  std::string unk_piece, unk_surface;
  std::vector<std::string> control;  ///< pieces without text
  bool bytes = false;                ///< <0x41> is a byte
};

/// SentencePiece's way back.
std::unique_ptr<const Decoder> sentencepiece_decoder(SentencePieceDecoding decoding);
std::unique_ptr<const Decoder> read_sentencepiece_decoder(const JsonView& json);

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/formats/sentencepiece_file.h"

#include <fmt/core.h>

#include <cmath>

#include "bora/base/error.h"
#include "bora/tokenize/formats/wire_reader.h"
#include "bora/tokenize/models/vocabulary.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// An int32 of protocol buffers: negative numbers are sign-extended.
std::int32_t int32_of(const WireReader& reader) { return static_cast<std::int32_t>(reader.varint()); }

SentencePieces::Piece read_piece(std::string_view bytes, const std::string& where) {
  SentencePieces::Piece piece;
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == 1) piece.text = reader.bytes();
    if (reader.number() == 2) piece.score = reader.float32();
    if (reader.number() == 3) {
      if (reader.varint() < 1 || reader.varint() > 6) {
        fail(ErrorKind::Corruption, "{}: kind {} is none of a piece's (1 to 6)", where, reader.varint());
      }
      piece.kind = static_cast<SentencePieces::Kind>(reader.varint());
    }
  }
  if (piece.text.empty() || piece.text.find('\0') != std::string::npos || !is_valid_utf8(piece.text)) {
    fail(ErrorKind::Corruption, "{}: the text of {} bytes is empty, no UTF-8, or has a zero byte", where,
         piece.text.size());
  }
  if (!std::isfinite(piece.score)) fail(ErrorKind::Corruption, "{}: the score is {}", where, piece.score);
  return piece;
}

void read_trainer(std::string_view bytes, const std::string& where, SentencePieceFile& file) {
  WireReader reader(bytes, where);
  while (reader.next()) {
    switch (reader.number()) {
      case 3:
        if (reader.varint() < 1 || reader.varint() > 4) {
          fail(ErrorKind::Unsupported, "{}: model_type {} is not supported; Bora reads 1 to 4", where,
               reader.varint());
        }
        file.pieces.algorithm = static_cast<SentencePieces::Algorithm>(reader.varint());
        break;
      case 24:
        file.rules.whitespace_is_suffix = reader.boolean();
        break;
      case 35:
        file.pieces.byte_fallback = reader.boolean();
        break;
      case 41:
        file.bos = int32_of(reader);
        break;
      case 42:
        file.eos = int32_of(reader);
        break;
      case 43:
        file.pad = int32_of(reader);
        break;
      case 44:
        file.unk_surface = reader.bytes();
        break;
      default:
        break;
    }
  }
  if (!is_valid_utf8(file.unk_surface)) fail(ErrorKind::Corruption, "{}: unk_surface is not UTF-8", where);
}

void read_rules(std::string_view bytes, const std::string& where, SentencePieceRules& rules) {
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == 2) rules.charsmap = reader.bytes();
    if (reader.number() == 3) rules.add_dummy_prefix = reader.boolean();
    if (reader.number() == 4) rules.remove_extra_whitespaces = reader.boolean();
    if (reader.number() == 5) rules.escape_whitespaces = reader.boolean();
  }
}

}  // namespace

SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name) {
  SentencePieceFile file;
  file.bos = 1;
  file.eos = 2;
  SentencePieceRules denormalizer;
  WireReader reader(bytes, name);
  while (reader.next()) {
    auto& pieces = file.pieces.pieces;
    if (reader.number() == 1) {
      pieces.push_back(read_piece(reader.bytes(), fmt::format("{}: pieces[{}]", name, pieces.size())));
    }
    if (reader.number() == 2) read_trainer(reader.bytes(), name + ": trainer_spec", file);
    if (reader.number() == 3) read_rules(reader.bytes(), name + ": normalizer_spec", file.rules);
    if (reader.number() == 5) read_rules(reader.bytes(), name + ": denormalizer_spec", denormalizer);
    if (static_cast<std::int64_t>(pieces.size()) > Vocabulary::kMaxIds) {
      fail(ErrorKind::Corruption, "{}: more than {} pieces", name, Vocabulary::kMaxIds);
    }
  }
  if (!denormalizer.charsmap.empty()) {
    fail(ErrorKind::Unsupported, "{}: denormalizer_spec: a charsmap for decoded texts is not supported",
         name);
  }
  const auto count = static_cast<std::int32_t>(file.pieces.pieces.size());
  for (std::int32_t* id : {&file.bos, &file.eos, &file.pad}) {
    if (*id < 0 || *id >= count) *id = -1;
  }
  return file;
}

bool is_sentencepiece_file(std::string_view bytes) {
  // Field 1 (a piece) of less than 128 bytes, and in it field 1 (its text).
  return bytes.size() > 4 && bytes[0] == '\n' && static_cast<unsigned char>(bytes[1]) < 0x80 &&
         bytes[2] == '\n';
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/tokenize/formats/sentencepiece_file.h"

namespace bora::tokenize {

inline std::string little_endian(std::uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
  return out;
}

/// A charsmap (see Charsmap), every node of whose trie has 256 units to itself.
inline std::string make_charsmap(const std::vector<std::pair<std::string, std::string>>& rules) {
  std::map<std::string, std::uint32_t> nodes{{"", 1}};  // block numbers; unit 0 is the root's
  for (const auto& rule : rules) {
    for (std::size_t n = 1; n <= rule.first.size(); ++n) {
      nodes.try_emplace(rule.first.substr(0, n), static_cast<std::uint32_t>(nodes.size() + 1));
    }
  }
  std::vector<std::uint32_t> units(256 * (nodes.size() + 1));
  units[0] = 256u << 10;
  for (const auto& [text, block] : nodes) {
    if (text.empty()) continue;
    const auto label = static_cast<unsigned char>(text.back());
    const std::uint32_t at = (nodes[text.substr(0, text.size() - 1)] * 256) ^ label;
    units[at] = ((at ^ (block * 256)) << 10) | label;
  }
  std::string texts;
  for (const auto& [text, by] : rules) {
    const std::uint32_t block = nodes[text];
    const auto label = static_cast<unsigned char>(text.back());
    units[(nodes[text.substr(0, text.size() - 1)] * 256) ^ label] |= 0x100;
    units[block * 256] = 0x80000000u | static_cast<std::uint32_t>(texts.size());
    texts += by;
    texts += '\0';
  }
  std::string out = little_endian(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) out += little_endian(unit);
  return out + texts;
}

// Fields of protocol buffers.
inline std::string wire_varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out + static_cast<char>(value);
}
inline std::string wire(std::uint32_t number, std::uint64_t value) {
  return wire_varint(number << 3) + wire_varint(value);
}
inline std::string wire(std::uint32_t number, std::string_view bytes) {
  return wire_varint((number << 3) | 2) + wire_varint(bytes.size()) + std::string(bytes);
}
inline std::string wire_float(std::uint32_t number, float value) {
  return wire_varint((number << 3) | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

inline std::string wire_piece(std::string_view text, float score, SentencePieces::Kind kind) {
  return wire(1, wire(1, text) + wire_float(2, score) + wire(3, static_cast<std::uint64_t>(kind)));
}

/// A ".model" file.
inline std::string make_model(const SentencePieceFile& file) {
  std::string out;
  for (const auto& piece : file.pieces.pieces) out += wire_piece(piece.text, piece.score, piece.kind);
  const auto int32 = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(v)); };
  out += wire(2, wire(3, static_cast<std::uint64_t>(file.pieces.algorithm)) +
                     wire(24, std::uint64_t{file.rules.whitespace_is_suffix}) +
                     wire(35, std::uint64_t{file.pieces.byte_fallback}) + wire(41, int32(file.bos)) +
                     wire(42, int32(file.eos)) + wire(43, int32(file.pad)) + wire(44, file.unk_surface));
  out += wire(3, wire(1, "test") + wire(2, file.rules.charsmap) +
                     wire(3, std::uint64_t{file.rules.add_dummy_prefix}) +
                     wire(4, std::uint64_t{file.rules.remove_extra_whitespaces}) +
                     wire(5, std::uint64_t{file.rules.escape_whitespaces}));
  return out;
}

}  // namespace bora::tokenize

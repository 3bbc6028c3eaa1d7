// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/jinja/guard.h"

namespace bora::jinja {

struct Token {
  enum class Kind : std::uint8_t {
    Data,        ///< `text` to be written
    PrintBegin,  ///< {{
    PrintEnd,
    BlockBegin,  ///< {%
    BlockEnd,
    Name,
    String,  ///< `text` with escapes resolved
    Integer,
    Float,
    Operator,  ///< `text` is its spelling
    End,
  };
  Kind kind;
  Position at;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
};

/// The tokens of a template, comments left out, white space around tags as trim_blocks and lstrip_blocks and
/// the signs - and + have it. Line ends become \n; one at the very end is dropped. The last token is End.
/// Errors: Corruption.
std::vector<Token> lex(Guard& guard, std::string_view source);

/// What an error calls the token.
std::string describe(const Token& token);

}  // namespace bora::jinja

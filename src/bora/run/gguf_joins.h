// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the merges of a BPE and llama.cpp's scores have in common.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::run {

/// Texts longer than this are no tokens of anybody.
inline constexpr std::size_t kLongestGgufToken = 1024;

/// When two neighbours are joined: the lowest comes first, the leftmost of equals; nothing: never. Both lie next to
/// each other in memory.
using JoinOrder = std::function<std::optional<double>(std::string_view left, std::string_view right)>;

/// What the characters of a text become.
struct Joined {
  std::vector<std::string_view> pieces;  ///< views of the text
  std::string_view left, right;          ///< what was joined last, where one piece is left of several
  double order = 0;                      ///< of that
};

/// Joins the characters of `text` (UTF-8) until no two neighbours can be.
///
/// Where two pieces stand side by side in any text, those joins within them were made in the order in which they are
/// made when the two are all of the text: one outside never comes between. So a token's text alone shows the only two
/// pieces that ever become that token, and two rules that agree on the texts of all tokens agree on every text.
Joined join_characters(std::string_view text, const JoinOrder& order);

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/locale_text.h"

#include <algorithm>
#include <array>

#include "bora/base/env.h"
#include "bora/base/text.h"

namespace bora {
namespace {

// Bytes of the first character; of what is none, one.
std::size_t length_of_first(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  return length > text.size() || invalid_utf8(text.substr(0, length)) ? 1 : length;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kPictures{{{"━", "="},
                                                                                   {"╸", ">"},
                                                                                   {"·", "-"},
                                                                                   {"×", "x"},
                                                                                   {"…", "~"},
                                                                                   {"⏎", "\\n"},
                                                                                   {"→", "->"},
                                                                                   {"─", "-"},
                                                                                   {"│", "|"},
                                                                                   {"┼", "+"},
                                                                                   {"▏", "|"},
                                                                                   {"▕", "|"},
                                                                                   {"█", "#"},
                                                                                   {"²", "^2"},
                                                                                   {"▁", "_"}}};

}  // namespace

std::string ascii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto character = text.substr(0, length_of_first(text));
    text.remove_prefix(character.size());
    const auto* found = std::ranges::find(kPictures, character, [](const auto& p) { return p.first; });
    if (found != kPictures.end())
      out += found->second;
    else
      out += static_cast<unsigned char>(character[0]) < 0x80 ? character : "?";
  }
  return out;
}

std::string in_locale(std::string_view text) { return env::ascii_locale() ? ascii(text) : std::string(text); }

}  // namespace bora

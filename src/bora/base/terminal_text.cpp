// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/terminal_text.h"

#include <fmt/core.h>
#include <unistd.h>

namespace bora {

std::string without_controls(std::string_view text) {
  constexpr unsigned char kSecondSet = 0xC2;  // U+0080 to U+009F are this byte and one of 80 to 9F
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool second = byte == kSecondSet && next >= 0x80 && next < 0xA0;
    if (second)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += text[i];
  }
  return out;
}

std::string for_standard_output(std::string_view text) {
  return ::isatty(STDOUT_FILENO) != 0 ? without_controls(text) : std::string(text);
}

}  // namespace bora

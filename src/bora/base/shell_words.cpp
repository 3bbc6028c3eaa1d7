// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/shell_words.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "bora/base/env.h"
#include "bora/base/file.h"

namespace bora {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kMarks = "_-./=,:+@%";
  const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return word || kMarks.find(c) != kMarks.npos || (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  const auto equals = word.find('=');
  const bool is_option =
      word.starts_with("--") && equals != word.npos &&
      std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_plain);
  if (!is_option) return quoted(word);
  return std::string(word.substr(0, equals + 1)) + quoted(word.substr(equals + 1));
}

std::string program_word() {
  const auto checkout = env::checkout();
  if (!checkout) return "bora";
  std::array<char, 4096> here{};
  if (::getcwd(here.data(), here.size()) != nullptr && *checkout == here.data()) return "./bora";
  return shell_word(path_join(*checkout, "bora"));
}

}  // namespace bora

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

std::string working_folder() {
  std::array<char, 4096> here{};
  return ::getcwd(here.data(), here.size()) == nullptr ? std::string() : here.data();
}

std::string program_word() { return program_word(working_folder()); }

std::string program_word(const std::string& folder) {
  const auto checkout = env::checkout();
  if (!checkout) return "bora";
  return *checkout == folder ? "./bora" : shell_word(path_join(*checkout, "bora"));
}

std::string with_flag(const std::string& words, const std::string& flag, const std::string& value) {
  const auto start = flag + "=";
  const auto at = (" " + words).find(" " + start);
  if (at == words.npos) return words + " " + start + value;
  const auto end = std::min(words.find(' ', at), words.size());
  return words.substr(0, at) + start + value + words.substr(end);
}

}  // namespace bora

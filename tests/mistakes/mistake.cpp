// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "mistake.h"

#include <fmt/core.h>

#include <stdexcept>

#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::mistakes {
namespace {

std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ') {
      if (in_word) out.push_back(std::exchange(word, ""));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) out.push_back(word);
  return out;
}

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& part : split(text, '|'))
    if (!trim(part).empty()) out.emplace_back(trim(part));
  return out;
}

// What stands behind `key` at the beginning of a line.
bool is_key(std::string_view line, std::string_view key, std::string_view& rest) {
  if (!line.starts_with(key)) return false;
  rest = trim(line.substr(key.size()));
  return true;
}

Group read_group(const std::string& path) {
  Group out{.path = path, .title = {}, .mistakes = {}};
  Mistake next;
  int number = 0;
  const auto wrong = [&](std::string_view what) {
    throw std::runtime_error(fmt::format("{}:{}: {}", path, number, what));
  };
  for (const auto& line : split(read_text(path_join(BORA_SOURCE_DIR, path)), '\n')) {
    ++number;
    std::string_view rest;
    if (line.starts_with('#')) {
      if (out.title.empty() && line.starts_with("# ") && !line.starts_with("# SPDX"))
        out.title = line.substr(2);
    } else if (line.empty()) {
      if (next.words.empty() && next.given.empty() && next.files.empty()) continue;
      if (next.words.empty() || next.names.empty() || next.values.empty() || next.next.empty())
        wrong("a mistake ends here that lacks its command, names, values or next");
      out.mistakes.push_back(std::exchange(next, {}));
    } else if (is_key(line, "| ", rest)) {
      if (next.files.empty()) wrong("content of no file");
      next.files.back().second += line.substr(2) + "\n";
    } else if (is_key(line, "$ ", rest)) {
      if (!next.words.empty()) wrong("a second command");
      next.line = number;
      next.command = rest;
      next.words = shell_words(rest);
    } else if (is_key(line, "given:", rest)) {
      next.given.emplace_back(rest);
    } else if (is_key(line, "file:", rest)) {
      next.files.emplace_back(rest, "");
    } else if (is_key(line, "names:", rest)) {
      next.names = listed(rest);
    } else if (is_key(line, "values:", rest)) {
      next.values = listed(rest);
    } else if (is_key(line, "next:", rest)) {
      next.next = listed(rest);
    } else {
      wrong("no line of a mistake: " + line);
    }
  }
  if (!next.words.empty()) wrong("the last mistake needs an empty line behind it");
  return out;
}

// As a table of Markdown takes it.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.replace(at, 1, "\\|");
  return text.find('`') == text.npos ? "`" + text + "`" : "`` " + text + " ``";
}

std::string cells(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + cell(word);
  return out;
}

}  // namespace

std::vector<Group> all_groups() {
  const std::string folder = "tests/mistakes";
  std::vector<Group> out;
  for (const auto& name : files().list(path_join(BORA_SOURCE_DIR, folder)))
    if (name.ends_with(".txt") && name != "CMakeLists.txt")
      out.push_back(read_group(path_join(folder, name)));
  return out;
}

std::string page_of(const std::vector<Group>& groups) {
  std::string table, lists;
  std::size_t all = 0;
  for (const auto& group : groups) {
    const auto n = group.mistakes.size();
    all += n;
    table += fmt::format("| {0} | {1} | {1} | {1} | {1} |\n", group.title, n);
    lists += fmt::format(
        "\n## {}\n\n| typed | the message names | it shows | it says what to do |\n|---|---|---|---|\n",
        group.title);
    for (const auto& mistake : group.mistakes)
      lists += fmt::format("| {}{} | {} | {} | {} |\n", cell("bora " + mistake.command),
                           mistake.given.empty() ? "" : ", after " + cells(mistake.given),
                           cells(mistake.names), cells(mistake.values), cells(mistake.next));
  }
  return fmt::format(
      "# What the program says to mistakes\n\n"
      "What people get wrong when they are new here: misspelt, missing, impossible, damaged, interrupted, and twice at\n"
      "once. Each is tried by `./test -R mistakes`, which holds the message to the words below, the exit code to be that\n"
      "of an error, and the folder to be as it was before. The tables are `tests/mistakes/*.txt`, where the files of each\n"
      "mistake stand too; this page is made from them by `scripts/mistakes_page.sh`.\n\n"
      "| group | mistakes | name the file, key or flag | show what was found and what is possible | say what to do next |\n"
      "|---|---|---|---|---|\n{}| all | {} | {} | {} | {} |\n{}",
      table, all, all, all, all, lists);
}

}  // namespace bora::mistakes

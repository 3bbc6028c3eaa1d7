// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The documentation against the checkout: links lead somewhere, paths exist, excerpts are what the files say,
// and every page is found from the README.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "laws.h"

namespace bora::law {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Checkout = std::map<std::string, std::vector<std::string>>;

const Checkout& checkout() {
  static const Checkout files = [] {
    Checkout out;
    for (auto& file : source_files(BORA_SOURCE_DIR)) out[file.path] = file.lines;
    return out;
  }();
  return files;
}

bool exists(const std::string& path) { return fs::exists(fs::path(BORA_SOURCE_DIR) / path); }

bool is_fence(const std::string& line) { return line.starts_with("```"); }

// The lines outside of code blocks; those inside are empty.
std::vector<std::string> prose(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  bool inside = false;
  for (const auto& line : lines) {
    bool fence = is_fence(line);
    out.push_back(inside || fence ? "" : line);
    if (fence) inside = !inside;
  }
  return out;
}

// As GitHub makes it of a heading: lower case, without punctuation, "-" for a space.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (char c : heading.substr(heading.find_first_not_of("# "))) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ') out += '-';
  }
  return out;
}

bool has_anchor(const Checkout& files, const std::string& page, const std::string& anchor) {
  auto found = files.find(page);
  if (found == files.end()) return false;
  for (const auto& line : prose(found->second))
    if (line.starts_with("#") && anchor_of(line) == anchor) return true;
  return false;
}

struct Link {
  std::string where, page, anchor;  ///< "README.md:3", "docs/x.md", "a-heading"
};

std::vector<Link> links_of(const std::string& path, const std::vector<std::string>& lines) {
  static const std::regex code("`[^`]*`"), link(R"(\]\(([^)\s]+)\))");
  std::vector<Link> out;
  auto text = prose(lines);
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto line = std::regex_replace(text[i], code, "");
    for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
      auto target = (*it)[1].str();
      if (target.starts_with("http://") || target.starts_with("https://")) continue;
      auto hash = target.find('#');
      auto file = target.substr(0, hash);
      auto page =
          file.empty() ? path : (fs::path(path).parent_path() / file).lexically_normal().generic_string();
      out.push_back({path + ":" + std::to_string(i + 1), page,
                     hash == std::string::npos ? "" : target.substr(hash + 1)});
    }
  }
  return out;
}

Problems broken_links(const Checkout& files, const std::string& path) {
  Problems out;
  for (const auto& l : links_of(path, files.at(path))) {
    if (!files.contains(l.page) && !exists(l.page))
      out.push_back(l.where + ": " + l.page + " does not exist");
    else if (!l.anchor.empty() && !has_anchor(files, l.page, l.anchor))
      out.push_back(l.where + ": " + l.page + " has no heading #" + l.anchor);
  }
  return out;
}

// `src/bora/nn/linear.h` in a text. Patterns (*, <name>) and stand-ins (NAME.h) are
// not looked for; a program counts by its source.
Problems missing_paths(const std::string& path, const std::vector<std::string>& lines) {
  static const std::regex pattern(
      R"(`((?:\./)?(?:apps|bench|cmake|docs|examples|plugins|recipes|scripts|src|tests)/[A-Za-z0-9_./-]*)[` :])");
  static const std::regex stand_in("NAME|KIND");
  Problems out;
  auto text = prose(lines);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::sregex_iterator it(text[i].begin(), text[i].end(), pattern), end; it != end; ++it) {
      auto named = (*it)[1].str();
      if (std::regex_search(named, stand_in)) continue;
      if (!exists(named) && !exists(named + ".cpp"))
        out.push_back(path + ":" + std::to_string(i + 1) + ": " + named + " does not exist");
    }
  }
  return out;
}

std::string trimmed(const std::string& line) {
  auto begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

bool holds(const std::vector<std::string>& file, const std::vector<std::string>& part) {
  for (std::size_t at = 0; at + part.size() <= file.size(); ++at) {
    std::size_t n = 0;
    while (n < part.size() && trimmed(file[at + n]) == trimmed(part[n])) ++n;
    if (n == part.size()) return true;
  }
  return false;
}

// A paragraph that begins with "From [file](path)" and a block of C++ after it: consecutive lines of that
// file.
Problems stale_excerpts(const Checkout& files, const std::string& path) {
  const auto& lines = files.at(path);
  Problems out;
  std::string source;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("From [")) {
      auto links = links_of(path, {lines[i]});
      source = links.empty() ? "" : links.front().page;
    } else if (is_fence(lines[i])) {
      std::vector<std::string> block;
      auto first = i;
      while (++i < lines.size() && !is_fence(lines[i])) block.push_back(lines[i]);
      auto file = files.find(source);
      if (lines[first] == "```cpp" && file != files.end() && !holds(file->second, block))
        out.push_back(path + ":" + std::to_string(first + 1) + ": these are not lines of " + source);
      source.clear();
    }
  }
  return out;
}

std::string listed(const Problems& problems) {
  std::string text;
  for (const auto& p : problems) text += "  " + p + "\n";
  return text;
}

Problems everywhere(const std::function<Problems(const std::string&)>& check) {
  Problems out;
  for (const auto& [path, lines] : checkout()) {
    if (!path.ends_with(".md")) continue;
    for (auto& p : check(path)) out.push_back(std::move(p));
  }
  return out;
}

TEST(Pages, LinksLeadSomewhere) {
  EXPECT_EQ(listed(everywhere([](auto& path) { return broken_links(checkout(), path); })), "");
}

TEST(Pages, PathsExist) {
  EXPECT_EQ(listed(everywhere([](auto& path) { return missing_paths(path, checkout().at(path)); })), "");
}

TEST(Pages, ExcerptsAreWhatTheFilesSay) {
  EXPECT_EQ(listed(everywhere([](auto& path) { return stale_excerpts(checkout(), path); })), "");
}

TEST(Pages, EveryPageIsFoundFromTheReadme) {
  std::set<std::string> found = {"README.md"};
  std::vector<std::string> open = {"README.md"};
  while (!open.empty()) {
    auto path = open.back();
    open.pop_back();
    if (!path.ends_with(".md")) continue;
    for (const auto& l : links_of(path, checkout().at(path)))
      if (checkout().contains(l.page) && found.insert(l.page).second) open.push_back(l.page);
  }
  Problems lost;
  for (const auto& [path, lines] : checkout())
    if (path.starts_with("docs/") && path.ends_with(".md") && !found.contains(path)) lost.push_back(path);
  EXPECT_EQ(listed(lost), "") << "no link leads there";
}

// Lines that are neither empty nor a comment alone.
std::size_t lines_of_code(const std::vector<std::string>& lines) {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    const auto first = line.find_first_not_of(' ');
    return first != std::string::npos && line.compare(first, 2, "//") != 0;
  }));
}

TEST(Pages, TheTutorialsTransformerStaysShort) {
  constexpr std::size_t kMost = 85;
  const auto lines = lines_of_code(checkout().at("docs/snippets/transformer.cpp"));
  EXPECT_LE(lines, kMost);
  EXPECT_THAT(testing::PrintToString(checkout().at("docs/tutorial/transformer.md")),
              HasSubstr(": " + std::to_string(lines) + " lines of code"))
      << "the page says how many they are";
  EXPECT_EQ(lines_of_code({"// what it does", "", "int main() {", "  // nothing", "}  // end"}), 2u);
}

// The page of commands is written by the program; its headings that are one small word are the commands.
TEST(Pages, TheReadmeListsEveryCommand) {
  std::set<std::string> commands;
  for (const auto& line : prose(checkout().at("docs/reference/commands.md"))) {
    const auto name = line.starts_with("## ") ? line.substr(3) : "";
    if (!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos)
      commands.insert(name);
  }
  std::set<std::string> listed_there;
  for (const auto& line : checkout().at("README.md")) {
    if (!line.starts_with("| Commands | `")) continue;
    std::istringstream words(line.substr(14, line.find('`', 14) - 14));
    for (std::string word; words >> word;) listed_there.insert(word);
  }
  EXPECT_GT(commands.size(), 20u);
  EXPECT_EQ(listed_there, commands)
      << "the row Commands of README.md, and the headings of docs/reference/commands.md";
}

TEST(Pages, WhatTheChecksFind) {
  Checkout files = {
      {"docs/a.md",
       {"# One thing: more", "[b](b.md#two) `[x](y)` [c](#one-thing-more)", "```", "[d](d)", "```"}},
      {"docs/b.md", {"## Two", "see [it](nowhere.h), `src/bora/nowhere.h`"}},
      {"docs/c.md", {"From [x.h](../x.h):", "", "```cpp", "  int a;", "int b;", "```"}},
      {"x.h", {"int c;", "int a;", "int b;"}}};
  EXPECT_THAT(broken_links(files, "docs/a.md"), IsEmpty());
  EXPECT_THAT(broken_links(files, "docs/b.md"), ElementsAre("docs/b.md:2: docs/nowhere.h does not exist"));
  files["docs/b.md"][0] = "## Three";
  EXPECT_THAT(broken_links(files, "docs/a.md"), ElementsAre("docs/a.md:2: docs/b.md has no heading #two"));
  EXPECT_THAT(missing_paths("docs/b.md", files["docs/b.md"]),
              ElementsAre("docs/b.md:2: src/bora/nowhere.h does not exist"));
  EXPECT_THAT(stale_excerpts(files, "docs/c.md"), IsEmpty());
  files["x.h"].insert(files["x.h"].begin() + 2, "int between;");
  EXPECT_THAT(stale_excerpts(files, "docs/c.md"),
              ElementsAre(HasSubstr("docs/c.md:3: these are not lines of x.h")));
}

}  // namespace
}  // namespace bora::law

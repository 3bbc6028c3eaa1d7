// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The page of what is proven against the tests that are there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "laws.h"

namespace bora::law {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kPage = "docs/reference/reliability.md";

std::vector<std::string> all_of(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    out.push_back((*at)[1].str() + ((*at).size() > 2 ? "." + (*at)[2].str() : ""));
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

// "Suite.Name" of every test of some lines.
std::vector<std::string> tests_of(const std::vector<std::string>& lines) {
  static const std::regex pattern(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\))");
  return all_of(joined(lines), pattern);
}

std::vector<std::string> named_by(const std::vector<std::string>& page) {
  static const std::regex pattern("`([A-Z][A-Za-z0-9]*)\\.([A-Z][A-Za-z0-9]*)`");
  return all_of(joined(page), pattern);
}

// Numbers of rows that name no test, and no program of the tests.
std::vector<std::string> rows_without_proof(const std::vector<std::string>& page) {
  static const std::regex number(R"(^\| ([0-9]+) \|)"), program("`((?:tests|scripts)/[a-z_./]+)");
  std::vector<std::string> out;
  std::smatch row;
  for (const auto& line : page)
    if (std::regex_search(line, row, number) && named_by({line}).empty() && !std::regex_search(line, program))
      out.push_back(row[1]);
  return out;
}

std::vector<std::string> rows_of(const std::vector<std::string>& page) {
  static const std::regex pattern(R"(\n\| ([0-9]+) \|)");
  return all_of("\n" + joined(page), pattern);
}

TEST(Reliability, EveryTestThatThePageNamesExists) {
  std::set<std::string> there;
  std::vector<std::string> page;
  for (const auto& file : source_files(BORA_SOURCE_DIR)) {
    if (file.path == kPage) page = file.lines;
    if (!file.path.ends_with("_test.cpp")) continue;
    for (auto& test : tests_of(file.lines)) there.insert(std::move(test));
  }
  const auto named = named_by(page);
  EXPECT_GT(named.size(), 70U);
  EXPECT_GT(there.size(), 1500U);
  std::vector<std::string> missing;
  for (const auto& test : named)
    if (!there.contains(test)) missing.push_back(test);
  EXPECT_THAT(missing, IsEmpty()) << kPage << " names tests that are not there";
}

// All that must hold, but for servers.
TEST(Reliability, EveryNumberHasItsRow) {
  std::vector<std::string> expected;
  for (int n = 1; n <= 33; ++n)
    if (n < 27 || n > 30) expected.push_back(std::to_string(n));
  std::vector<std::string> rows;
  for (const auto& file : source_files(BORA_SOURCE_DIR))
    if (file.path == kPage) {
      rows = rows_of(file.lines);
      EXPECT_THAT(rows_without_proof(file.lines), IsEmpty());
    }
  EXPECT_EQ(rows, expected);
}

TEST(Reliability, WhatTheChecksFind) {
  EXPECT_THAT(tests_of({"TEST(A, B) {", "TEST_F(C,", "       D) {", "// TEST", "TEST_P(E, F) {"}),
              ElementsAre("A.B", "C.D", "E.F"));
  EXPECT_THAT(named_by({"| 1 | `A.B`, `x.y` and `C.D` | `src/a.cpp` |"}), ElementsAre("A.B", "C.D"));
  EXPECT_THAT(rows_without_proof({"| 1 | a |", "| 2 | `A.B` |", "| 3 | `tests/a.sh` |", "text"}),
              ElementsAre("1"));
  EXPECT_THAT(rows_of({"| # |", "| 1 | a |", "| 23 | b |"}), ElementsAre("1", "23"));
}

}  // namespace
}  // namespace bora::law

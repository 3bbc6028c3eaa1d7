// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/pretokenize/scanner.h"

#include <array>

namespace bora::tokenize {

namespace {

constexpr int kAnyDigits = std::numeric_limits<int>::max();

struct Known {
  std::string_view regex;
  ScanRule rule;
};

// Spellings found in published files; possessive quantifiers and \s*[\r\n] match the same as the plain ones.
constexpr std::array<Known, 9> kKnown = {{
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Gpt2, kAnyDigits}},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Gpt2, kAnyDigits}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)"
     R"(\p{N}{1,3})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Cl100k, 3}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)"
     R"(\p{N})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Cl100k, 1}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)"
     R"(\p{N}+)"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Cl100k, kAnyDigits}},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+)"
     R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     {ScanRule::Kind::Cl100k, 3}},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::O200k, 3}},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::O200k, 3, false}},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {ScanRule::Kind::O200k, 1, false}},
}};

}  // namespace

const char* const kGpt2Pattern = kKnown[0].regex.data();

std::optional<ScanRule> scan_rule_of(std::string_view regex) {
  for (const Known& known : kKnown) {
    if (known.regex == regex) return known.rule;
  }
  return std::nullopt;
}

std::vector<std::string_view> scan_patterns() {
  std::vector<std::string_view> patterns;
  for (const Known& known : kKnown) patterns.push_back(known.regex);
  return patterns;
}

void scan(const ScanRule& rule, std::string_view text, std::vector<ByteRange>& pieces) {
  scan_each(rule, text, [&](const char* begin, const char* end) {
    pieces.push_back(
        {static_cast<std::size_t>(begin - text.data()), static_cast<std::size_t>(end - text.data())});
  });
}

}  // namespace bora::tokenize

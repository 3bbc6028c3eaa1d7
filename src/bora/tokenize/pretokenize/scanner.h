// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "bora/tokenize/pretokenize/scan_windows.h"
#include "bora/unicode/pattern.h"

namespace bora::tokenize {

/// The patterns of nearly all byte-level tokenizers, by hand: many times faster than a regex. All cover every
/// character of a text.
///
/// Gpt2:    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// Cl100k:  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,k}| ?[^\s\p{L}\p{N}]+[\r\n]*|
///          \s*[\r\n]+|\s+(?!\S)|\s+      (Llama 3: k = 3; Qwen: k = 1)
/// O200k:   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|...)?|
///          [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|...)?|
///          \p{N}{1,k}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
///          (o200k: k = 3; Mistral's Tekken: k = 1, no contractions)
struct ScanRule {
  enum class Kind { Gpt2, Cl100k, O200k };
  Kind kind = Kind::Gpt2;
  int max_digits = std::numeric_limits<int>::max();
  bool contractions = true;  ///< (O200k)
  bool operator==(const ScanRule&) const = default;
};

extern const char* const kGpt2Pattern;

/// The rule for a regex (as spelled in the files of GPT-2, Llama 3, Qwen, cl100k, o200k, ...), or nothing.
std::optional<ScanRule> scan_rule_of(std::string_view regex);

/// The regexes that have one.
std::vector<std::string_view> scan_patterns();

/// All pieces of `text` (valid UTF-8); appends.
void scan(const ScanRule& rule, std::string_view text, std::vector<ByteRange>& pieces);

/// Calls use(begin, end) for every piece.
template <class Use>
void scan_each(const ScanRule& rule, std::string_view text, Use&& use) {
  const char* const p = text.data();
  const char* const end = p + text.size();
  const int digits = rule.max_digits;
  if (rule.kind == ScanRule::Kind::Gpt2) {
    const CharClass* classes = char_classes();
    scan_windows(
        p, end, [=](const char* at) { return windows::gpt2(at, end, classes); },
        [=](const char* at) { return scan_gpt2(at, end, classes); }, use);
  } else if (rule.kind == ScanRule::Kind::Cl100k) {
    const CharClass* classes = char_classes();
    scan_windows(
        p, end, [=](const char* at) { return windows::cl100k(at, end, classes, digits); },
        [=](const char* at) { return scan_cl100k(at, end, classes, digits); }, use);
  } else {
    const CaseClass* classes = case_classes();
    const bool contractions = rule.contractions;
    scan_windows(
        p, end, [=](const char* at) { return windows::o200k(at, end, classes, digits, contractions); },
        [=](const char* at) { return scan_o200k(at, end, classes, digits, contractions); }, use);
  }
}

}  // namespace bora::tokenize

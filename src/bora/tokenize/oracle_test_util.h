// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/json_view.h"
#include "bora/base/text.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

/// Random texts, the same in every run.
class RandomTexts {
 public:
  explicit RandomTexts(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}

  std::uint32_t below(std::uint32_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(((state_ >> 33) * n) >> 31);
  }

  /// One character of any script, with those that tokenizers treat specially.
  char32_t character() {
    struct Range {
      char32_t first, last;
    };
    static constexpr Range kRanges[] = {
        {0x21, 0x7E},       {0x61, 0x7A},       {0x61, 0x7A},       {0x41, 0x5A},       {0x30, 0x39},
        {0x20, 0x20},       {0x20, 0x20},       {0x20, 0x20},       {0x9, 0xD},         {0x0, 0x1F},
        {0x7F, 0xA0},       {0xA1, 0x17F},      {0xC0, 0xFF},       {0x300, 0x36F},     {0x300, 0x345},
        {0x370, 0x52F},     {0x591, 0x5F4},     {0x600, 0x6FF},     {0x900, 0x97F},     {0x980, 0xDFF},
        {0xE01, 0xEDF},     {0xF00, 0x109F},    {0x1100, 0x11FF},   {0x1680, 0x18AF},   {0x1AB0, 0x1DFF},
        {0x1E00, 0x1FFF},   {0x2000, 0x206F},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x2070, 0x218B},
        {0x2190, 0x27BF},   {0x2581, 0x2581},   {0x2581, 0x2581},   {0x2E80, 0x303F},   {0x3041, 0x30FF},
        {0x3100, 0x33FF},   {0x4E00, 0x4FFF},   {0xA000, 0xABFF},   {0xAC00, 0xD7FB},   {0xE000, 0xE0FF},
        {0xF900, 0xFAFF},   {0xFB00, 0xFDFF},   {0xFE00, 0xFE0F},   {0xFE20, 0xFFFF},   {0xFF01, 0xFF9F},
        {0xFEFF, 0xFEFF},   {0xFFFD, 0xFFFD},   {0x10000, 0x10FFF}, {0x11000, 0x11FFF}, {0x1D100, 0x1D7FF},
        {0x1E000, 0x1EFFF}, {0x1F1E6, 0x1F1FF}, {0x1F300, 0x1FAFF}, {0x1F3FB, 0x1F3FF}, {0x20000, 0x2FFFF},
        {0xE0000, 0xE01EF}, {0x0, 0xD7FF},      {0xE000, 0x10FFFF}};
    const Range& range = kRanges[below(static_cast<std::uint32_t>(std::size(kRanges)))];
    return range.first + below(range.last - range.first + 1);
  }

  /// Up to `longest` characters of any kind.
  std::string any(std::uint32_t longest) {
    std::string text;
    for (std::uint32_t n = below(longest + 1); n > 0; --n) append_utf8(text, character());
    return text;
  }

  /// Up to `longest` of `atoms`.
  std::string of(const std::vector<std::string>& atoms, std::uint32_t longest) {
    std::string text;
    for (std::uint32_t n = below(longest + 1); n > 0; --n)
      text += atoms[below(static_cast<std::uint32_t>(atoms.size()))];
    return text;
  }

 private:
  std::uint64_t state_;
};

/// Runs scripts with the Python that BORA_TOKENIZERS_PYTHON names, which has `tokenizers` and
/// `sentencepiece`.
class Oracle : public testing::Test {
 protected:
  void SetUp() override {
    const auto python = env::for_tests("BORA_TOKENIZERS_PYTHON");
    if (!python) {
      GTEST_SKIP() << "BORA_TOKENIZERS_PYTHON names no Python with `tokenizers`: nothing to compare with";
    }
    python_ = *python;
    folder_ = testing::TempDir() + "/tokenize_oracle";
    files().make_directories(folder_);
  }

  std::string path(std::string_view name) const { return path_join(folder_, name); }

  /// The lines that the script prints to its output file, given the job file.
  std::vector<std::string> run(std::string_view script, std::string_view jobs) const {
    write_atomically(path("oracle.py"), script);
    write_atomically(path("jobs.jsonl"), jobs);
    const std::string command = fmt::format("'{}' '{}' '{}' '{}' 2> '{}'", python_, path("oracle.py"),
                                            path("jobs.jsonl"), path("answers.jsonl"), path("errors.txt"));
    if (std::system(command.c_str()) != 0) {
      ADD_FAILURE() << command << "\n" << read_text(path("errors.txt"));
      return {};
    }
    std::vector<std::string> lines;
    const std::string all = read_text(path("answers.jsonl"));
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = all.find('\n', begin);
      lines.push_back(all.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  std::string python_, folder_;
};

/// How many texts to compare: BORA_ORACLE_TEXTS, or 10000.
inline int oracle_texts() {
  return static_cast<int>(parse_int(env::for_tests("BORA_ORACLE_TEXTS").value_or("10000")).value());
}

inline std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

inline std::string numbers(const auto& values) {
  std::string out = "[";
  for (const auto v : values)
    out += fmt::format("{}{}", out.size() > 1 ? "," : "", static_cast<std::int64_t>(v));
  return out + "]";
}

}  // namespace bora::tokenize

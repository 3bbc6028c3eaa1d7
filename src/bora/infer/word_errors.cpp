// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/word_errors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace bora::infer {
namespace {

using Words = std::span<const std::string>;

// What Python calls a space, in UTF-8, beyond ASCII.
constexpr std::array<std::string_view, 19> kWideSpaces = {
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

// The bytes of the space that a text begins with; 0: none.
std::size_t space_at(std::string_view text) {
  const char c = text.front();
  if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f')) return 1;
  for (const auto space : kWideSpaces) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

// Bytes of the spaces that a text begins with, and how many they are.
struct Run {
  std::size_t bytes = 0, count = 0;
};
Run spaces_at(std::string_view text) {
  Run run;
  while (run.bytes < text.size()) {
    const auto bytes = space_at(text.substr(run.bytes));
    if (bytes == 0) break;
    run = {run.bytes + bytes, run.count + 1};
  }
  return run;
}

std::size_t shared_start(Words a, Words b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(end - a.begin());
}
std::size_t shared_end(Words a, Words b) {
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return static_cast<std::size_t>(end - a.rbegin());
}

// How the distance changes with one more word of the reference, for each number of words of both.
class Table {
 public:
  Table(Words reference, Words hypothesis) : rows_(reference.size()) {
    std::vector<std::int64_t> before(rows_ + 1), here(rows_ + 1);
    for (std::size_t i = 0; i <= rows_; ++i) before[i] = static_cast<std::int64_t>(i);
    add(before);
    for (std::size_t j = 1; j <= hypothesis.size(); ++j) {
      here[0] = static_cast<std::int64_t>(j);
      for (std::size_t i = 1; i <= rows_; ++i) {
        const auto other = before[i - 1] + (reference[i - 1] == hypothesis[j - 1] ? 0 : 1);
        here[i] = std::min({here[i - 1] + 1, before[i] + 1, other});
      }
      add(here);
      before.swap(here);
    }
  }
  /// D(i, j) - D(i - 1, j), for i from 1 on.
  int change(std::size_t i, std::size_t j) const { return changes_[j * rows_ + i - 1]; }

 private:
  void add(const std::vector<std::int64_t>& distances) {
    for (std::size_t i = 1; i <= rows_; ++i)
      changes_.push_back(static_cast<std::int8_t>(distances[i] - distances[i - 1]));
  }
  std::size_t rows_;
  std::vector<std::int8_t> changes_;
};

// Back from the end.
WordErrors count(Words reference, Words hypothesis) {
  const Table table(reference, hypothesis);
  WordErrors out;
  auto i = reference.size(), j = hypothesis.size();
  while (i > 0 && j > 0) {
    if (table.change(i, j) == 1) {
      ++out.deletions;
      --i;
    } else if (--j > 0 && table.change(i, j) == -1) {
      ++out.insertions;
    } else {
      --i;
      ++(reference[i] == hypothesis[j] ? out.hits : out.substitutions);
    }
  }
  out.deletions += static_cast<std::int64_t>(i);
  out.insertions += static_cast<std::int64_t>(j);
  return out;
}

}  // namespace

double WordErrors::rate() const {
  if (reference_words() == 0) return static_cast<double>(insertions);
  return static_cast<double>(errors()) / static_cast<double>(reference_words());
}

WordErrors& WordErrors::operator+=(const WordErrors& other) {
  hits += other.hits;
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  return *this;
}

// A space alone that is not ' ' separates no words there.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  bool begun = false;
  while (!text.empty()) {
    const auto run = spaces_at(text);
    if (run.bytes == 0) {
      word += text.front();
      text.remove_prefix(1);
      begun = true;
      continue;
    }
    const bool inside = begun && run.bytes < text.size();
    if (inside && run.count == 1 && text.front() != ' ')
      word += text.substr(0, run.bytes);
    else
      end_word();
    text.remove_prefix(run.bytes);
  }
  end_word();
  return words;
}

WordErrors word_errors(std::string_view reference, std::string_view hypothesis) {
  const auto said = words_of(reference), heard = words_of(hypothesis);
  Words a(said), b(heard);
  const auto start = shared_start(a, b);
  a = a.subspan(start);
  b = b.subspan(start);
  const auto end = shared_end(a, b);
  auto out = count(a.first(a.size() - end), b.first(b.size() - end));
  out.hits += static_cast<std::int64_t>(start + end);
  return out;
}

}  // namespace bora::infer

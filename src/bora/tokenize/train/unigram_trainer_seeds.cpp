// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/unigram_trainer_seeds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// All words, one character after the other, each word followed by kEnd. Suffixes are sorted by as many
/// characters as a piece may have: which of them is the larger beyond does not matter.
class SuffixArray {
 public:
  explicit SuffixArray(const std::vector<WordCounts::Word>& words) {
    for (std::size_t w = 0; w < words.size(); ++w) {
      const std::string_view text = words[w].text;
      for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = code_point_at(text.data() + i);
        append(static_cast<std::uint32_t>(c.value) + 1, w);
        i += c.length;
      }
      append(kEnd, w);
    }
    if (characters_.size() > std::numeric_limits<std::uint32_t>::max()) {
      fail(
          ErrorKind::InvalidArgument,
          "train_tokenizer: unigram: the text has {} characters in different words; 2^32 are the most\nhint: "
          "a sample of the text",
          characters_.size());
    }
    for (std::uint32_t i = 0; i < characters_.size(); ++i) {
      if (characters_[i] != kEnd) suffixes_.push_back({key(i), i});
    }
    sort(0, suffixes_.size(), 0);
  }

  std::size_t size() const { return suffixes_.size(); }
  /// The word that the n-th suffix is in.
  std::size_t word(std::size_t n) const { return words_[suffixes_[n].at]; }
  bool begins_word(std::size_t n) const {
    const std::uint32_t at = suffixes_[n].at;
    return at == 0 || characters_[at - 1] == kEnd;
  }
  /// Characters until the end of the word, or the longest piece + 1.
  std::size_t length(std::size_t n) const {
    std::size_t size = 0;
    while (size <= SeedRules::kLongest && characters_[suffixes_[n].at + size] != kEnd) ++size;
    return size;
  }
  /// Characters that suffixes n - 1 and n start with alike, up to the longest piece; n > 0.
  std::size_t common(std::size_t n) const {
    const std::uint32_t* a = characters_.data() + suffixes_[n - 1].at;
    const std::uint32_t* b = characters_.data() + suffixes_[n].at;
    std::size_t size = 0;
    while (size < SeedRules::kLongest && a[size] == b[size] && a[size] != kEnd) ++size;
    return size;
  }
  std::string text(std::size_t n, std::size_t size) const {
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
      append_utf8(out, static_cast<char32_t>(characters_[suffixes_[n].at + i] - 1));
    return out;
  }

 private:
  static constexpr std::uint32_t kEnd = 0;
  static constexpr std::size_t kPerKey = 3;  // characters of 21 bits
  struct Suffix {
    std::uint64_t key;  // the characters by which it is being sorted
    std::uint32_t at;
    bool operator<(const Suffix& other) const { return key != other.key ? key < other.key : at < other.at; }
  };

  void append(std::uint32_t character, std::size_t word) {
    characters_.push_back(character);
    words_.push_back(static_cast<std::uint32_t>(word));
  }

  /// Nothing follows the end of a word: what does in memory must not tell equal suffixes apart.
  std::uint64_t key(std::size_t at) const {
    std::uint64_t out = 0;
    bool ended = false;
    for (std::size_t i = 0; i < kPerKey; ++i) {
      ended = ended || at + i >= characters_.size() || characters_[at + i] == kEnd;
      out = out << 21 | (ended ? 0 : characters_[at + i]);
    }
    return out;
  }

  /// Suffixes [begin, end) agree in their first `depth` characters. Recursion ends at kLongest characters.
  void sort(std::size_t begin, std::size_t end, std::size_t depth) {
    std::sort(suffixes_.begin() + static_cast<std::ptrdiff_t>(begin),
              suffixes_.begin() + static_cast<std::ptrdiff_t>(end));
    depth += kPerKey;
    if (depth >= SeedRules::kLongest) return;
    for (std::size_t i = begin; i < end;) {
      const std::uint64_t same = suffixes_[i].key;
      std::size_t j = i + 1;
      while (j < end && suffixes_[j].key == same) ++j;
      if (j - i > 1 && (same & ((1u << 21) - 1)) != 0) {
        for (std::size_t k = i; k < j; ++k) suffixes_[k].key = key(suffixes_[k].at + depth);
        sort(i, j, depth);
      }
      i = j;
    }
  }

  std::vector<std::uint32_t> characters_;  // code point + 1
  std::vector<std::uint32_t> words_;       // of each character
  std::vector<Suffix> suffixes_;
};

struct Candidate {
  std::uint32_t suffix = 0;
  std::uint32_t size = 0;
  std::int64_t count = 0;
  std::int64_t weight() const { return count * size; }
};

/// The inner nodes of the suffix tree: runs of suffixes that share `size` characters, and no more.
class Candidates {
 public:
  Candidates(const SuffixArray& suffixes, const std::vector<WordCounts::Word>& words,
             std::int64_t min_frequency)
      : suffixes_(suffixes), min_frequency_(std::max<std::int64_t>(min_frequency, 1)) {
    std::int64_t before = 0;  // counts of the suffixes so far
    for (std::size_t n = 0; n < suffixes.size(); ++n) {
      const std::size_t common = n == 0 ? 0 : suffixes.common(n);
      close(common, before);
      const std::size_t next = n + 1 < suffixes.size() ? suffixes.common(n + 1) : 0;
      if (next > (open_.empty() ? 0 : open_.back().size)) {
        open_.push_back({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(next), before});
      }
      const std::int64_t count = words[suffixes.word(n)].count;
      add_word(n, std::max(common, next), count);
      before += count;
    }
    close(0, before);
  }

  std::vector<Candidate> take() { return std::move(found_); }

 private:
  /// Runs of more than `common` characters end here. A run that goes on with fewer began where the last of
  /// them did.
  void close(std::size_t common, std::int64_t before) {
    while (!open_.empty() && open_.back().size > common) {
      Candidate run = open_.back();
      open_.pop_back();
      const std::int64_t start = run.count;
      run.count = before - start;
      add(run);
      if (common > (open_.empty() ? 0 : open_.back().size)) {
        open_.push_back({run.suffix, static_cast<std::uint32_t>(common), start});
      }
    }
  }

  /// A word that is no run because it starts no other word.
  void add_word(std::size_t n, std::size_t common, std::int64_t count) {
    if (!suffixes_.begins_word(n)) return;
    const std::size_t size = suffixes_.length(n);
    if (size > common && size <= SeedRules::kLongest)
      add({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(size), count});
  }

  void add(const Candidate& c) {
    if (c.size > 1 && c.count >= min_frequency_) found_.push_back(c);
  }

  const SuffixArray& suffixes_;
  std::int64_t min_frequency_;
  std::vector<Candidate> open_;  // `count` is that of all suffixes before
  std::vector<Candidate> found_;
};

std::vector<SeedPiece> alphabet_pieces(const std::vector<WordCounts::Word>& words, const Alphabet& alphabet) {
  std::vector<double> counts(alphabet.characters().size(), 0);
  for (const auto& word : words) {
    for (std::size_t i = 0; i < word.text.size();) {
      const CodePoint c = code_point_at(word.text.data() + i);
      counts[static_cast<std::size_t>(alphabet.index(c.value))] += static_cast<double>(word.count);
      i += c.length;
    }
  }
  std::vector<SeedPiece> pieces;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    pieces.push_back({{}, std::max(counts[i], 1.0), true});
    append_utf8(pieces.back().text, alphabet.characters()[i]);
  }
  return pieces;
}

}  // namespace

std::vector<SeedPiece> seed_pieces(const std::vector<WordCounts::Word>& words, const Alphabet& alphabet,
                                   const SeedRules& rules) {
  const SuffixArray suffixes(words);
  std::vector<Candidate> candidates = Candidates(suffixes, words, rules.min_frequency).take();
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.weight() != b.weight()) return a.weight() > b.weight();
    return a.suffix != b.suffix ? a.suffix < b.suffix : a.size < b.size;
  });
  std::vector<SeedPiece> pieces = alphabet_pieces(words, alphabet);
  const std::size_t most = pieces.size() + rules.most;
  for (const Candidate& c : candidates) {
    if (pieces.size() >= most) break;
    std::string text = suffixes.text(c.suffix, c.size);
    if (!rules.excluded.contains(text)) {
      pieces.push_back({std::move(text), static_cast<double>(c.weight()), false});
    }
  }
  return pieces;
}

}  // namespace bora::tokenize

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "bora/tokenize/formats/sentencepiece.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

}  // namespace

/// A stretch of the text; those merged away are empty.
struct SentencePiece::Symbol {
  std::uint32_t begin = 0, end = 0;
  std::int32_t before = -1, after = -1;
  bool frozen = false;  // user-defined: takes part in no merge
};

/// Joins neighbours whose text together is a piece, the one of the highest score first, the leftmost of
/// equals.
class SentencePiece::Merger {
 public:
  Merger(const SentencePiece& model, std::string_view text) : m_(model), text_(text) {}

  /// Appends the symbols that remain, unused pieces taken apart again, as (begin, end).
  void run(std::vector<std::pair<std::uint32_t, std::uint32_t>>& out) {
    split();
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(symbols_.size()); ++i) consider(i - 1, i);
    while (!heap_.empty()) {
      const Pair top = heap_.top();
      heap_.pop();
      Symbol &left = at(top.left), &right = at(top.right);
      if (left.begin == left.end || right.begin == right.end || right.end - left.begin != top.size ||
          left.after != top.right) {
        continue;  // one of the two has changed since
      }
      left.end = right.end;
      right.begin = right.end;
      left.after = right.after;
      if (left.after >= 0) at(left.after).before = top.left;
      consider(left.before, top.left);
      consider(top.left, left.after);
    }
    for (std::int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = at(i).after)
      write(at(i).begin, at(i).end, out);
  }

 private:
  struct Pair {
    float score;
    std::int32_t left, right;
    std::uint32_t size;
    bool operator<(const Pair& o) const { return score != o.score ? score < o.score : left > o.left; }
  };

  Symbol& at(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }
  std::string_view text(std::uint32_t begin, std::uint32_t end) const {
    return text_.substr(begin, end - begin);
  }

  void split() {
    for (std::uint32_t begin = 0; begin < text_.size();) {
      const auto whole = m_.user_defined_.longest(text_.substr(begin));
      const auto size = static_cast<std::uint32_t>(whole.size > 0 ? whole.size : utf8_length(text_[begin]));
      const auto i = static_cast<std::int32_t>(symbols_.size());
      const std::uint32_t end = begin + size;
      symbols_.push_back({begin, end, i - 1, end < text_.size() ? i + 1 : -1, whole.size > 0});
      begin = end;
    }
  }

  void consider(std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0 || at(left).frozen || at(right).frozen) return;
    const std::string_view both = text(at(left).begin, at(right).end);
    const auto match = m_.trie_.longest(both);
    if (match.size != both.size()) return;
    heap_.push({m_.score(match.value), left, right, static_cast<std::uint32_t>(both.size())});
    if (m_.has_unused_ && m_.kind(match.value) == Kind::Unused)
      made_of_[both] = at(left).end - at(left).begin;
  }

  void write(std::uint32_t begin, std::uint32_t end,
             std::vector<std::pair<std::uint32_t, std::uint32_t>>& out) const {
    const auto id = m_.has_unused_ ? m_.id_of(text(begin, end)) : m_.unk_;
    const auto made = m_.kind(id) == Kind::Unused ? made_of_.find(text(begin, end)) : made_of_.end();
    if (made == made_of_.end()) {
      out.emplace_back(begin, end);
    } else {
      write(begin, begin + made->second, out);
      write(begin + made->second, end, out);
    }
  }

  const SentencePiece& m_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> heap_;
  std::map<std::string_view, std::uint32_t> made_of_;  // unused pieces: bytes of the left part
};

void SentencePiece::bpe(std::string_view text, std::vector<Token>& out) const {
  bool after_unknown = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stretches;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (cuts_) {  // before the next ▁ that stands behind something else
      end = begin;
      while (text.substr(end).starts_with(kSpaceMark)) end += kSpaceMark.size();
      end = std::min(text.find(kSpaceMark, end), text.size());
    }
    stretches.clear();
    Merger(*this, text.substr(begin, end - begin)).run(stretches);
    const auto shift = static_cast<std::uint32_t>(begin);
    for (const auto& [a, b] : stretches) {
      append(text, {id_of(text.substr(begin + a, b - a)), shift + a, shift + b}, after_unknown, out);
    }
    begin = end;
  }
}

}  // namespace bora::tokenize

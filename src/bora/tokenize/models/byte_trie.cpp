// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/byte_trie.h"

#include <algorithm>
#include <deque>

namespace bora::tokenize {

/// Places nodes breadth first; free units form a ring through which bases are tried.
class ByteTrieBuilder {
 public:
  explicit ByteTrieBuilder(std::vector<ByteTrie::Unit>& units) : units_(units) {
    grow();
    take(ByteTrie::kRoot);
    units_[ByteTrie::kRoot].parent = ByteTrie::kFree;  // nobody's child
  }

  void build(const std::vector<ByteTrie::Key>& keys) {
    std::deque<Range> todo{{ByteTrie::kRoot, 0, keys.size(), 0}};
    while (!todo.empty()) {
      const Range at = todo.front();
      todo.pop_front();
      place(keys, at, todo);
    }
  }

 private:
  struct Range {  // keys [begin, end) share their first `depth` bytes, which lead to `node`
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  static constexpr int kTries = 64;
  static constexpr std::uint32_t kBlock = 256;

  void place(const std::vector<ByteTrie::Key>& keys, Range at, std::deque<Range>& todo) {
    while (at.begin < at.end && keys[at.begin].first.size() == at.depth) {
      units_[at.node].value = keys[at.begin++].second;  // of keys alike the last stays
    }
    if (at.begin == at.end) return;
    const auto label = [&](std::size_t i) { return static_cast<unsigned char>(keys[i].first[at.depth]); };
    labels_.clear();
    for (std::size_t i = at.begin; i < at.end; ++i) {
      if (labels_.empty() || labels_.back() != label(i)) labels_.push_back(label(i));
    }
    const std::uint32_t base = find_base();
    units_[at.node].base = base;
    std::size_t begin = at.begin;
    for (const unsigned char byte : labels_) {
      std::size_t end = begin;
      while (end < at.end && label(end) == byte) ++end;
      take(base ^ byte);
      units_[base ^ byte].parent = at.node;
      todo.push_back({base ^ byte, begin, end, at.depth + 1});
      begin = end;
    }
  }

  std::uint32_t find_base() {
    std::uint32_t unit = next_[kHead];
    for (int i = 0; i < kTries && unit != kHead; ++i, unit = next_[unit]) {
      const std::uint32_t base = (unit - 1) ^ labels_[0];
      const auto free = [&](unsigned char byte) { return is_free_[base ^ byte]; };
      if (std::all_of(labels_.begin(), labels_.end(), free)) return base;
    }
    const auto base = static_cast<std::uint32_t>(units_.size());
    grow();
    return base;
  }

  // The ring holds unit + 1; 0 is its head.
  static constexpr std::uint32_t kHead = 0;

  void grow() {
    const auto first = static_cast<std::uint32_t>(units_.size());
    units_.resize(first + kBlock);
    is_free_.resize(first + kBlock, true);
    next_.resize(first + kBlock + 1, kHead);
    before_.resize(first + kBlock + 1, kHead);
    for (std::uint32_t link = first + 1; link <= first + kBlock; ++link) {  // at the end of the ring
      const std::uint32_t last = before_[kHead];
      next_[last] = link;
      before_[link] = last;
      next_[link] = kHead;
      before_[kHead] = link;
    }
  }

  void take(std::uint32_t unit) {
    is_free_[unit] = false;
    const std::uint32_t link = unit + 1;
    next_[before_[link]] = next_[link];
    before_[next_[link]] = before_[link];
  }

  std::vector<ByteTrie::Unit>& units_;
  std::vector<bool> is_free_;
  std::vector<std::uint32_t> next_, before_;
  std::vector<unsigned char> labels_;
};

ByteTrie::ByteTrie(std::vector<Key> keys) {
  std::erase_if(keys, [](const Key& key) { return key.first.empty(); });
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.first < b.first; });
  ByteTrieBuilder(units_).build(keys);
}

}  // namespace bora::tokenize

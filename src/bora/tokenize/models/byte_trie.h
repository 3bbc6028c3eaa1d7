// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::tokenize {

/// A fixed set of texts with values, as a double array (Aoe 1989, with exclusive or for plus): one step along
/// a byte is one look into memory.
class ByteTrie {
 public:
  using Key = std::pair<std::string_view, std::int32_t>;  ///< value >= 0

  ByteTrie() : ByteTrie(std::vector<Key>{}) {}
  /// Of two keys alike the later one counts. Empty keys are left out.
  explicit ByteTrie(std::vector<Key> keys);

  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  /// Goes on to the child along `byte`; false if there is none (then `node` is not changed).
  bool step(Node& node, char byte) const {
    const Node next = units_[node].base ^ static_cast<unsigned char>(byte);
    if (units_[next].parent != node) return false;
    node = next;
    return true;
  }
  /// -1: no key ends here.
  std::int32_t value(Node node) const { return units_[node].value; }

  struct Match {
    std::size_t size = 0;
    std::int32_t value = -1;  ///< -1: none
  };
  /// The longest key that `text` starts with.
  Match longest(std::string_view text) const {
    Match best;
    Node node = kRoot;
    for (std::size_t i = 0; i < text.size() && step(node, text[i]); ++i) {
      if (value(node) >= 0) best = {i + 1, value(node)};
    }
    return best;
  }

 private:
  friend class ByteTrieBuilder;
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  struct Unit {
    std::uint32_t base = 0;  // children are at base ^ byte, all within 256 units
    std::uint32_t parent = kFree;
    std::int32_t value = -1;
  };
  std::vector<Unit> units_;
};

}  // namespace bora::tokenize

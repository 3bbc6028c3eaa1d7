// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One launch for many arrays: their addresses are arguments of the kernel.
#pragma once
#include <cstdint>

#include "numbers.h"

namespace bora::cuda {

/// Arrays of one launch. Item has the member n, elements, of which a block has kEach.
template <class Item, std::int64_t kEach>
struct Many {
  static constexpr int most = (4000 - 8) / static_cast<int>(sizeof(Item) + sizeof(std::int64_t));
  int count = 0;
  std::int64_t first[most];  // block of each
  Item items[most];

  /// Which array this block has: the last one that begins no later.
  __device__ int mine() const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (first[middle] <= block())
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  /// The first element of this block's part of array i.
  __device__ std::int64_t begin(int i) const { return (block() - first[i]) * kEach; }
};

/// Starts K{Many, rest...}, which says with `each` how many elements a block has, as often as it takes for all of `count` items
/// that have elements. Of the others nothing comes.
template <class K, class Item, class Make, class... Rest>
void for_many(std::int64_t count, const Make& item, std::int64_t shared, Stream stream, const Rest&... rest) {
  Many<Item, K::each> some;
  std::int64_t blocks = 0;
  const auto go = [&] {
    launch(K{some, rest...}, blocks, shared, stream);
    some.count = 0;
    blocks = 0;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const Item next = item(i);
    if (next.n == 0) continue;
    some.items[some.count] = next;
    some.first[some.count++] = blocks;
    blocks += blocks_for(next.n, K::each);
    if (some.count == Many<Item, K::each>::most) go();
  }
  go();
}

}  // namespace bora::cuda

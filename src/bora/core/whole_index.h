// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Where the elements of a shard stand in the whole array, both in row-major order.
struct WholeIndex {
  /// Element i of what was cut out is element i / run · stride + i % run + first of what it was cut from.
  struct Cut {
    std::int64_t run, stride, first;
  };
  static constexpr int most = 5;  ///< the axes of a mesh, and the workers of different lanes
  int cuts = 0;
  Cut cut[most] = {};  ///< the last one made comes first

  std::int64_t of(std::int64_t i) const {
    for (int c = 0; c < cuts; ++c) i = i / cut[c].run * cut[c].stride + i % cut[c].run + cut[c].first;
    return i;
  }
  /// How many elements from i on, at most n, stand one after the other there too.
  std::int64_t run(std::int64_t i, std::int64_t n) const {
    for (int c = 0; c < cuts; ++c) {
      const std::int64_t left = cut[c].run - i % cut[c].run;
      n = n < left ? n : left;
      i = i / cut[c].run * cut[c].stride + i % cut[c].run + cut[c].first;
    }
    return n;
  }
};

/// Rounding to bf16 by chance: to one of the two neighbours, the more likely the nearer it is, so that the mean is
/// the number itself. Element i of the whole array draws half of word i of the key (Key::words): the same for
/// any shards.
struct Rounding {
  std::uint64_t key, stream;  ///< of the Key
  WholeIndex index = {};
};

}  // namespace bora::kernels

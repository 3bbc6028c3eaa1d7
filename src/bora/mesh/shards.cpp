// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/shards.h"

#include <algorithm>

#include "bora/core/kernels/cpu/reduce.h"

namespace bora::mesh {

static_assert(Shards::kChunk == kernels::reduce_chunk);

Shards::Shards(const std::vector<std::int64_t>& sizes, int workers, std::int64_t chunk) : offsets_{0} {
  for (const auto size : sizes) offsets_.push_back(offsets_.back() + size);
  bounds_.push_back(0);
  for (int w = 1; w < workers; ++w) {
    // The boundary of a chunk that is nearest to an equal share.
    const std::int64_t share = elements() / workers * w + elements() % workers * w / workers;
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), share);
    if (after == offsets_.end()) {
      bounds_.push_back(elements());
      continue;
    }
    const std::int64_t array = *std::prev(after);
    const std::int64_t low = array + (share - array) / chunk * chunk, high = std::min(low + chunk, *after);
    bounds_.push_back(std::max(bounds_.back(), share - low <= high - share ? low : high));
  }
  bounds_.push_back(elements());
}

std::int64_t Shards::largest() const {
  std::int64_t most = 0;
  for (int w = 0; w < workers(); ++w) most = std::max(most, size(w));
  return most;
}

std::vector<Slice> Shards::slices(std::int64_t begin, std::int64_t end) const {
  std::vector<Slice> out;
  auto array =
      static_cast<std::size_t>(std::upper_bound(offsets_.begin(), offsets_.end(), begin) - offsets_.begin()) -
      1;
  for (; begin < end; ++array) {
    const std::int64_t stop = std::min(end, offsets_[array + 1]);
    if (stop > begin) out.push_back({array, begin - offsets_[array], stop - offsets_[array]});
    begin = stop;
  }
  return out;
}

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bora/mesh/communicator.h"
#include "bora/mesh/lane_tree.h"

namespace bora::mesh {

/// What TreeReducer does, by the transport's own all-reduce: the order of additions is the library's, and a
/// worker adds its lanes in a row. Bits depend on the number of workers.
class FastReducer {
 public:
  /// `like`: one array for each that lanes contribute, for their sizes.
  FastReducer(Communicator& communicator, std::span<const core::Array* const> like);

  /// Where each of this worker's lanes adds its arrays (empty: store there); finish() after it.
  std::vector<core::Array>& buffer() { return own_; }
  void finish(std::span<const double> scalars);
  /// The sum over all lanes, of which there are so many, equal on every worker; leaves nothing. An array that
  /// no lane touched stays empty. Collective.
  LaneSum reduce(std::int64_t lanes);

 private:
  Communicator& c_;
  std::vector<std::vector<std::int64_t>> sizes_;  // of each array
  std::vector<core::Array> own_;
  std::vector<double> scalars_;
};

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bora/mesh/lane_order.h"
#include "device.h"
#include "nccl_transport.h"

namespace bora::nccl {

/// Sums lanes in device memory over all workers in the order of bora/mesh/lane_order.h: the bits of
/// mesh::TreeReduce on CPUs, for any number of workers (but for those of NaNs, where it has no bits to
/// promise).
class TreeSum {
 public:
  /// `lanes`: of the whole run, a power of two; `elements` of each. Keeps memory for what comes from others:
  /// about `elements` floats for two workers.
  TreeSum(NcclTransport& transport, std::int64_t lanes, std::int64_t elements);

  /// `own`: this worker's lanes, owned_lanes(rank, size, lanes), in lane order. They are overwritten. `out`:
  /// the sum over all lanes, on every worker; one of `own` or another array. Collective; waits.
  void sum(std::span<float* const> own, float* out);

 private:
  using Merge = mesh::LaneMerge<float*>;
  struct Span {
    std::int64_t begin = 0, end = 0;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  Span shard(int worker) const;
  std::vector<mesh::LaneRange> nodes_of(int worker) const;
  void push(Merge& merge, mesh::LaneRange lanes, float* data, std::size_t n);
  void scatter(const Merge& own);
  float* merge_shard(const Merge& own);
  void gather(float* out);

  NcclTransport& t_;
  std::int64_t lanes_, elements_;
  DeviceArray<float> came_;  // this worker's shard of every other one's nodes, in lane order
};

}  // namespace bora::nccl

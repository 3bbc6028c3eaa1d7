// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bora/mesh/chunk_exchange.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/lane_tree.h"
#include "bora/mesh/shards.h"

namespace bora::mesh {

class DeviceTree;
struct TreeNodes;

struct ReduceOptions {
  std::int64_t buffer_bytes = 0;  ///< of one round and worker; 0: 1 MiB in shared memory, 16 MiB for messages
  bool shared_memory = true;      ///< where all workers are on one host
};

/// Sums the lanes of all workers by the tree of lane_tree.h: the bits are those of one worker with all lanes,
/// for any number of workers.
///
///     TreeReduce all(communicator, parameters);           // once
///     const LaneRange own = owned_lanes(c.rank(), c.size(), lanes);
///     LaneTree tree(lanes, parameters.size());
///     ... lanes own.first to own.first + own.lanes - 1 ...
///     LaneSum sum = all.reduce(tree);                     // equal on every worker
///
/// make_tree_reducer() (gradient_reducer.h) does this for the gradients of a model.
/// An array that no lane touched stays empty. The arrays of `tree` are reused for the result. With one worker
/// this is tree.take_total(), and nothing is allocated. Where the communicator carries the arrays' device, nothing
/// passes through the host.
class TreeReduce {
 public:
  /// `like`: one array for each that lanes contribute, for their sizes. Collective.
  TreeReduce(Communicator& communicator, std::span<const core::Array* const> like,
             ReduceOptions options = {});
  ~TreeReduce();

  /// The sum over all lanes, on every worker: both halves below. Collective, as all that follows.
  LaneSum reduce(LaneTree& tree);

  /// First half: of the result's arrays, the elements of this worker's shard are the sum over all lanes; the
  /// rest is left over from this worker's own lanes. The scalars are complete.
  LaneSum reduce_scatter(LaneTree& tree);
  /// Second half: every worker's shard of `arrays` (fp32, contiguous) comes to all. Arrays that are empty
  /// must be so on every worker.
  void all_gather(std::span<core::Array> arrays);

  const Shards& shards() const { return shards_; }

 private:
  /// Elements [begin, end) of all arrays.
  struct Span {
    std::int64_t begin = 0, end = 0;
  };
  Span part(int worker, std::int64_t from, std::int64_t room) const;
  void require_own(const std::vector<LaneSum>& own, std::int64_t lanes) const;
  std::vector<core::Array> make_home(const TreeNodes& nodes, std::vector<LaneSum>& own) const;

  void scatter_on_host(TreeNodes nodes, const std::vector<LaneSum>& own, const LaneSum& total);
  void fill(const TreeNodes& nodes, Span part, float* chunk) const;
  void merge(const TreeNodes& nodes, Span part, std::span<float* const> in) const;

  Communicator& c_;
  std::vector<std::vector<std::int64_t>> sizes_;  // of each array
  Shards shards_;
  std::unique_ptr<DeviceTree> device_;       // null where the sum passes through the host
  std::unique_ptr<ChunkExchange> exchange_;  // null with one worker, and where it does not
};

}  // namespace bora::mesh

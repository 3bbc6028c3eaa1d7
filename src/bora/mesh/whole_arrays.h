// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whole arrays from shards, for what must see all of a matrix: orthogonalised momentum, Kronecker factors.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/core/whole_index.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

class ShardedParameters;

/// Arrays that lie as parameters do, wherever these lie: whole, in shards of fully sharded training, in
/// shards over the axes of the mapping that the parameters were made with, or both.
class WholeArrays {
 public:
  /// One worker, which has all of each.
  WholeArrays() = default;
  /// `parameters` are the model's, in the order by which the calls below count. The workers of `lanes`
  /// compute different lanes; they have them alike, or as `store` (null: alike) cuts them.
  WholeArrays(std::shared_ptr<Communicator> lanes, ShardedParameters* store,
              std::vector<core::Parameter> parameters);

  /// This worker's shard of array i.
  using ShardOf = std::function<core::Array(std::size_t i)>;
  /// An array of the same shape, from array i as one worker would hold it; operations see no mesh. It must
  /// depend on its arguments alone.
  using Compute = std::function<core::Array(std::size_t i, const core::Array& whole)>;
  /// Where the elements of this worker's shard of array i stand in the whole one.
  kernels::WholeIndex place(std::size_t i) const;

  using Receive = std::function<void(std::size_t i, const core::Array& shard)>;

  /// For each array of `which`: its owner computes another from it, and `receive` gets this worker's shard
  /// of that. The workers of different lanes own arrays in turn, so each computes a share of them and holds
  /// one whole array at a time; workers that share a lane compute the same ones. The bits are those of one
  /// worker. Collective. InvalidArgument where another shape comes back.
  void transform(std::span<const std::size_t> which, const ShardOf& shard_of, const Compute& compute,
                 const Receive& receive) const;

 private:
  void require_known() const;
  core::Array of_group(std::size_t i, const core::Array& shard, int owner) const;
  core::Array gather(std::size_t i, const core::Array& shard, int owner) const;
  core::Array compute(std::size_t i, const core::Array& whole, const Compute& f) const;
  core::Array of_lane(std::size_t i, const core::Array& whole) const;
  core::Array spread(std::size_t i, const core::Array& of_lane, int owner) const;
  int owners() const;  ///< workers that compute arrays at the same time
  int own() const;     ///< this worker's place among them

  std::shared_ptr<Communicator> lanes_;
  ShardedParameters* store_ = nullptr;
  std::vector<core::Parameter> parameters_;
  std::vector<std::size_t> slots_;  // of the store, by parameter
};

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bora/core/host_view.h"
#include "bora/core/parameter.h"
#include "bora/core/parameter_store.h"
#include "bora/mesh/axis_cut.h"
#include "bora/mesh/collectives.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/square_sums.h"

namespace bora::kernels {
class BetweenChunks;
}

namespace bora::mesh {

/// Fully sharded parameters (FSDP): each worker keeps one shard of every parameter that has an axis of the
/// parameter map, and with it the shard's gradient and optimizer state. A block of the model gets its
/// parameters from all workers before it computes, forward and backward; they go when the next block comes,
/// whose own travel meanwhile: which one is next is known from the step before.
/// Parameters without such an axis are whole on every worker.
///
///     ShardedParameters store(workers, {"embed"});
///     ParameterStoreScope scope(store);
///     auto model = make_model(...);            // values of one parameter at a time
///     store.adopt(model->parameters());
///     optim::Adam optimizer(config, store.shards());
///
/// Calls are collective.
class ShardedParameters final : public core::ParameterStore {
 public:
  /// `axes`: names that the parameter map cuts, the first that a parameter has counts. `replicas`: each of so
  /// many groups of consecutive workers holds all shards.
  ShardedParameters(std::shared_ptr<Communicator> workers, std::vector<std::string> axes, int replicas = 1);
  ~ShardedParameters() override;
  ShardedParameters(const ShardedParameters&) = delete;
  ShardedParameters& operator=(const ShardedParameters&) = delete;

  void created(core::Array& parameter, core::Names names) override;
  void hold(std::span<const core::Array> parameters) override;
  void need(std::span<const core::Array> parameters) override;

  /// The model's parameters: sets the order of shards(), and takes those that it has not seen made.
  void adopt(std::span<const core::Parameter> parameters);
  /// The same parameters with this rank's shards as arrays: what optimizers work on. They stay where they
  /// are.
  std::vector<core::Parameter> shards();
  /// Those of the model, as adopted.
  std::vector<core::Parameter> parameters() const;

  /// No values but the shards stay in memory, and nothing travels: before the shards change.
  void release();
  /// Parameter i gets these values: `whole` has all of them.
  void store(std::size_t i, const core::Array& whole);

  /// Places in parameters() of those that are trained.
  std::vector<std::size_t> trained() const;
  /// The ranks that hold the other shards of arrays that lie as the trained parameters do.
  ShardRanks shard_ranks();

  std::size_t size() const { return slots_.size(); }
  const AxisCut& cut(std::size_t i) const { return slots_[i].cut; }
  const std::shared_ptr<Communicator>& workers() const { return workers_; }
  int shard_index() const { return replica_ranks_->rank(); }  ///< of each parameter, this rank's
  /// The whole array on `worker`, of which `shard` is this worker's part, cut as parameter i; empty on the
  /// others.
  core::Array assemble(std::size_t i, const core::Array& shard, int worker) const;
  /// The other way: this worker's shard of the array that `worker`, of its replica, has whole; the others
  /// give anything.
  core::Array spread(std::size_t i, const core::Array& whole, int worker) const;
  int shard_count() const { return replica_ranks_->size(); }  ///< of each parameter
  /// The worker of this replica that has that shard.
  int rank_of(int shard) const { return workers_->rank() / shard_count() * shard_count() + shard; }
  /// This worker's shard of a whole array, cut as parameter i.
  core::Array shard_of(std::size_t i, const core::Array& whole) const;

 private:
  struct Slot {
    core::Parameter parameter;  // of the model, once adopted
    core::Array whole;          // shares its node with the model's
    core::Array shard;          // the same as `whole` where that is not cut
    AxisCut cut;
    std::vector<std::string_view> names;
    bool held = false;
  };

  using Slots = std::vector<std::size_t>;
  struct Fetch {
    Slots slots;
    std::vector<core::Array> incoming;  // the whole, or others' shards where they do not lie in a row
    std::vector<core::HostView> travelling;
  };

  std::size_t take(core::Array& parameter, core::Names names);
  Slots missing(const Slots& slots) const;
  void gather(const Slots& slots);
  void start_fetch(Slots slots);
  void finish_fetch();
  void make_progress();
  Slots follower(const Slots& wanted);
  void drop(Slot& slot);

  friend class ShardedGradients;
  std::shared_ptr<Communicator> workers_, replica_ranks_;  // the second: those of this replica
  // The same, for what travels beside the computation: values, and gradients on several ways at once.
  static constexpr std::size_t kWays = 8;
  std::shared_ptr<Communicator> values_;
  std::array<std::shared_ptr<Communicator>, kWays> sums_;
  std::array<std::shared_ptr<Communicator>, kWays> across_;  // same shard, one worker of each replica
  std::unique_ptr<AxisCollectives> of_replica_;
  std::vector<std::string> axes_;
  std::vector<Slot> slots_;
  std::map<const void*, std::size_t> by_node_;  // for look-up alone
  Slots present_;                               // brought by need()
  std::optional<Fetch> fetch_;                  // on its way
  Slots before_, now_;                          // the last two needs
  std::map<std::pair<Slots, Slots>, Slots> next_;
  double looked_ = 0;
  std::unique_ptr<kernels::BetweenChunks> between_chunks_;
};

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/core/parameter_store.h"
#include "bora/mesh/axis_cut.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/shard_team.h"
#include "bora/mesh/square_sums.h"

namespace bora::kernels {
class BetweenChunks;
}

namespace bora::mesh {

/// Fully sharded parameters (FSDP): each worker keeps one shard of every parameter that has an axis of the
/// parameter map, and with it the shard's gradient and optimizer state. A block of the model gets its
/// parameters from all workers before it computes, forward and backward; they go when the next block comes,
/// whose own travel meanwhile: which one is next is known from the step before.
/// Parameters without such an axis are whole on every worker. Those that rest in shards over a mesh axis whose
/// workers compute different lanes (experts) are sharded among the workers with the same of them.
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
  /// many groups of consecutive workers holds all shards. `experts`: of so many consecutive workers, a power of
  /// two, each has its own experts.
  ShardedParameters(const std::shared_ptr<Communicator>& workers, std::vector<std::string> axes,
                    int replicas = 1, int experts = 1);
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
  std::vector<ShardRanks> shard_ranks();

  std::size_t size() const { return slots_.size(); }
  const AxisCut& cut(std::size_t i) const { return slots_[i].cut; }
  /// Whether the other workers along the experts' axis have other elements of it.
  bool of_experts(std::size_t i) const { return slots_[i].team > 0; }
  const std::shared_ptr<Communicator>& workers() const { return all().workers; }
  /// Those with the same experts.
  const std::shared_ptr<Communicator>& workers_of_experts() const { return teams_.back()->workers; }
  int shard_index(std::size_t i) const { return team(i).rank(); }  ///< of parameter i, this rank's
  /// Groups of workers of a replica that have all experts together, and this one's.
  int group_count() const { return all().shards() / experts(); }
  int group() const { return all().rank() / experts(); }
  int experts() const { return teams_.back()->lanes_each; }
  /// The worker of a group of this replica that has these experts.
  int rank_of(int group, int expert) const {
    return workers()->rank() / all().shards() * all().shards() + group * experts() + expert;
  }
  /// The whole array on `worker`, of which `shard` is this worker's part, cut as parameter i; empty on the
  /// others. Of experts each worker of its group gets its own.
  core::Array assemble(std::size_t i, const core::Array& shard, int worker) const;
  /// The other way: this worker's shard of the array that `worker`, of its replica, has whole; the others
  /// give anything.
  core::Array spread(std::size_t i, const core::Array& whole, int worker) const;
  /// This worker's shard of a whole array, cut as parameter i.
  core::Array shard_of(std::size_t i, const core::Array& whole) const;

 private:
  struct Slot {
    core::Parameter parameter;  // of the model, once adopted
    core::Array whole;          // shares its node with the model's
    core::Array shard;          // the same as `whole` where that is not cut
    AxisCut cut;
    std::vector<std::string_view> names;
    std::size_t team = 0;
    bool held = false;
  };

  using Slots = std::vector<std::size_t>;
  struct Fetch {
    Slots slots;
    std::vector<core::Array> incoming;  // the whole, or others' shards where they do not lie in a row
    std::vector<Cargo> travelling;
  };

  std::size_t take(core::Array& parameter, core::Names names);
  Slots missing(const Slots& slots) const;
  void gather(const Slots& slots);
  void start_fetch(Slots slots);
  void finish_fetch();
  void make_progress();
  Slots follower(const Slots& wanted);
  void drop(Slot& slot);

  ShardTeam& all() const { return *teams_.front(); }
  ShardTeam& team(std::size_t i) const { return *teams_[slots_[i].team]; }

  friend class ShardedGradients;
  std::vector<std::unique_ptr<ShardTeam>>
      teams_;  // all workers; and where there are experts, those with the same
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

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Where arrays lie on the workers that compute one model together. Ops know none of this:
// core/layout/layout.cpp converts their operands by the rule table of docs/explanation/sharding.md.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// The workers along one axis of the mesh, as core needs them; bora/mesh implements it. Collective: all
/// workers of the axis make the same calls in the same order.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;

  enum class Combine { sum, max };
  // Numbers of the host's:
  /// Element by element over the workers, in an order of additions that depends on their number alone; the
  /// result on all. In place.
  virtual void all_reduce(DType dtype, std::span<std::byte> values, Combine combine) = 0;
  /// Blocks of one size, in the order of ranks.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  // The same of arrays, contiguous, wherever they lie, with the same bits; they are not recorded.
  virtual void all_reduce(Array& values, Combine combine) = 0;
  virtual void all_gather(const Array& mine, Array& all) = 0;
  /// The sum over the workers of `all`, of which each gets its shard.
  virtual void reduce_scatter(const Array& all, Array& mine) = 0;

  /// The workers stand in a ring: `out` goes to the one `places` further on (negative: back), `in` comes from
  /// the one as many before. Empty where there is nothing for, or from, that worker.
  struct Pass {
    int places;
    Array out, in;
  };
  /// Starts transfers that travel while this worker computes. Until finish_passes() they must stay, and no
  /// other call but progress() may be made. Two workers see what is between them in the order of `passes`.
  virtual void start_passes(std::span<const Pass> passes) = 0;
  virtual void finish_passes() = 0;
  /// Moves what travels, without waiting: for kernels::BetweenChunks.
  virtual void progress() noexcept = 0;
};

/// One axis of the mesh.
struct MeshAxis {
  std::string name;  ///< "model"
  Collectives* workers = nullptr;
  /// Sums over the axis are made of so many parts, added in pairs: the same bits for any number of workers
  /// that divides it. 0: a part for each worker.
  int lanes = 0;
  /// Its workers compute different lanes: an array that rests in shards over it is used by with_own_experts
  /// (core/grouped.h) alone, and no operation divides its work over it.
  bool own_lanes = false;
};

/// An axis name and the mesh axis that serves it.
struct AxisRule {
  std::string axis, mesh_axis;
};

/// Where compute happens and where parameters rest: ordered maps from axis names to mesh axes. Among the
/// axes of an operation, a mesh axis serves the first one of the compute map. A parameter is cut along each
/// of its axes that the parameter map names.
class Mapping {
 public:
  static constexpr std::size_t kMeshAxes = 4;  ///< at most

  /// InvalidArgument: an unknown mesh axis, an axis that two mesh axes serve, more than kMeshAxes, lanes
  /// that are no power of two or not a multiple of the workers.
  Mapping(std::vector<MeshAxis> mesh, std::vector<AxisRule> compute, std::vector<AxisRule> parameters);

  std::size_t size() const { return mesh_.size(); }
  const MeshAxis& mesh_axis(std::size_t m) const { return mesh_[m]; }
  Collectives& workers(std::size_t m) const { return *mesh_[m].workers; }
  /// Whether sums over mesh axis m have a fixed number of parts, and how many of them are this worker's.
  bool fixed(std::size_t m) const { return mesh_[m].lanes > 0; }
  int lanes(std::size_t m) const { return fixed(m) ? mesh_[m].lanes / workers(m).size() : 1; }
  /// Equal shards that an axis on mesh axis m must have.
  int blocks(std::size_t m) const { return lanes(m) * workers(m).size(); }

  bool own_lanes(std::size_t m) const { return mesh_[m].own_lanes; }

  /// Position in `names` of the axis that mesh axis m serves there, if there is one; never one of `whole`, and
  /// none where its workers compute different lanes.
  std::optional<std::size_t> owner(std::size_t m, Names names, Names whole) const;
  /// Whether the compute map puts `axis` on mesh axis m, which has several workers.
  bool serves(std::size_t m, std::string_view axis) const;
  /// The dimension along which a parameter is cut over mesh axis m, if it is.
  std::optional<std::size_t> parameter_cut(std::size_t m, Names names) const;

 private:
  struct Rule {
    std::string axis;
    std::size_t mesh;
  };
  std::vector<Rule> resolved(std::vector<AxisRule> rules) const;
  std::optional<std::size_t> first(const std::vector<Rule>& rules, std::size_t m, Names names,
                                   Names whole) const;
  std::vector<MeshAxis> mesh_;
  std::vector<Rule> compute_, parameters_;
};

/// While it lives, this thread's operations follow `mapping`. They nest; the innermost counts.
class MappingScope {
 public:
  explicit MappingScope(const Mapping* mapping);  ///< null: everything is whole here
  ~MappingScope();
  MappingScope(const MappingScope&) = delete;
  MappingScope& operator=(const MappingScope&) = delete;

 private:
  const Mapping* before_;
};

/// The mapping of this thread, or null: every array is whole.
const Mapping* mapping();

/// Cuts a new parameter down to this worker's shard, as the parameter map says, and marks it as a parameter:
/// where an operation uses it beside an axis that it lacks, its gradient is summed over that mesh axis once,
/// by sum_pending. Without a mapping nothing happens.
void place_parameter(Array& parameter, Names names);

/// The dimension along which an array lies in shards over each mesh axis; -1 where it does not.
std::array<int, Mapping::kMeshAxes> cuts_of(const Array& x);

/// Sums the gradient (in place, contiguous, fp32) of a parameter over the mesh axes that its uses left
/// pending. Error: the parameter was used both with and without an axis that the mesh axis serves.
void sum_pending(const Array& parameter, std::string_view path, Array& gradient);

/// x as one worker would hold it, contiguous. Recorded.
Array whole(const Operand& x);

/// `values`, which lie in this worker's memory as those of `like` do, labelled so: a gradient or an
/// optimizer's state of a parameter.
Array like(const Array& like, const Array& values);

/// Size of a dimension of the whole array, wherever its shards are.
std::int64_t whole_size(const Array& x, int dim);
std::vector<std::int64_t> whole_sizes(const Array& x);

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bora/core/mapping.h"
#include "bora/mesh/collectives.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// How the workers of a run are arranged. Neighbours in rank are neighbours along `model`, then `context`,
/// then `expert`, then `data`: rank = (((replica · data + d) · expert + e) · context + c) · model + m.
struct MeshShape {
  int replica = 1;  ///< copies of everything, each with its own lanes
  int data = 1;     ///< lanes; parameters in shards, where they are sharded
  int expert = 1;   ///< the same, and each its own of a mixture's experts
  int context = 1;  ///< shards of a sequence's positions
  int model = 1;    ///< shards of heads, MLP and vocabulary

  int workers() const { return lane_groups() * workers_per_lane(); }
  int lane_groups() const { return replica * data * expert; }
  int workers_per_lane() const { return context * model; }
  /// "data 2 × model 2": the axes of several workers; "data 1" for one.
  std::string text() const;
};

/// The workers of a run and what each set of them is for. All calls are collective.
class Mesh {
 public:
  /// `rules`: core's compute and parameter maps, over the mesh axes "model", "context" and "expert".
  /// InvalidArgument: another number of workers than the shape's.
  struct Rules {
    std::vector<core::AxisRule> compute, parameters;
    int tensor_lanes = 0;  ///< core::MeshAxis::lanes of "model"
  };
  Mesh(std::shared_ptr<Communicator> world, const MeshShape& shape, Rules rules);

  const MeshShape& shape() const { return shape_; }
  const std::shared_ptr<Communicator>& world() const { return world_; }
  /// The workers at this one's place in context and model: they compute different lanes. Neighbours are so along
  /// `expert`, then `data`.
  const std::shared_ptr<Communicator>& lanes() const { return lanes_; }
  /// This worker's place among those that compute a lane together, from 0.
  int place() const { return world_->rank() % shape_.workers_per_lane(); }
  /// How these share a lane's work; null where it is one worker's.
  const core::Mapping* mapping() const { return mapping_.get(); }
  /// The same but that no axis is served by `context`: its workers compute alike, on texts of any length.
  const core::Mapping* mapping_of_whole_positions() const { return whole_positions_.get(); }

 private:
  std::shared_ptr<Communicator> world_;
  MeshShape shape_;
  std::shared_ptr<Communicator> lanes_;
  std::unique_ptr<AxisCollectives> context_, expert_, model_;
  std::unique_ptr<core::Mapping> mapping_, whole_positions_;
};

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/mesh.h"

#include <utility>

#include "bora/base/error.h"

namespace bora::mesh {

Mesh::Mesh(std::shared_ptr<Communicator> world, const MeshShape& shape, Rules rules)
    : world_(std::move(world)), shape_(shape) {
  if (shape.workers() != world_->size()) {
    fail(ErrorKind::InvalidArgument,
         "mesh: replica {} x data {} x context {} x model {} is {} workers, but {} run\nhint: start {} "
         "workers, "
         "or change the mesh",
         shape.replica, shape.data, shape.context, shape.model, shape.workers(), world_->size(),
         shape.workers());
  }
  if (shape.workers_per_lane() == 1 && rules.tensor_lanes == 0) {
    lanes_ = world_;
    return;
  }
  const int rank = world_->rank(), together = shape.workers_per_lane();
  const int group = rank / together, c = rank % together / shape.model, m = rank % shape.model;
  lanes_ = world_->split(rank % together, group);
  context_ = std::make_unique<AxisCollectives>(world_->split(group * shape.model + m, c));
  model_ = std::make_unique<AxisCollectives>(world_->split(group * shape.context + c, m));
  mapping_ = std::make_unique<core::Mapping>(
      std::vector<core::MeshAxis>{{"model", model_.get(), rules.tensor_lanes}, {"context", context_.get()}},
      std::move(rules.compute), std::move(rules.parameters));
}

}  // namespace bora::mesh

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
         "mesh: {} is {} workers, but {} run\nhint: start {} workers, or change the mesh", shape.text(),
         shape.workers(), world_->size(), shape.workers());
  }
  if (shape.workers_per_lane() == 1 && shape.expert == 1 && rules.tensor_lanes == 0) {
    lanes_ = world_;
    return;
  }
  const int rank = world_->rank(), together = shape.workers_per_lane();
  lanes_ = world_->split(rank % together, rank / together);
  // Neighbours along an axis are `stride` apart; those with all other coordinates alike stand along it.
  const auto along = [&](int size, int stride) {
    const int at = rank / stride % size;
    return std::make_unique<AxisCollectives>(size == 1 ? make_self_communicator()
                                                       : world_->split(rank - at * stride, at));
  };
  model_ = along(shape.model, 1);
  context_ = along(shape.context, shape.model);
  expert_ = along(shape.expert, shape.model * shape.context);
  std::vector<core::MeshAxis> axes{{"model", model_.get(), rules.tensor_lanes},
                                   {"context", context_.get()},
                                   {"expert", expert_.get(), 0, true}};
  mapping_ = std::make_unique<core::Mapping>(axes, rules.compute, rules.parameters);
  std::erase_if(rules.compute, [](const auto& rule) { return rule.mesh_axis == "context"; });
  whole_positions_ =
      std::make_unique<core::Mapping>(std::move(axes), std::move(rules.compute), std::move(rules.parameters));
}

}  // namespace bora::mesh

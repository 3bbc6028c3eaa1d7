// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <vector>

#include "bora/core/mapping.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// What core's operations need of the workers along one axis of a mesh, over a communicator. Sums add the
/// workers' values in pairs, ((0+1)+(2+3))+..., bf16 rounded after each addition; one worker's piece of the
/// elements each.
class AxisCollectives final : public core::Collectives {
 public:
  explicit AxisCollectives(std::shared_ptr<Communicator> workers) : workers_(std::move(workers)) {}

  int size() const override { return workers_->size(); }
  int rank() const override { return workers_->rank(); }
  void all_reduce(core::DType dtype, std::span<std::byte> values, Combine combine) override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_reduce(core::Array& values, Combine combine) override;
  void all_gather(const core::Array& mine, core::Array& all) override;
  void reduce_scatter(const core::Array& all, core::Array& mine) override;
  void start_passes(std::span<const Pass> passes) override;
  void finish_passes() override;
  void progress() noexcept override;

 private:
  /// Sums (or greatest) of everybody's [bounds[rank], bounds[rank + 1]) of `all`, into `mine`.
  void combine(core::DType dtype, std::span<const std::byte> all, std::span<const std::size_t> bounds,
               Combine combine, std::span<std::byte> mine);
  /// The same on a device that the workers' communicator carries; bounds are elements.
  core::Array combine_there(const core::Array& all, std::span<const std::int64_t> bounds, Combine combine);

  std::shared_ptr<Communicator> workers_;
  std::vector<std::byte> received_;  // everybody's pieces
  std::vector<Cargo> travelling_;    // of passes
  double looked_ = 0;                // when messages were last asked to move
};

}  // namespace bora::mesh

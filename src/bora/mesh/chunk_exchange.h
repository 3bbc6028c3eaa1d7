// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// Moves blocks of floats between all pairs of workers, in rounds of bounded size. All workers do the same
/// rounds in the same order, with counts that all know.
class BlockExchange {
 public:
  using Counts = std::span<const std::int64_t>;                  ///< floats by worker; the own one counts not
  using Take = std::function<void(std::span<float* const> in)>;  ///< blocks by sender; the own one is null

  virtual ~BlockExchange() = default;

  /// `fill(to, block)` writes out[to] floats for each other worker, then `take` reads (and may overwrite) the
  /// in[from] floats that came from each. At most scatter_room() floats a block.
  virtual void scatter(Counts out, Counts in, const std::function<void(int to, float* block)>& fill,
                       const Take& take) = 0;
  /// `fill` writes counts[rank] floats for all other workers, then `take` reads what came. At most
  /// gather_room() floats a block.
  virtual void gather(Counts counts, const std::function<void(float* block)>& fill, const Take& take) = 0;

  virtual std::int64_t scatter_room() const = 0;
  virtual std::int64_t gather_room() const = 0;
};

/// Through memory that the workers of one host share: two buffers of `bytes` for each worker, small enough to
/// stay in the caches, so that data passes main memory only where it comes from and where it goes.
/// Collective.
std::unique_ptr<BlockExchange> make_shared_exchange(Communicator& communicator, std::int64_t bytes);

/// Through messages: buffers of `bytes` for what goes out and for what comes in. Collective.
std::unique_ptr<BlockExchange> make_message_exchange(Communicator& communicator, std::int64_t bytes);

}  // namespace bora::mesh

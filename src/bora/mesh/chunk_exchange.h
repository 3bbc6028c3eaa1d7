// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// Moves chunks of floats between all pairs of workers, in rounds of bounded size. All workers do the same
/// rounds in the same order, with counts that all know.
class ChunkExchange {
 public:
  using Counts = std::span<const std::int64_t>;  ///< floats by worker; the own one counts not
  using Receive = std::function<void(std::span<float* const> in)>;  ///< chunks by sender; the own one is null

  virtual ~ChunkExchange() = default;

  /// `fill(to, chunk)` writes out[to] floats for each other worker, then `receive` reads (and may change) the
  /// in[from] floats that came from each. At most scatter_room() floats a chunk.
  virtual void scatter(Counts out, Counts in, const std::function<void(int to, float* chunk)>& fill,
                       const Receive& receive) = 0;
  /// `fill` writes counts[rank] floats for all other workers, then `receive` reads what came. At most
  /// gather_room() floats a chunk.
  virtual void gather(Counts counts, const std::function<void(float* chunk)>& fill,
                      const Receive& receive) = 0;

  virtual std::int64_t scatter_room() const = 0;
  virtual std::int64_t gather_room() const = 0;
};

/// Through memory that the workers of one host share: two buffers of `bytes` for each worker, small enough to
/// stay in the caches, so that data passes main memory only where it comes from and where it goes.
/// Collective.
std::unique_ptr<ChunkExchange> make_shared_exchange(Communicator& communicator, std::int64_t bytes);

/// Through messages: buffers of `bytes` for what goes out and for what comes in. Collective.
std::unique_ptr<ChunkExchange> make_message_exchange(Communicator& communicator, std::int64_t bytes);

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace bora::mesh {

/// How the workers of a run talk to each other. Transports: `self` (one worker, no dependency); others are
/// plug-ins. Calls are collective unless they name a peer: every worker makes them in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::string_view transport() const = 0;  ///< "self"
  virtual int rank() const = 0;                    ///< of this worker, from 0
  virtual int size() const = 0;                    ///< number of workers
  virtual void barrier() = 0;
  /// Sends `out` to `peer` while receiving `in` from it; either may be empty. The step of a tree exchange.
  virtual void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in) = 0;
  /// Everybody's bytes become those of worker `from`: how worker 0's decisions (save now, stop now) reach
  /// all.
  virtual void broadcast(int from, std::span<std::byte> bytes) = 0;
};

/// The only worker of a run. Exchange with anyone is an InvalidArgument error.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace bora::mesh

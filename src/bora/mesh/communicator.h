// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/trace.h"
#include "bora/core/device.h"
#include "bora/mesh/transport.h"

namespace bora::mesh {

class World;
class SharedMemory;

/// How the workers of a run talk to each other, over `self` (one worker, no dependency) or a plug-in's
/// transport. Calls are collective unless they name a peer: every worker makes them in the same order, with
/// equal sizes unless said otherwise, from one thread. Sums are no matter of a communicator: see
/// tree_reduce.h.
///
/// Bytes lie in the host's memory, or in that of the workers' devices where it carries() these: cargo.h is the
/// place that knows which, and makes messages of arrays.
///
/// No call waits longer than the deadline (120 s unless set). A worker that is dead, stopped or late makes
/// the call of every other one fail with kind Stopped (exit code 75), in words that name call, rank, host,
/// activity and who has not answered; from then on all calls fail alike and nothing waits for anybody, the
/// destructor included.
class Communicator {
 public:
  explicit Communicator(std::shared_ptr<World> world);
  Communicator(std::shared_ptr<World> world, std::shared_ptr<Transport> part);
  ~Communicator();
  Communicator& operator=(const Communicator&) = delete;

  std::string_view transport() const;  ///< "self", "mpi"
  int rank() const { return rank_; }   ///< of this worker, from 0
  int size() const { return size_; }   ///< number of workers
  const std::string& host() const;     ///< of this worker
  std::string who() const;             ///< "worker 2 (host b)", by its rank in the whole run
  bool one_host() const { return one_host_; }

  /// From here on, messages between these workers may lie in the memory of the device `own` of each, which the
  /// transport that `open` makes moves; also those between workers that are split off later. Collective.
  void carry(core::Device own, const std::function<std::unique_ptr<Transport>()>& open);
  bool carries(core::Device device) const { return devices_ != nullptr && device == device_; }

  /// What this worker is at ("step 12: gradients"), for the errors of all communicators of the process.
  void activity(std::string_view what);
  void deadline(double seconds);  ///< also of all communicators of the process
  double deadline() const;

  void barrier();
  /// Sends `out` to `peer` while receiving `in` from it; either may be empty.
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in);
  /// A batch of transfers at once, any peers but this worker itself; complete at return.
  void exchange_all(std::span<const Message> messages, std::string_view call = "exchange");
  /// Starts a batch that travels while this worker computes; finish_exchange() waits for its end. Until then the bytes
  /// must stay, and nothing else may be called here. The transport moves messages only while it is asked:
  /// progress() does that without waiting, and never throws (an error comes out of finish_exchange).
  void start_exchange(std::span<const Message> messages, std::string_view call);
  void finish_exchange();
  void progress() noexcept;
  /// Everybody's bytes become those of worker `from`: how worker 0's decisions (save now, stop now) reach
  /// all.
  void broadcast(int from, std::span<std::byte> bytes, Memory memory = Memory::host);
  /// Chunks of one size, in the order of ranks: `all` is size() times as long as `mine`.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  /// Chunks of sizes that all know: worker w's is [bounds[w], bounds[w + 1]) of `all`; the own one is there.
  void all_gather(std::span<std::byte> all, std::span<const std::size_t> bounds,
                  Memory memory = Memory::host);
  /// The sum over all workers, in place, by the transport's own all-reduce: its bits are the library's
  /// matter.
  void all_reduce(std::span<float> values, Memory memory = Memory::host);
  /// Chunks of any size, by rank.
  std::vector<std::vector<std::byte>> all_gather_unequal(std::span<const std::byte> mine);

  /// The workers of one `color` (from 0), in the order of (key, rank): an axis of a mesh.
  std::unique_ptr<Communicator> split(int color, int key);
  /// The same workers' transport of host memory once more: for what is built upon it.
  std::unique_ptr<Transport> another_transport();
  /// A block of `bytes` (any size), zeroed and aligned to 64, for each worker. Unsupported unless one_host().
  std::unique_ptr<SharedMemory> share(std::size_t bytes);
  /// Waits until `done` says yes, for whoever watches shared memory. Not collective.
  void wait(std::string_view call, const std::function<bool()>& done);

  /// Tells all workers of the run to stop, for `reason`. For whoever catches this worker's own error; an
  /// exception that passes the communicator does it too. Never throws.
  void abandon(std::string_view reason) noexcept;

 private:
  friend class SharedMemory;
  Communicator(const Communicator&) = default;  // the same workers and transport
  void require_peer(std::string_view call, int peer) const;
  void start(std::string_view call, std::span<const Message> messages);
  bool finished();

  std::shared_ptr<World> world_;
  std::shared_ptr<Transport> part_;  // of a split; null: the world's
  Transport* transport_;
  std::shared_ptr<Transport> devices_;  // of messages in the memory of devices, if there are any
  core::Device device_;                 // this worker's
  int rank_, size_;
  bool one_host_;
  int exceptions_ = std::uncaught_exceptions();  // under way when this was made

  // What travels.
  std::string call_;
  bool travels_ = false;
  std::exception_ptr error_;
  trace::Travel travel_;
};

/// Memory that every worker of a communicator on one host reads and writes: `of(worker)` is that worker's
/// block. Bytes written before a barrier (or a release store) are seen after it. Its end is collective.
class SharedMemory {
 public:
  SharedMemory(const Communicator& of, std::unique_ptr<SharedBlocks> blocks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::span<std::byte> of(int worker) const { return blocks_->of(worker); }

 private:
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<SharedBlocks> blocks_;
  int exceptions_;  // under way when this was made
};

/// Text of worker `from`, on all. Collective.
std::string broadcast_text(Communicator& communicator, int from, std::string_view text);
/// Everybody's text, by rank. Collective.
std::vector<std::string> all_gather_texts(Communicator& communicator, std::string_view mine);

/// The bits that any worker sets, on all. Collective.
std::byte bits_of_all(Communicator& communicator, std::byte mine);
/// Whether any worker says yes, on all. Collective.
bool any_of_all(Communicator& communicator, bool mine);

/// The only worker of a run. Exchange with anyone is an InvalidArgument error.
std::unique_ptr<Communicator> make_self_communicator();

inline constexpr double kDefaultDeadline = 120;  ///< seconds
/// Every worker of `transport`. Collective.
std::unique_ptr<Communicator> make_communicator(std::unique_ptr<WorldTransport> transport,
                                                double deadline_seconds = kDefaultDeadline);

}  // namespace bora::mesh

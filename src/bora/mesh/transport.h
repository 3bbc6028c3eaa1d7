// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a plug-in implements: moving bytes between the workers of a run without ever blocking. Deadlines,
// collectives and words are the communicator's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::mesh {

/// Where the bytes of a message lie: in this process's memory, or in that of the worker's device.
enum class Memory : std::uint8_t { host, device };

/// One transfer of a batch: `out` goes to `peer`, `in` comes from it; either may be empty. Messages between
/// two workers match in the order of their batches, with equal sizes and the same kind of memory on both sides.
struct Message {
  int peer = 0;
  std::span<const std::byte> out;
  std::span<std::byte> in;
  Memory memory = Memory::host;
};

/// Memory that all workers of one host see: a block of each, aligned to a cache line of 64 bytes.
class SharedBlocks {
 public:
  virtual ~SharedBlocks() = default;
  virtual std::span<std::byte> of(int worker) const = 0;
};

/// Zeroed bytes of this process, aligned to a page.
class PageMemory {
 public:
  explicit PageMemory(std::size_t bytes) : storage_(bytes + kPage) {
    void* begin = storage_.data();
    std::size_t room = storage_.size();
    bytes_ = {static_cast<std::byte*>(std::align(kPage, bytes, begin, room)), bytes};
  }
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::vector<std::byte> storage_;
  std::span<std::byte> bytes_;
};

/// The workers of one communicator. All that it is given lies in one kind of memory: the host's, or that of the
/// workers' devices. Calls come from one thread. Errors are bora::Error.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;  ///< "mpi"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Begins a batch, which ends when finished() has said so; the bytes must stay until then.
  virtual void start(std::span<const Message> messages) = 0;
  virtual bool finished() = 0;

  /// Collective. The library's own sum over all workers, in place and in the order that it likes; waits for
  /// them.
  virtual void sum(std::span<float> values) = 0;

  /// Collective. Workers of one `color` come together, in the order of (key, rank).
  virtual std::unique_ptr<Transport> split(int color, int key) = 0;
  /// Collective. A block of `bytes` of this worker, zeroed, aligned to a page; all must be on one host.
  virtual std::unique_ptr<SharedBlocks> share(std::size_t bytes) = 0;
  /// The end after a failure: nothing waits for others from here on, destructors of what it made included.
  virtual void abandon() noexcept = 0;
};

/// A few words from a worker that stops or has waited too long.
struct Alarm {
  int rank = 0;
  std::string text;
};
inline constexpr std::size_t kLongestAlarm = 1000;  ///< bytes; longer ones are cut

/// The transport of all workers. Alarms pass beside messages and reach workers that wait for others.
class WorldTransport : public Transport {
 public:
  virtual std::string host() const = 0;
  /// To every other worker, without waiting for any. Never throws.
  virtual void send_alarm(std::string_view text) noexcept = 0;
  virtual std::optional<Alarm> next_alarm() = 0;
  /// The regular end. Collective; nothing may be called after it.
  virtual void close() = 0;
};

}  // namespace bora::mesh

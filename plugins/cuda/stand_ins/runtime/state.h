// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the stand-in for CUDA knows. It computes nothing: arrays on its device have addresses that nobody may touch, and
// read as zeros (or as bytes STAND_IN_BYTE, where more than one number is read). It looks at what it is asked for as
// CUDA does: sizes of launches, ends of allocations, and what a thread may do while a stream is captured. What CUDA
// would refuse it refuses, and says so in a line that begins with "stand-in:".
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stand_in {

struct Stream;

/// How much of each stream's work comes before.
using Clock = std::map<const Stream*, std::uint64_t>;
void join(Clock& into, const Clock& from);

/// A null pointer is the device's memory.
struct Copy {
  char* to = nullptr;
  const char* from = nullptr;
  std::size_t bytes = 0;
};

/// What was noted, and is done at each launch.
struct Graph {
  std::vector<Copy> copies;
  std::map<std::string, std::int64_t> launches;
};

struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::uint64_t id = 0;
  bool broken = false;
  std::set<Stream*> streams = {};
  Graph graph = {};
};

struct Stream {
  unsigned flags = 0;
  std::uint64_t work = 0;
  Clock seen;
  std::shared_ptr<Capture> capture;
  bool began_it = false;
  int device = 0;
};

struct Event {
  int device = 0;
  Clock seen;
  std::shared_ptr<Capture> capture;
};

struct Block {
  std::size_t bytes = 0;
  bool of_device = true;
};

struct Kernel {
  std::string name;
  std::size_t shared = 48 << 10;  ///< bytes that a launch may ask for
};

struct State {
  std::recursive_mutex lock;
  std::map<char*, Block> blocks;  ///< of the device, and pinned ones of the host
  std::size_t taken = 0, total = 0;
  std::map<const void*, Kernel> kernels;                ///< by what the host calls
  std::map<const void*, std::vector<char>> variables;   ///< of the device, by the host's
  std::map<std::string, std::int64_t> launches, noted;  ///< one by one; by graphs
  std::map<std::string, std::int64_t> calls;
  std::uint64_t captures = 0;
  std::set<std::shared_ptr<Capture>> running;
  std::map<int, Stream> standard;  ///< by device: its default stream
};
/// Of the process; it outlives all others.
State& state();

/// An environment variable's number.
int told(const char* name, int otherwise);

/// The device of this thread.
int& current_device();

Stream& of(cudaStream_t stream);
Event& of(cudaEvent_t event);

/// Says it and returns it, as the next cudaGetLastError() does.
cudaError_t refuse(cudaError_t error, const char* call, const std::string& why);
/// Breaks the captures that this call of this thread breaks.
cudaError_t allowed(const char* call);
/// Gives `stream` a kernel (or none: empty) or a copy.
cudaError_t give(cudaStream_t stream, const char* call, const std::string& kernel,
                 const Copy* copy = nullptr);
void carry_out(const Copy& copy);

/// The block that `where` lies in; null if CUDA knows none.
const Block* block_of(const void* where);
/// `where` for the host, null on the device; empty if it ends behind its block.
std::optional<char*> place_of(const void* where, std::size_t bytes, const char* call);

/// One call after another, each counted.
class Call {
 public:
  explicit Call(const char* name) : hold_(state().lock) { ++state().calls[name]; }

 private:
  std::lock_guard<std::recursive_mutex> hold_;
};

}  // namespace stand_in

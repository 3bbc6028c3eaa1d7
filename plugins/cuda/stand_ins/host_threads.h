// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: the threads of a CUDA block as fibers of one thread of the host. A fiber runs until it waits for
// others; which one runs next is the order's choice. A kernel whose bits depend on the order lacks a barrier.
// Blocks run one after another. Of a GPU this says nothing about speed, and nothing about memory between blocks
// that run at the same time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bora::cuda::host {

/// Who goes first. forward, backward: warp after warp as far as it comes, from either end; by_warps: the first
/// threads of all warps, then the second ones, and so on; shuffled: by chance, anew after each barrier, and the
/// same way in each run. Blocks run in the same spirit.
enum class Order { forward, backward, by_warps, shuffled };
void set_order(Order order);
/// Bytes of shared memory of a multiprocessor, all of which one block may have: 48 KiB at first.
void set_shared_memory(std::int64_t bytes);
std::int64_t shared_memory();
/// How many grids have run that had blocks.
std::int64_t launches();

struct Grid {
  std::int64_t blocks;
  int threads;
  std::int64_t shared;  ///< bytes, NaN at first
};

/// Runs `body` once for each thread. Throws std::logic_error if a block cannot go on (threads wait at different
/// barriers, or some have ended), writes beyond its shared memory, or copies what lies badly.
template <class Body>
void run(const Grid& grid, const Body& body);

// What a kernel sees, from within run() alone.
struct Current {
  int thread = 0;
  std::int64_t block = 0;
  std::byte* shared = nullptr;
};
inline Current& current() {
  static Current now;
  return now;
}
void wait_for_block();
std::uint64_t exchange(std::uint64_t bits, int mask);
// 16 bytes arrive as late as a GPU may have them arrive: when they are waited for.
void begin_copy(void* to, const void* from);
void end_batch();
void wait_for_batches(int but);

namespace detail {
void run(const Grid& grid, void (*call)(const void*), const void* body);
}

template <class Body>
void run(const Grid& grid, const Body& body) {
  detail::run(grid, [](const void* b) { (*static_cast<const Body*>(b))(); }, &body);
}

}  // namespace bora::cuda::host

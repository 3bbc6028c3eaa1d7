// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>

namespace bora::core {

/// Call once at program start: checks libtorch's version, sets threads, flush-to-zero off, and puts the
/// reusing allocator in place (memory of freed arrays is kept by size class, so that a step's memory serves
/// the next step). threads = 0: BORA_THREADS, OMP_NUM_THREADS, else the cores.
void initialize(int threads = 0);

struct RuntimeInfo {
  std::string libtorch;     ///< version found at run time
  std::string simd_target;  ///< of our kernels
  std::string matmul;       ///< which matrix product
  std::string cpu;          ///< model name
  int threads;
};
RuntimeInfo runtime_info();

/// Bytes held by arrays now, and the most since start.
struct MemoryInfo {
  std::int64_t live, reserved, peak_live;
};
MemoryInfo memory_info();
/// Gives kept but unused blocks back to the system.
void release_unused_memory();

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/error.h"

namespace bora::core {

/// Call once at program start: checks libtorch's version, sets threads, flush-to-zero off, and puts the
/// reusing allocator in place (memory of freed arrays is kept, so that a step's memory serves the next step).
/// threads = 0: BORA_THREADS, OMP_NUM_THREADS, else the cores. Unsupported if the libtorch that was loaded is
/// not the one Bora was built for.
void initialize(int threads = 0);

/// Unsupported unless both are the same libtorch. Versions as in torch/headeronly/version.h: major, minor and
/// patch in the three upper bytes, a tag of the binary interface below; 0 for `loaded`: it does not tell.
/// `file`: where the loaded one lies, for the message.
void require_libtorch(std::uint64_t built_for, std::uint64_t loaded, std::string_view file);

/// For a catch block: the exception being handled, as an Error that fits on a line (an Error stays as it is).
/// libtorch's own carry a stack trace, and memory that ran out says nothing but its name.
Error current_error();

struct RuntimeInfo {
  std::string libtorch;       ///< version found at run time
  std::string libtorch_file;  ///< where it lies
  std::string simd_target;    ///< of our kernels
  std::string matmul;         ///< which matrix product
  std::string cpu;            ///< model name
  std::string instructions;   ///< for a reader: "AVX2", "AVX3, AMX"
  /// Equal words, equal bits: of our kernels, of libtorch's, who made the CPU; or of default_device().
  std::string arithmetic;
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

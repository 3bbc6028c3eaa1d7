// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What there is of NVIDIA's on this machine, and in words why a GPU can or cannot be computed on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/device.h"

namespace bora::core {

/// Of CUDA ("13.0"), or what a GPU can do, its compute capability ("9.0" is Hopper).
struct CudaVersion {
  int major = 0, minor = 0;

  bool operator==(const CudaVersion&) const = default;
  bool operator<(const CudaVersion& other) const {
    return major != other.major ? major < other.major : minor < other.minor;
  }
};
std::string text(CudaVersion version);

/// The CUDA that libtorch is built with: a driver must be as new.
inline constexpr CudaVersion kCudaOfBuild{13, 0};
/// From here on a GPU computes in bf16.
inline constexpr CudaVersion kLeastCapability{8, 0};

/// From here on it multiplies in fp8.
inline constexpr CudaVersion kFp8Capability{8, 9};

struct GpuFacts {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  CudaVersion capability;
  std::int64_t memory = 0;           ///< bytes of all
  std::optional<std::int64_t> free;  ///< where the driver tells without work being started on the GPU
};

struct CudaFacts {
  enum class State : std::uint8_t {
    no_driver,     ///< its library is not there
    old_driver,    ///< older than kCudaOfBuild
    driver_fails,  ///< it does not start; `failure` is its word
    no_gpu,        ///< it sees none
    old_gpu,       ///< none that it sees reaches kLeastCapability
    ready
  };

  bool has_driver = false;
  std::string driver;          ///< "580.65.06"; empty where it does not tell
  CudaVersion cuda;            ///< the newest that the driver runs
  std::string failure;         ///< "CUDA_ERROR_SYSTEM_NOT_READY"
  std::vector<GpuFacts> gpus;  ///< as the process sees them: "cuda:0", "cuda:1", ...
  /// Why this program computes on none of them, as open_cuda_engine() has said to who asked it.
  std::string engine;

  State state() const;
};
std::string_view name(CudaFacts::State state);  ///< "no_driver"

/// Asks the driver; starts no work on a GPU and takes none of its memory. Never throws: a machine without a
/// driver is an ordinary machine. The libraries are opened by name; the second one, which tells what is free
/// and the driver's own version, may be absent.
CudaFacts cuda_facts(const std::string& driver = "libcuda.so.1",
                     const std::string& management = "libnvidia-ml.so.1");

/// "NVIDIA H100 80GB HBM3 · capability 9.0 · 79.6 GB, 79.1 GB free"
std::string describe(const GpuFacts& gpu);
/// "driver 580.65.06 (CUDA 13.0)"
std::string describe_driver(const CudaFacts& facts);
/// What was found, in half a sentence: "no NVIDIA driver", "2 GPUs, the first NVIDIA H100 80GB HBM3 · ...".
std::string summary(const CudaFacts& facts);

/// Whether it is new enough to be computed on.
bool suits(const GpuFacts& gpu);
/// Those of the first `usable` GPUs that are new enough; `usable`: how many this program opens, from cuda:0 on.
std::vector<Device> suitable_gpus(const CudaFacts& facts, int usable);
/// The first that is new enough; cuda:0 where none is, or where there is none.
Device first_suitable_gpu(const CudaFacts& facts);

/// Why `device`, a GPU, cannot be had.
struct GpuRefusal {
  std::string found;  ///< "this machine has no NVIDIA driver (libcuda.so.1 was not found)"
  std::string hint;   ///< the next action; empty where there is none
};
/// `usable`: as suitable_gpus() has it.
GpuRefusal refuse_gpu(const CudaFacts& facts, Device device, int usable);
/// The same in an error's words: what was asked for, what was found, and a hint.
std::string why_no_gpu(const CudaFacts& facts, Device device, int usable);

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "activated.h"

#include <cuda_runtime_api.h>

#include "products.h"

namespace bora::cuda {
namespace {

using core::Activation;
using core::DType;
using Stream = core::DeviceKernels::Stream;

// On others these products have been seen to be slower than two kernels: Ampere, Ada (llm.c's pull requests 338 and 653),
// Blackwell of workstations (sglang's 34350); faster on H100 and H200 (both).
constexpr int kHopper = 9;

int capability_of_current_device() {
  int device = 0, major = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  return known ? major : 0;
}

// What epilogues of cuBLASLt there are, where they are worth it.
bool takes(Activation f, DType type) {
  return f == Activation::gelu_tanh && type == DType::bf16 && capability_of_current_device() == kHopper;
}

cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

core::DeviceKernels::ActivatedProduct activated_products() {
  if (loaded_matrix_library() == nullptr) return {};
  return {.takes = takes,
          .forward =
              [](Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t k, const void* x,
                 const void* weight, const void* bias, void* z, void* y, void* room, Stream s) {
                return takes(f, type) &&
                       activated(*loaded_matrix_library(),
                                 ActivatedForward{rows, n, k, x, weight, bias, z, y}, room, of(s));
              },
          .backward =
              [](Activation f, DType type, std::int64_t rows, std::int64_t n, std::int64_t m, const void* dy,
                 const void* weight, const void* z, void* dz, void* room, Stream s) {
                return takes(f, type) &&
                       activated(*loaded_matrix_library(), ActivatedBackward{rows, n, m, dy, weight, z, dz},
                                 room, of(s));
              },
          .room = kProductRoom};
}

}  // namespace bora::cuda

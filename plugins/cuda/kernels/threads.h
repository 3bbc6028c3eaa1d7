// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a kernel is written in. A kernel is a struct: its members are its arguments, its call operator is what
// one thread does, its `threads` are those of a block. nvcc makes a kernel for GPUs of it; another compiler,
// with CUDA's keyword __device__ defined as nothing, makes it for stand_ins/host_threads.h.
//
//     struct Double {
//       static constexpr int threads = 256;
//       std::int64_t n;
//       float* x;
//       __device__ void operator()() const {
//         const std::int64_t i = block() * threads + thread();
//         if (i < n) x[i] *= 2;
//       }
//     };
//     launch(Double{n, x}, blocks_for(n, Double::threads), 0, stream);
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#else
#include "../stand_ins/host_threads.h"
#endif

namespace bora::cuda {

using Stream = void*;  ///< a cudaStream_t

constexpr int kWarp = 32;

/// Blocks of `each` that n need; so many that a grid may have, so that there is no loop over them.
inline std::int64_t blocks_for(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

#ifdef __CUDACC__

/// This thread in its block, and its block in the grid.
__device__ inline int thread() { return static_cast<int>(threadIdx.x); }
__device__ inline std::int64_t block() { return static_cast<std::int64_t>(blockIdx.x); }

/// All threads of the block wait for each other here, and see what the others have written.
__device__ inline void sync() { __syncthreads(); }

/// The block's own memory, as much as launch() says, of no values at first.
template <class T>
__device__ T* shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}

/// Begins to copy 16 bytes into shared memory, both at multiples of 16, for the batch that end_batch() ends.
__device__ inline void begin_copy(void* to, const void* from) { __pipeline_memcpy_async(to, from, 16); }
__device__ inline void end_batch() { __pipeline_commit(); }
/// Waits for all batches of this thread but the last `kBut`. The thread sees what they copied, others after sync().
template <int kBut>
__device__ void wait_for_batches() {
  __pipeline_wait_prior(kBut);
  asm volatile("" ::: "memory");  // what was copied is read behind it
}

namespace detail {
__device__ inline unsigned long long exchanged(unsigned long long v, int mask) {
  return __shfl_xor_sync(0xffffffffU, v, mask);
}
__device__ inline unsigned exchanged(unsigned v, int mask) { return __shfl_xor_sync(0xffffffffU, v, mask); }

// So many blocks have room for their registers on a multiprocessor at a time: one, where a kernel says nothing.
template <class K, class = void>
constexpr int least_blocks = 1;
template <class K>
constexpr int least_blocks<K, std::void_t<decltype(K::least_blocks)>> = K::least_blocks;

template <class K>
__global__ void __launch_bounds__(K::threads, least_blocks<K>) run(const __grid_constant__ K kernel) {
  kernel();
}
}  // namespace detail

// Whole numbers may be added by many threads at once: their order does not change the sum. Numbers of
// floating point never are.
__device__ inline void add_to(unsigned long long* sum, unsigned long long v) { atomicAdd(sum, v); }
__device__ inline void add_to(unsigned* sum, unsigned v) { atomicAdd(sum, v); }
// Looks first: where many blocks raise one number, few have a larger one.
__device__ inline void raise_to(unsigned* most, unsigned v) {
  if (*static_cast<volatile unsigned*>(most) < v) atomicMax(most, v);
}

namespace detail {

inline void expect_well(cudaError_t error) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("a CUDA kernel did not start: ") + cudaGetErrorString(error));
}

inline std::int64_t attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  expect_well(cudaGetDevice(&device));
  expect_well(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace detail

/// Bytes of shared memory that a block of the current device may have where `blocks` of them are to fit on a
/// multiprocessor.
inline std::int64_t most_shared(int blocks) {
  return std::min(detail::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                  detail::attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks -
                      detail::attribute(cudaDevAttrReservedSharedMemoryPerBlock));
}

namespace detail {

constexpr std::int64_t kSharedAtFirst = 48 << 10;

// All that there is, whatever one launch takes: another thread may be about to launch the kernel with more.
template <class K>
void allow_more_shared() {
  expect_well(cudaFuncSetAttribute(run<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(most_shared(1))));
  expect_well(cudaFuncSetAttribute(run<K>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared));
}

}  // namespace detail

/// Starts `kernel` on the stream and returns at once; nothing for no blocks. `shared`: bytes, at most most_shared(1).
template <class K>
void launch(const K& kernel, std::int64_t blocks, std::int64_t shared, Stream stream) {
  if (blocks == 0) return;
  if (shared > detail::kSharedAtFirst) detail::allow_more_shared<K>();
  detail::run<<<static_cast<unsigned>(blocks), K::threads, static_cast<std::size_t>(shared),
                static_cast<cudaStream_t>(stream)>>>(kernel);
  detail::expect_well(cudaGetLastError());
}

#else

inline int thread() { return host::current().thread; }
inline std::int64_t block() { return host::current().block; }
inline void sync() { host::wait_for_block(); }

template <class T>
T* shared() {
  return reinterpret_cast<T*>(host::current().shared);
}

inline void begin_copy(void* to, const void* from) { host::begin_copy(to, from); }
inline void end_batch() { host::end_batch(); }
template <int kBut>
void wait_for_batches() {
  host::wait_for_batches(kBut);
}

namespace detail {
template <class Bits>
Bits exchanged(Bits v, int mask) {
  return static_cast<Bits>(host::exchange(v, mask));
}
}  // namespace detail

inline void add_to(unsigned long long* sum, unsigned long long v) { *sum += v; }
inline void add_to(unsigned* sum, unsigned v) { *sum += v; }
inline void raise_to(unsigned* most, unsigned v) { *most = v > *most ? v : *most; }

inline std::int64_t most_shared(int blocks) { return host::shared_memory() / blocks; }

template <class K>
void launch(const K& kernel, std::int64_t blocks, std::int64_t shared, Stream /*stream*/) {
  host::run({blocks, K::threads, shared}, [&kernel] { kernel(); });
}

#endif

/// What the thread whose place in the warp differs from this one's by `mask` (exclusive or) passes here. All 32
/// take part. T has 4 or 8 bytes.
template <class T>
__device__ T shuffle_xor(const T& v, int mask) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long> bits;
  memcpy(&bits, &v, sizeof(T));
  bits = detail::exchanged(bits, mask);
  T out;
  memcpy(&out, &bits, sizeof(T));
  return out;
}

}  // namespace bora::cuda

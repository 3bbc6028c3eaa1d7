// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "offsets.h"

#include "../cuda/kernels/threads.h"

namespace bora::cudnn {
namespace {

struct Offsets {
  static constexpr int threads = 128;
  std::int64_t n;
  const std::int32_t* starts;
  Multiples multiples;
  std::int32_t *lengths, *offsets;

  __device__ void operator()() const {
    const std::int64_t i = cuda::block() * threads + cuda::thread();
    if (i > n) return;
    const std::int32_t at = starts[i];
    if (i < n) lengths[i] = starts[i + 1] - at;
#pragma unroll  // else the multiples are copied to the stack
    for (int row = 0; row < kMostRows; ++row)
      if (row < multiples.count)
        offsets[row * (n + 1) + i] = static_cast<std::int32_t>(at * multiples.of[row]);
  }
};

}  // namespace

void write_offsets(std::int64_t n, const std::int32_t* starts, const Multiples& multiples,
                   std::int32_t* lengths, std::int32_t* offsets, void* stream) {
  cuda::launch(Offsets{n, starts, multiples, lengths, offsets}, cuda::blocks_for(n + 1, Offsets::threads), 0,
               stream);
}

}  // namespace bora::cudnn

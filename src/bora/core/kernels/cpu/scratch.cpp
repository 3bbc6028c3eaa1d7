// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

namespace bora::kernels {
namespace {

struct Free {
  void operator()(float* p) const { std::free(p); }
};
struct Buffer {
  std::unique_ptr<float, Free> data;
  std::int64_t capacity = 0;
};

}  // namespace

float* scratch(Scratch slot, std::int64_t n) {
  thread_local std::array<Buffer, 8> buffers;
  Buffer& b = buffers[static_cast<std::size_t>(slot)];
  if (n > b.capacity) {
    const std::size_t bytes = (static_cast<std::size_t>(n) * sizeof(float) + 4095) / 4096 * 4096;
    b.data.reset();
    b.capacity = 0;
    b.data.reset(static_cast<float*>(std::aligned_alloc(4096, bytes)));
    if (!b.data) throw std::bad_alloc();
    b.capacity = static_cast<std::int64_t>(bytes / sizeof(float));
  }
  return b.data.get();
}

}  // namespace bora::kernels

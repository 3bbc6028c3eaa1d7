// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/scratch.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

namespace bora::kernels {
namespace {

constexpr std::size_t kPage = 4096, kHuge = 2 << 20;

struct Free {
  void operator()(float* p) const { std::free(p); }
};
struct Buffer {
  std::unique_ptr<float, Free> data;
  std::int64_t capacity = 0;
};

}  // namespace

float* scratch(Scratch slot, std::int64_t n) {
  thread_local std::array<Buffer, 4> buffers;
  Buffer& b = buffers[static_cast<std::size_t>(slot)];
  if (n > b.capacity) {
    // Huge pages are a wish: panels packed by one product lie in few of them.
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(float),
                      page = wanted < kHuge ? kPage : kHuge;
    const std::size_t bytes = (wanted + page - 1) / page * page;
    b.data.reset();
    b.capacity = 0;
    b.data.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
    if (!b.data) throw std::bad_alloc();
    if (page == kHuge) ::madvise(b.data.get(), bytes, MADV_HUGEPAGE);
    b.capacity = static_cast<std::int64_t>(bytes / sizeof(float));
  }
  return b.data.get();
}

}  // namespace bora::kernels

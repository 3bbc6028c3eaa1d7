// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The reusing allocator. A step asks for the same sizes in the same order as the step before; glibc would
// give each large block back to the kernel at its free and fault it in again, which costs a fifth to a half
// of a step.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "bora/core/memory/allocator.h"
#include "bora/core/memory/arena.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/runtime.h"

namespace bora::core {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLarge = std::size_t{64} << 10;  // from here on, blocks come from the arena
constexpr std::size_t kReservation = std::size_t{64} << 30;
constexpr std::size_t kSmallest = 64;
constexpr int kSteps =
    8;  // size classes of small blocks per doubling: at most 12.5 % above what was asked for
constexpr int kClasses = 10 * kSteps + 1;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kReuse = false;  // the sanitizer must see each free
#else
constexpr bool kReuse = true;
#endif

// The class that holds n bytes, and a class's size: (8 + step)/8 · 2^doubling · 64 bytes.
int class_of(std::size_t n) {
  if (n <= kSmallest) return 0;
  std::size_t units = (n + kSmallest - 1) / kSmallest;
  int doubling = 63 - __builtin_clzll(units);
  std::size_t base = std::size_t{1} << doubling;
  auto step = static_cast<int>(((units - base) * kSteps + base - 1) / base);
  return doubling * kSteps + step;
}
std::size_t size_of(int size_class) {
  std::size_t base = std::size_t{1} << (size_class / kSteps);
  std::size_t units = base + (base * static_cast<std::size_t>(size_class % kSteps) + kSteps - 1) / kSteps;
  return units * kSmallest;
}

// Stands in the 64 bytes before each block.
struct Header {
  std::size_t size;  // of the block, without this
};

class ReusingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t n) override {
    void* data = n == 0 ? nullptr : take(n);
    return {data, data, &give_back, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t n) const override { std::memcpy(to, from, n); }

  MemoryInfo info() {
    std::lock_guard lock(mutex_);
    return {live_, small_ + static_cast<std::int64_t>(arena_.touched()), peak_};
  }
  void release_unused() {
    std::lock_guard lock(mutex_);
    arena_.release_unused();
    for (auto& list : free_) {
      for (void* data : list) free_small(header(data));
      list.clear();
    }
  }

 private:
  static Header* header(void* data) {
    return reinterpret_cast<Header*>(static_cast<char*>(data) - kAlignment);
  }
  static bool in_arena(std::size_t size) { return kReuse && size >= kLarge; }
  static void give_back(void* data);

  void* take(std::size_t n) {
    std::lock_guard lock(mutex_);
    void* data = n < kLarge ? take_small(class_of(n)) : fresh(n);
    live_ += static_cast<std::int64_t>(header(data)->size);
    peak_ = std::max(peak_, live_);
    return data;
  }
  void* take_small(int wanted) {
    auto& list = free_[static_cast<std::size_t>(wanted)];
    if (list.empty()) return fresh(size_of(wanted));
    void* data = list.back();
    list.pop_back();
    return data;
  }
  void* fresh(std::size_t size) {
    const auto with_header = (size + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
    void* block = nullptr;
    if (with_header > size)
      block = in_arena(size) ? arena_.take(with_header) : std::aligned_alloc(kAlignment, with_header);
    if (block == nullptr)
      throw OutOfMemory({}, static_cast<std::int64_t>(size), {.live = live_, .peak = peak_});
    if (!in_arena(size)) small_ += static_cast<std::int64_t>(size);
    new (block) Header{size};
    return static_cast<char*>(block) + kAlignment;
  }
  void put(void* data) {
    std::lock_guard lock(mutex_);
    auto* h = header(data);
    live_ -= static_cast<std::int64_t>(h->size);
    if (in_arena(h->size)) {
      arena_.give_back(h, h->size + kAlignment);
    } else if (kReuse) {
      free_[static_cast<std::size_t>(class_of(h->size))].push_back(data);
    } else {
      free_small(h);
    }
  }
  void free_small(Header* h) {
    small_ -= static_cast<std::int64_t>(h->size);
    std::free(h);
  }

  std::mutex mutex_;
  Arena arena_{kReservation};
  std::array<std::vector<void*>, kClasses> free_;
  std::int64_t live_ = 0, small_ = 0, peak_ = 0;
};

// Never destroyed: arrays may outlive every static object.
ReusingAllocator& allocator() {
  static auto* the = new ReusingAllocator;
  return *the;
}

void ReusingAllocator::give_back(void* data) {
  if (data != nullptr) allocator().put(data);
}

}  // namespace

void install_allocator() { c10::SetCPUAllocator(&allocator(), /*priority=*/1); }
MemoryInfo memory_info() { return allocator().info(); }
void release_unused_memory() { allocator().release_unused(); }

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "host_threads.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define BORA_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BORA_ADDRESS_SANITIZER
#endif
#ifdef BORA_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves what a function must keep on the stack it leaves, and the stack's end in *from; goes on at `to`. The
// library's swapcontext asks the kernel twice for each switch, which made the tests ten times as long.
extern "C" void bora_host_switch(void** from, void* to);
asm(R"(
.text
.type bora_host_switch, @function
bora_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bora_host_switch, .-bora_host_switch
)");

namespace bora::cuda::host {
namespace {

constexpr int kWarp = 32;
constexpr std::size_t kStack = std::size_t{64} << 10;
constexpr std::int64_t kBeyond = 64;  // bytes behind the shared memory that nobody may write to
constexpr std::byte kNothing{0xff};   // NaN in every type

constexpr std::size_t kCopied = 16;  // bytes of a copy

enum class State { ready, at_block, at_warp, ended };

struct Copy {
  void* to;
  const void* from;
  int batch;
};

struct Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStack);
  void* at = nullptr;
  void* shadow = nullptr;  // the sanitizer's
  State state = State::ended;
  int turn = 0;             // exchanges so far
  std::deque<Copy> copies;  // under way
  int batches = 0;          // that have ended
};

Order order = Order::forward;
std::int64_t launched = 0;
std::int64_t most_shared = 48 << 10;
bool misplaced = false;  // a copy of the block
std::vector<Fiber> fibers;
std::vector<std::uint64_t> letters[2];  // of exchanges, by turns: who has read one may write the other
void* home = nullptr;
void* home_shadow = nullptr;
void (*call)(const void*) = nullptr;
const void* body = nullptr;

#ifdef BORA_ADDRESS_SANITIZER
const void* home_stack = nullptr;
std::size_t home_size = 0;
void leave(void** shadow, const void* stack, std::size_t size) {
  __sanitizer_start_switch_fiber(shadow, stack, size);
}
void arrive(void* shadow, bool from_home) {
  const void* stack = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(shadow, &stack, &size);
  if (from_home) std::tie(home_stack, home_size) = std::pair(stack, size);
}
void leave_for_home(void** shadow) { leave(shadow, home_stack, home_size); }
void forget(Fiber& fiber) { __asan_unpoison_memory_region(fiber.stack.get(), kStack); }
#else
void leave(void** /*shadow*/, const void* /*stack*/, std::size_t /*size*/) {}
void arrive(void* /*shadow*/, bool /*from_home*/) {}
void leave_for_home(void** /*shadow*/) {}
void forget(Fiber& /*fiber*/) {}
#endif

Fiber& running() { return fibers[static_cast<std::size_t>(current().thread)]; }

void stop(State state) {
  Fiber& fiber = running();
  fiber.state = state;
  leave_for_home(state == State::ended ? nullptr : &fiber.shadow);
  bora_host_switch(&fiber.at, home);
  arrive(fiber.shadow, true);
}

[[noreturn]] void enter() {
  arrive(nullptr, true);
  call(body);
  stop(State::ended);
  std::terminate();
}

void prepare(Fiber& fiber) {
  forget(fiber);
  fiber.state = State::ready;
  fiber.turn = 0;
  fiber.copies.clear();
  fiber.batches = 0;
  // as bora_host_switch leaves it: six registers and where to go on, at an odd multiple of 8 as after a call
  auto* top = reinterpret_cast<void**>(fiber.stack.get() + kStack - 16);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&enter);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.at = top;
}

void go_on(int thread) {
  current().thread = thread;
  Fiber& fiber = running();
  leave(&home_shadow, fiber.stack.get(), kStack);
  bora_host_switch(&home, fiber.at);
  arrive(home_shadow, false);
}

// The threads of some whole warps, in an order.
using Group = std::vector<int>;

bool release_warps(const Group& group) {
  bool any = false;
  for (const int t : group) {
    if (t % kWarp != 0) continue;
    const auto first = fibers.begin() + t;
    if (!std::all_of(first, first + kWarp, [](const Fiber& f) { return f.state == State::at_warp; }))
      continue;
    std::for_each(first, first + kWarp, [](Fiber& f) { f.state = State::ready; });
    any = true;
  }
  return any;
}

// As far as they come without the others.
void run_group(Group& group, std::mt19937* chance) {
  do {
    if (chance != nullptr) std::shuffle(group.begin(), group.end(), *chance);
    for (const int t : group) {
      if (fibers[static_cast<std::size_t>(t)].state == State::ready) go_on(t);
    }
  } while (release_warps(group));
}

std::vector<Group> groups_of(int threads) {
  const int warps = threads / kWarp;
  if (order == Order::shuffled || order == Order::by_warps) {
    Group all;
    for (int lane = 0; lane < kWarp; ++lane)
      for (int warp = 0; warp < warps; ++warp) all.push_back(warp * kWarp + lane);
    return {all};
  }
  std::vector<Group> groups;
  for (int warp = 0; warp < warps; ++warp) {
    Group& group = groups.emplace_back(kWarp);
    std::iota(group.begin(), group.end(), warp * kWarp);
    if (order == Order::backward) std::reverse(group.begin(), group.end());
  }
  if (order == Order::backward) std::reverse(groups.begin(), groups.end());
  return groups;
}

std::vector<std::int64_t> blocks_in_order(std::int64_t n, std::mt19937& chance) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(n));
  std::iota(blocks.begin(), blocks.end(), std::int64_t{0});
  if (order == Order::backward) std::reverse(blocks.begin(), blocks.end());
  if (order == Order::by_warps)
    std::stable_partition(blocks.begin(), blocks.end(), [](auto b) { return b % 2 == 1; });
  if (order == Order::shuffled) std::shuffle(blocks.begin(), blocks.end(), chance);
  return blocks;
}

bool all_are(State state) {
  return std::all_of(fibers.begin(), fibers.end(), [=](const Fiber& f) { return f.state == state; });
}

void run_block(std::vector<Group>& groups, std::mt19937& chance) {
  for (Fiber& fiber : fibers) prepare(fiber);
  for (;;) {
    for (Group& group : groups) run_group(group, order == Order::shuffled ? &chance : nullptr);
    if (all_are(State::ended)) return;
    if (!all_are(State::at_block)) {
      const bool ended =
          std::any_of(fibers.begin(), fibers.end(), [](const Fiber& f) { return f.state == State::ended; });
      throw std::logic_error(ended ? "some threads of a block have ended, others wait for them"
                                   : "threads of a block wait at different barriers");
    }
    for (Fiber& fiber : fibers) fiber.state = State::ready;
  }
}

}  // namespace

void set_order(Order o) { order = o; }
std::int64_t launches() { return launched; }
void set_shared_memory(std::int64_t bytes) { most_shared = bytes; }
std::int64_t shared_memory() { return most_shared; }

void wait_for_block() { stop(State::at_block); }

std::uint64_t exchange(std::uint64_t bits, int mask) {
  const auto me = static_cast<std::size_t>(current().thread);
  auto& letter = letters[fibers[me].turn++ % 2];
  letter[me] = bits;
  stop(State::at_warp);
  return letter[me ^ static_cast<std::size_t>(mask)];
}

void begin_copy(void* to, const void* from) {
  const auto lies_well = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kCopied == 0; };
  if (!lies_well(to) || !lies_well(from)) misplaced = true;
  running().copies.push_back({to, from, running().batches});
}

void end_batch() { ++running().batches; }

void wait_for_batches(int but) {
  Fiber& fiber = running();
  while (!fiber.copies.empty() && fiber.copies.front().batch < fiber.batches - but) {
    std::memcpy(fiber.copies.front().to, fiber.copies.front().from, kCopied);
    fiber.copies.pop_front();
  }
}

void detail::run(const Grid& grid, void (*c)(const void*), const void* b) {
  if (grid.blocks == 0) return;
  ++launched;
  if (grid.threads % kWarp != 0 || grid.threads < kWarp || grid.threads > 1024 || grid.shared > most_shared) {
    throw std::logic_error("no GPU has blocks of " + std::to_string(grid.threads) + " threads with " +
                           std::to_string(grid.shared) + " bytes");
  }
  call = c;
  body = b;
  fibers.resize(static_cast<std::size_t>(grid.threads));
  for (auto& letter : letters) letter.assign(static_cast<std::size_t>(grid.threads), 0);
  std::mt19937 chance(20);
  auto groups = groups_of(grid.threads);
  std::vector<std::byte> memory(static_cast<std::size_t>(grid.shared + kBeyond));
  current().shared = memory.data();
  for (const std::int64_t block : blocks_in_order(grid.blocks, chance)) {
    std::fill(memory.begin(), memory.end(), kNothing);
    current().block = block;
    misplaced = false;
    run_block(groups, chance);
    if (misplaced) throw std::logic_error("a block copied from or to no multiple of 16 bytes");
    if (std::any_of(memory.begin() + grid.shared, memory.end(), [](std::byte x) { return x != kNothing; }))
      throw std::logic_error("a block wrote beyond its shared memory");
  }
}

}  // namespace bora::cuda::host

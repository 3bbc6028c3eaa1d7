// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The stand-in for a GPU's threads finds the mistakes that it is there for.
#include "host_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "../kernels/threads.h"

namespace bora::cuda {
namespace {

using ::testing::ThrowsMessage;

const auto kOrders = {host::Order::forward, host::Order::backward, host::Order::by_warps,
                      host::Order::shuffled};

struct Mirror {  // out[i] = in[n - 1 - i] within each block, by way of the shared memory
  static constexpr int threads = 128;
  bool waits;
  const float* in;
  float* out;
  __device__ void operator()() const {
    auto* room = shared<float>();
    const auto at = block() * threads;
    room[thread()] = in[at + thread()];
    if (waits) sync();
    out[at + thread()] = room[threads - 1 - thread()];
  }
};

TEST(HostThreads, SeeWhatOthersWroteBeforeABarrier) {
  std::vector<float> in(3 * Mirror::threads), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  for (const auto order : kOrders) {
    host::set_order(order);
    launch(Mirror{true, in.data(), out.data()}, 3, 4 * Mirror::threads, nullptr);
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i],
                in[i / Mirror::threads * Mirror::threads + Mirror::threads - 1 - i % Mirror::threads]);
  }
}

TEST(HostThreads, DifferInTheirBitsWhereABarrierIsMissing) {
  std::vector<float> in(Mirror::threads, 1);
  std::set<std::vector<bool>> seen;
  for (const auto order : kOrders) {
    host::set_order(order);
    std::vector<float> out(in.size());
    launch(Mirror{false, in.data(), out.data()}, 1, 4 * Mirror::threads, nullptr);
    std::vector<bool> nothing;
    for (const float x : out) nothing.push_back(std::isnan(x));
    seen.insert(nothing);
  }
  EXPECT_EQ(seen.size(), 4U);
}

struct Exchange {  // sums of a warp, twice in a row
  static constexpr int threads = 64;
  float* out;
  __device__ void operator()() const {
    float v = static_cast<float>(thread());
    for (int d = kWarp / 2; d > 0; d /= 2) v += shuffle_xor(v, d);
    double w = v;
    for (int d = kWarp / 2; d > 0; d /= 2) w += shuffle_xor(w, d);
    out[thread()] = static_cast<float>(w);
  }
};

TEST(HostThreads, ExchangeWithinTheirWarp) {
  for (const auto order : kOrders) {
    host::set_order(order);
    std::vector<float> out(Exchange::threads);
    launch(Exchange{out.data()}, 1, 0, nullptr);
    for (int i = 0; i < Exchange::threads; ++i) ASSERT_EQ(out[std::size_t(i)], 32.0F * (i < 32 ? 496 : 1520));
  }
}

struct Fetch {  // out[i] = in[i], in two batches of each thread
  static constexpr int threads = 32;
  static constexpr int each = 4;
  const float* in;
  float* out;
  int waited;
  __device__ void operator()() const {
    auto* room = shared<float>();
    const int first = thread() * each, second = first + threads * each;
    begin_copy(room + first, in + first);
    end_batch();
    begin_copy(room + second, in + second);
    end_batch();
    if (waited == 1) wait_for_batches<1>();
    if (waited == 2) wait_for_batches<0>();
    for (int i = 0; i < each; ++i) {
      out[first + i] = room[first + i];
      out[second + i] = room[second + i];
    }
  }
};

TEST(HostThreads, SeeWhatTheyCopyOnceTheyHaveWaitedForIt) {
  constexpr std::size_t kHalf = Fetch::threads * Fetch::each;
  const std::vector<float> in(2 * kHalf, 1);
  for (const auto order : kOrders) {
    host::set_order(order);
    for (const int waited : {0, 1, 2}) {
      std::vector<float> out(in.size());
      launch(Fetch{in.data(), out.data(), waited}, 1, 8 * kHalf, nullptr);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(std::isnan(out[i]), waited < 1 + static_cast<int>(i / kHalf)) << i << ", " << waited;
    }
  }
}

struct CopiesBadly {
  static constexpr int threads = 32;
  const float* in;
  __device__ void operator()() const {
    begin_copy(shared<float>() + 4 * thread(), in + 4 * thread());
    end_batch();
    wait_for_batches<0>();
  }
};

struct HalfWaits {
  static constexpr int threads = 64;
  __device__ void operator()() const {
    if (thread() < 40) sync();
  }
};
struct TwoBarriers {
  static constexpr int threads = 64;
  __device__ void operator()() const {
    if (thread() < 40)
      sync();
    else
      shuffle_xor(1.0F, 1);
  }
};
struct Beyond {
  static constexpr int threads = 32;
  __device__ void operator()() const { shared<float>()[thread()] = 0; }
};

TEST(HostThreads, SayWhyABlockCannotGoOn) {
  for (const auto order : kOrders) {
    host::set_order(order);
    EXPECT_THAT([] { launch(HalfWaits(), 1, 0, nullptr); },
                ThrowsMessage<std::logic_error>("some threads of a block have ended, others wait for them"));
    EXPECT_THAT([] { launch(TwoBarriers(), 1, 0, nullptr); },
                ThrowsMessage<std::logic_error>("threads of a block wait at different barriers"));
    EXPECT_THAT([] { launch(Beyond(), 1, 120, nullptr); },
                ThrowsMessage<std::logic_error>("a block wrote beyond its shared memory"));
    EXPECT_THAT([] { launch(Beyond(), 1, 50'000, nullptr); },
                ThrowsMessage<std::logic_error>("no GPU has blocks of 32 threads with 50000 bytes"));
    alignas(16) const float in[33 * 4] = {};
    EXPECT_NO_THROW(launch(CopiesBadly{in}, 1, 512, nullptr));
    EXPECT_THAT([&] { launch(CopiesBadly{in + 1}, 1, 512, nullptr); },
                ThrowsMessage<std::logic_error>("a block copied from or to no multiple of 16 bytes"));
  }
}

TEST(HostThreads, HaveAsMuchSharedMemoryAsIsSet) {
  const auto before = host::shared_memory();
  EXPECT_EQ(most_shared(1), 48 << 10);
  host::set_shared_memory(100'000);
  EXPECT_EQ(most_shared(2), 50'000);
  EXPECT_NO_THROW(launch(Beyond(), 1, 100'000, nullptr));
  EXPECT_THROW(launch(Beyond(), 1, 100'001, nullptr), std::logic_error);
  host::set_shared_memory(before);
}

}  // namespace
}  // namespace bora::cuda

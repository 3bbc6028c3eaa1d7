// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Everything of the plug-in but its kernel, on stand-ins for devices: what can be known without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "add.h"
#include "bora/base/error.h"
#include "check.h"
#include "nccl_transport.h"
#include "stand_ins/host_devices.h"
#include "tree_sum.h"

namespace bora::nccl {
namespace {

using ::testing::Each;

class NcclLogic : public ::testing::Test {
 protected:
  void TearDown() override { testing::host_devices() = {}; }
};

std::vector<std::string> run_workers(int workers, const std::function<void(NcclTransport&)>& body,
                                     double limit = 20) {
  testing::host_devices().devices = workers;
  const auto id = make_id();
  std::vector<std::string> errors(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      try {
        NcclTransport transport({w, workers, w}, id, limit);
        body(transport);
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(w)] = e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

TEST_F(NcclLogic, TheCheckItself) {
  EXPECT_EQ(
      check_devices().words,
      "NCCL 2.28.9, 2 devices (host): one worker right (all-reduce, send and receive, split, tree sum of 8 "
      "lanes); two workers on two devices right");
  EXPECT_EQ(check_devices().outcome, Check::kRight);
}

TEST_F(NcclLogic, TheCheckOfOneDevice) {
  testing::host_devices().devices = 1;
  const auto check = check_devices();
  EXPECT_EQ(check.outcome, Check::kRight);
  EXPECT_EQ(
      check.words,
      "NCCL 2.28.9, 1 device (host): one worker right (all-reduce, send and receive, split, tree sum of 8 "
      "lanes); two workers on one device were not run, NCCL refuses them: nccl: worker 0 of 2 (device 0): "
      "ncclCommInitRankConfig: invalid usage: Duplicate GPU detected : rank 0 and rank 1 both on CUDA "
      "device 7");
}

TEST_F(NcclLogic, TheCheckOfNoDeviceAndOfABrokenOne) {
  testing::host_devices().devices = 0;
  EXPECT_EQ(check_devices().outcome, Check::kNoDevice);
  EXPECT_EQ(check_devices().words,
            "NCCL 2.28.9: no device, nothing was run (no CUDA-capable device is detected)");
  testing::host_devices() = {.devices = 1, .failing = "ncclSend"};
  const auto check = check_devices();
  EXPECT_EQ(check.outcome, Check::kWrong);
  EXPECT_EQ(
      check.words,
      "NCCL 2.28.9, 1 device (host): one worker failed: nccl: worker 0 of 1 (device 0): ncclSend: remote "
      "process exited: the cable is out");
}

std::vector<float> lane(std::int64_t i, std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t k = 0; k < n; ++k)
    out[k] = static_cast<float>((static_cast<std::size_t>(i) * 7919 + k * 104729) % 1000003) * 1e-3F - 400.0F;
  return out;
}

std::vector<float> added(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> out;
  for (const float v : values) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

TEST_F(NcclLogic, TreeSumsOfAnyNumberOfWorkers) {
  constexpr std::size_t n = 1003;
  constexpr std::int64_t lanes = 8;
  mesh::LaneMerge<std::vector<float>> tree;
  std::vector<float> running(n);
  for (std::int64_t i = 0; i < lanes; ++i) {
    tree.push({i, 1}, lane(i, n), added);
    running = added(running, lane(i, n));
  }
  const auto want = bits(tree.nodes()[0].value);
  ASSERT_NE(bits(running), want);
  for (const int workers : {1, 2, 3, 4, 5, 8, 9}) {
    const auto errors = run_workers(workers, [&](NcclTransport& t) {
      TreeSum sum(t, lanes, n);
      for (const bool in_place : {false, true}) {
        const auto owned = mesh::owned_lanes(t.rank(), t.size(), lanes);
        std::vector<std::vector<float>> arrays;
        std::vector<float*> own;
        for (std::int64_t i = 0; i < owned.lanes; ++i) arrays.push_back(lane(owned.first + i, n));
        for (auto& array : arrays) own.push_back(array.data());
        std::vector<float> out(n);
        float* to = in_place && !own.empty() ? own[0] : out.data();
        sum.sum(own, to);
        EXPECT_EQ(bits({to, n}), want) << workers << " workers";
      }
    });
    EXPECT_THAT(errors, Each("")) << workers;
  }
}

TEST_F(NcclLogic, ABatchEndsWhenAllHasCome) {
  const auto errors = run_workers(2, [](NcclTransport& t) {
    std::array<std::byte, 5> out{}, in{};
    out.fill(static_cast<std::byte>(t.rank() + 1));
    const int peer = 1 - t.rank();
    const mesh::Message both{peer, out, in};
    EXPECT_TRUE(t.finished());
    t.start({});
    EXPECT_TRUE(t.finished());
    t.start({&both, 1});
    EXPECT_FALSE(t.finished());
    try {
      t.start({&both, 1});
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.what(),
                fmt::format("nccl: worker {0} of 2 (device {0}): start: the batch before it has not "
                            "finished",
                            t.rank()));
    }
    while (!t.finished()) {
    }
    EXPECT_EQ(in[4], static_cast<std::byte>(peer + 1));
  });
  EXPECT_THAT(errors, Each(""));
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

thread_local CUstream_st* computing = nullptr;

// What computes has a stream of its own: a transfer waits for what that was given before.
TEST_F(NcclLogic, ABatchBeginsWhenWhatComputesHasEnded) {
  testing::host_devices().devices = 2;
  const auto id = make_id();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      try {
        const Place place{w, 2, w};
        const auto own = make_stream(place);
        computing = own.get();
        NcclTransport t(place, id, 20, [] { return static_cast<void*>(computing); });
        const auto part = t.split_off(0, w);
        for (auto* one : {&t, part.get()}) {
          const std::vector<float> more(100, 1.5F);
          std::vector<float> mine(100, static_cast<float>(w)), theirs(100);
          place.check(add_into(mine.size(), mine.data(), more.data(), own.get()), "add_into");
          EXPECT_EQ(mine[3], static_cast<float>(w)) << "not computed yet";
          const mesh::Message both{1 - w, std::as_bytes(std::span(mine)),
                                   std::as_writable_bytes(std::span(theirs))};
          one->start({&both, 1});
          one->wait("exchange");
          EXPECT_EQ(theirs[99], static_cast<float>(1 - w) + 1.5F);
          place.check(add_into(mine.size(), mine.data(), more.data(), own.get()), "add_into");
          one->sum(mine);
          EXPECT_EQ(mine[7], 0.0F + 1.0F + 4 * 1.5F);
        }
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(w)] = e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(""));
}

// Two that are on their way at once, and each worker asks for another one first.
TEST_F(NcclLogic, BatchesComeInTheOrderInWhichTheyWereBegun) {
  const auto errors = run_workers(
      2,
      [](NcclTransport& t) {
        const auto part = t.split_off(0, t.rank());
        std::array<std::byte, 5> out{}, first{}, second{};
        out.fill(static_cast<std::byte>(t.rank() + 1));
        const mesh::Message one{1 - t.rank(), out, first}, other{1 - t.rank(), out, second};
        for (int round = 0; round < 3; ++round) {
          t.start({&one, 1});
          part->start({&other, 1});
          if (t.rank() == 0) part->wait("second");
          t.wait("first");
          part->wait("second");
          EXPECT_EQ(first, second);
          EXPECT_EQ(first[4], static_cast<std::byte>(2 - t.rank()));
        }
      },
      5);
  EXPECT_THAT(errors, Each(""));
}

TEST_F(NcclLogic, DevicesAreToldApartByTheirPlaceOnTheBus) {
  EXPECT_EQ((Place{0, 1, 1}.identity()), "0000:01:00.0");
  testing::host_devices().devices = 1;
  EXPECT_EQ(error_of([] { (void)Place{0, 1, 1}.identity(); }),
            "nccl: worker 0 of 1 (device 1): cudaDeviceGetPCIBusId: invalid device ordinal");
}

TEST_F(NcclLogic, NobodyWaitsLongerThanTheLimit) {
  const auto errors = run_workers(
      2,
      [](NcclTransport& t) {
        if (t.rank() == 1) return;
        std::array<std::byte, 5> in{};
        const mesh::Message message{1, {}, in};
        t.start({&message, 1});
        t.wait("gather");
      },
      0.2);
  EXPECT_EQ(errors[0], "nccl: worker 0 of 2 (device 0): gather: not complete after 0.2 s");
  EXPECT_EQ(errors[1], "");
  const auto id = make_id();
  try {
    NcclTransport alone({0, 2, 0}, id, 0.1);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Stopped);
    EXPECT_STREQ(e.what(),
                 "nccl: worker 0 of 2 (device 0): ncclCommInitRankConfig: not complete after 0.1 s");
  }
}

TEST_F(NcclLogic, Errors) {
  const auto errors = run_workers(1, [](NcclTransport& t) {
    EXPECT_EQ(error_of([&] { TreeSum(t, 6, 10); }),
              "nccl: worker 0 of 1 (device 0): tree sum: the number of lanes must be a power of two, not 6");
    EXPECT_EQ(error_of([&] { TreeSum(t, 4, 10).sum({}, nullptr); }),
              "nccl: worker 0 of 1 (device 0): tree sum: 0 lanes were given, it owns 4 of the 4");
    EXPECT_EQ(
        error_of([&] { t.share(64); }),
        "nccl: worker 0 of 1 (device 0): share: 64 bytes: workers of a host do not see each other's device "
        "memory\nhint: messages, or blocks of the workers' own transport (mpi)");
    testing::host_devices().failing = "ncclSend";
    std::array<std::byte, 5> out{};
    const mesh::Message message{0, out, {}};
    EXPECT_EQ(error_of([&] { t.start({&message, 1}); }),
              "nccl: worker 0 of 1 (device 0): ncclSend: remote process exited: the cable is out");
    EXPECT_EQ(error_of([&] { t.start({&message, 1}); }),
              "nccl: worker 0 of 1 (device 0): start: NCCL was given up after a failure");
    EXPECT_EQ(error_of([&] { t.finished(); }),
              "nccl: worker 0 of 1 (device 0): finished: NCCL was given up after a failure");
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_EQ(error_of([] { NcclTransport({0, 1, 3}, make_id(), 1); }),
            "nccl: worker 0 of 1 (device 3): cudaSetDevice: invalid device ordinal");
}

}  // namespace
}  // namespace bora::nccl

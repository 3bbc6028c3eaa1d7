// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Messages that lie in the memory of a device, and who comes to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/update.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/collectives.h"
#include "bora/mesh/device_transport.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/tree_reduce.h"
#include "fake_device.h"

namespace bora {
namespace {

using mesh::Cargo;
using mesh::Communicator;
using mesh::testing::thrown_by;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr core::Device kOnHost{}, kOfTests{core::Device::Type::test, 0};
constexpr std::string_view kCounted[] = {"counted"};
constexpr std::int64_t kCount = 50000;

core::Array counted(float first, core::DType dtype = core::DType::f32) {
  const std::int64_t sizes[] = {kCount};
  return core::arange({kCounted, sizes}, dtype == core::DType::i64 ? std::floor(first) : first, 1, dtype);
}

std::vector<std::string> workers_there(int count, const std::function<void(Communicator&)>& body) {
  const core::DeviceScope there(kOfTests);
  return mesh::testing::run_workers({.count = count}, body);
}

// Sets a variable while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(DeviceMessages, GoFromMemoryToMemoryOfTheDevice) {
  fake_device::reset();
  const auto errors = workers_there(2, [](Communicator& c) {
    ASSERT_TRUE(c.carries(kOfTests));
    EXPECT_FALSE(c.carries(kOnHost));
    const auto mine = counted(static_cast<float>(c.rank()));
    const auto theirs = counted(0), again = counted(0);
    const Cargo out(c, mine, Cargo::Use::read);
    Cargo in(c, theirs, Cargo::Use::write);
    EXPECT_EQ(out.memory(), mesh::Memory::device);
    const int other = 1 - c.rank();
    c.exchange_all(std::vector{out.to(other, 0, 7), in.from(other, kCount - 7, 7)});
    in.finish();
    const auto part = c.split(0, -c.rank());  // the other way round
    ASSERT_TRUE(part->carries(kOfTests));
    Cargo rest(*part, again, Cargo::Use::write);
    part->start_exchange(std::vector{out.to(c.rank()), rest.from(c.rank())}, "all");
    part->finish_exchange();
    rest.finish();
    EXPECT_EQ(fake_device::counts().host_bytes, 0);
    c.barrier();
    EXPECT_EQ(theirs.to_vector<float>()[kCount - 7], static_cast<float>(other));
    EXPECT_EQ(theirs.to_vector<float>()[1], 1);
    EXPECT_EQ(again.to_vector<float>()[5], static_cast<float>(other + 5));
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_EQ(fake_device::counts().carried_bytes, 2 * 4 * (7 + kCount));
}

TEST(DeviceMessages, AreToldFromThoseOfTheHost) {
  const auto errors = workers_there(2, [](Communicator& c) {
    const core::DeviceScope host(kOnHost);
    const auto x = counted(0);
    const Cargo here(c, x, Cargo::Use::read);
    EXPECT_EQ(here.memory(), mesh::Memory::host);
    auto wrong = here.to(1 - c.rank());
    wrong.memory = mesh::Memory::device;
    EXPECT_THAT(thrown_by([&] { c.exchange_all({&wrong, 1}, "try"); }),
                HasSubstr("device of the tests: 200000 bytes of a message lie in the host's memory\n"
                          "hint: send them as such"));
  });
  EXPECT_THAT(errors, Each(""));
  const Variable through_host("TEST_TRANSPORT", "host");
  const auto without = workers_there(2, [](Communicator& c) {
    const auto x = counted(0);
    const Cargo copied(c, x, Cargo::Use::read);
    EXPECT_EQ(copied.memory(), mesh::Memory::host);
    auto wrong = copied.to(1 - c.rank());
    wrong.memory = mesh::Memory::device;
    EXPECT_EQ(thrown_by([&] { c.exchange_all({&wrong, 1}, "try"); }),
              "try: a message lies in the memory of a device, and threads moves that of the host\n"
              "hint: carry() first");
  });
  EXPECT_THAT(without, Each(""));
}

TEST(DeviceMessages, WhatTheyAreNotMadeOf) {
  const auto errors = workers_there(2, [](Communicator& c) {
    const std::int64_t sizes[] = {3, 2};
    static constexpr std::string_view kTwo[] = {"a", "b"};
    const auto column = core::read_slice(core::zeros({kTwo, sizes}), 1, 0, 1);
    EXPECT_THAT(
        thrown_by([&] { Cargo(c, column, Cargo::Use::read); }),
        HasSubstr("device view: the array of sizes [3, 1] is not contiguous\nhint: clone() it first"));
    EXPECT_THAT(Cargo(c, core::Array(), Cargo::Use::read).to(1).out, ::testing::IsEmpty());
  });
  EXPECT_THAT(errors, Each(""));
}

// Of types whose sums are rounded in different ways, by workers of whom some have more elements than others.
TEST(DeviceMessages, SumsOverWorkersHaveTheBitsOfTheHost) {
  for (const auto dtype : {core::DType::f32, core::DType::bf16, core::DType::i64, core::DType::f64}) {
    for (const int workers : {1, 2, 3, 4}) {
      const auto sums = [&](bool direct) {
        std::vector<std::vector<double>> out(static_cast<std::size_t>(workers));
        const auto errors = workers_there(workers, [&](Communicator& c) {
          EXPECT_EQ(c.carries(kOfTests), direct && workers > 1);
          mesh::AxisCollectives axis(mesh::testing::borrowed(c));
          core::Array sum = counted(0.1F + 1e4F * static_cast<float>(c.rank()), dtype), most = sum.clone();
          axis.all_reduce(sum, core::Collectives::Combine::sum);
          axis.all_reduce(most, core::Collectives::Combine::max);
          const std::int64_t each[] = {kCount / workers}, cut[] = {kCount / workers * workers};
          core::Array part = core::uninitialized({kCounted, each}, dtype),
                      all = core::uninitialized({kCounted, cut}, dtype);
          const double first = dtype == core::DType::i64 ? c.rank() : 0.7 * c.rank();
          axis.reduce_scatter(core::arange({kCounted, cut}, first, 1, dtype), part);
          axis.all_gather(part, all);
          auto& mine = out[static_cast<std::size_t>(c.rank())];
          for (const auto* x : {&sum, &most, &part, &all})
            for (const double v : x->to_vector<double>()) mine.push_back(v);
        });
        EXPECT_THAT(errors, Each(""));
        return out;
      };
      const auto direct = sums(true);
      const Variable through_host("TEST_TRANSPORT", "host");
      EXPECT_EQ(direct, sums(false)) << core::name(dtype) << ", " << workers << " workers";
    }
  }
}

TEST(DeviceMessages, TheTreeOfGradientsDoesNotPassThroughTheHost) {
  constexpr std::int64_t kLanes = 8;
  const auto total = [&](int workers) {
    std::vector<float> out;
    fake_device::reset();
    const auto errors = workers_there(workers, [&](Communicator& c) {
      const auto like = counted(0);
      const core::Array* const arrays[] = {&like};
      mesh::TreeReduce all(c, arrays);
      mesh::LaneTree tree(kLanes, 1);
      const auto own = mesh::owned_lanes(c.rank(), c.size(), kLanes);
      for (std::int64_t lane = own.first; lane < own.first + own.lanes; ++lane)
        tree.push({lane, 1, {counted(0.3F + 1e5F / static_cast<float>(lane + 1))}, {}});
      const auto sum = all.reduce(tree);
      c.barrier();
      EXPECT_EQ(fake_device::counts().host_bytes, 0);
      c.barrier();
      if (c.rank() == 0) out = sum.arrays[0].to_vector<float>();
    });
    EXPECT_THAT(errors, Each(""));
    return out;
  };
  const auto want = total(1);
  for (const int workers : {2, 3, 4}) EXPECT_EQ(total(workers), want) << workers << " workers";
}

std::string said_to(int rank, int workers, const std::function<core::Device(int)>& device_of) {
  std::string out;
  const auto errors = mesh::testing::run_workers({.count = workers}, [&](Communicator& c) {
    const auto own = device_of(c.rank());
    const core::DeviceScope there(own);
    const auto words = mesh::connect_devices(c, own);
    if (c.rank() == rank) out = words;
  });
  EXPECT_THAT(errors, Each(""));
  return out;
}

TEST(DeviceTransports, AreThereWhereAllWorkersHaveThem) {
  const auto all_there = [](int) { return kOfTests; };
  EXPECT_EQ(said_to(1, 2, all_there), "messages go from device to device by the device of the tests");
  EXPECT_EQ(said_to(0, 1, all_there), "");
  EXPECT_EQ(said_to(0, 2, [](int) { return kOnHost; }), "");
  EXPECT_EQ(said_to(0, 2, [](int rank) { return rank == 0 ? kOfTests : kOnHost; }),
            "messages go through the memory of the host: worker 1 computes on cpu, which has no others");
  {
    const Variable through_host("TEST_TRANSPORT", "host");
    EXPECT_EQ(said_to(1, 2, all_there),
              "messages go through the memory of the host: worker 0: TEST_TRANSPORT says so");
  }
  const Variable one("TEST_GPU", "0000:17:00.0");
  EXPECT_EQ(
      said_to(1, 3, all_there),
      "messages go through the memory of the host: workers 0 and 1 share GPU 0000:17:00.0 of host here");
}

}  // namespace
}  // namespace bora

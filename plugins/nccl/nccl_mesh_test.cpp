// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The tests of bora/mesh with messages by the plug-in's transport, over the stand-ins for CUDA and NCCL: this process's
// memory is that of the devices, so that what a run does on several GPUs is done, with the plug-in's own code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "bora/core/create.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/device_transport.h"
#include "bora/mesh/test_communicator.h"
#include "nccl_transport.h"
#include "stand_ins/host_devices.h"

namespace {

std::unique_ptr<bora::mesh::Transport> open(bora::mesh::Communicator& world, bora::core::Device /*own*/) {
  bora::mesh::NcclId id{};
  if (world.rank() == 0) id = bora::nccl::make_id();
  world.broadcast(0, id);
  return std::make_unique<bora::nccl::NcclTransport>(
      bora::nccl::Place{world.rank(), world.size(), world.rank()}, id, world.deadline());
}

[[maybe_unused]] const bool registered = [] {
  bora::nccl::testing::host_devices().devices = 64;
  bora::mesh::register_device_transports(bora::core::Device::Type::cpu,
                                         {.name = "NCCL",
                                          .absent = [] { return std::string(); },
                                          .identity = [](bora::core::Device) { return std::string(); },
                                          .open = open});
  return true;
}();

// The worker whose call fails says so to all, and nobody waits for it.
TEST(NcclRun, ACallThatFailsEndsIt) {
  using ::testing::HasSubstr;
  namespace mesh = bora::mesh;
  auto& devices = bora::nccl::testing::host_devices();
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    ASSERT_TRUE(c.carries({}));
    c.activity("step 3");
    static constexpr std::string_view kNames[] = {"x"};
    const std::int64_t sizes[] = {1000};
    const auto x = bora::core::zeros({kNames, sizes}), y = bora::core::zeros({kNames, sizes});
    const mesh::Cargo out(c, x, mesh::Cargo::Use::read), in(c, y, mesh::Cargo::Use::write);
    const int other = 1 - c.rank();
    c.exchange_all(std::vector{out.to(other), in.from(other)});
    c.barrier();
    if (c.rank() == 1) {
      c.exchange_all(std::vector{in.from(other)}, "gradients");
      return;
    }
    devices.failing = "ncclSend";
    c.exchange_all(std::vector{out.to(other)}, "gradients");
  });
  devices.failing.clear();
  EXPECT_EQ(
      errors[0],
      "worker 0 (host here) in step 3: gradients: nccl: worker 0 of 2 (device 0): ncclSend: remote process "
      "exited: the cable is out");
  EXPECT_EQ(
      errors[1],
      "gradients: worker 1 (host here) in step 3: worker 0 (host here) has failed: gradients: nccl: worker 0 of "
      "2 (device 0): ncclSend: remote process exited: the cable is out");
}

}  // namespace

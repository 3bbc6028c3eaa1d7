// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/communicator.h"

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

class SelfCommunicator : public Communicator {
 public:
  std::string_view transport() const override { return "self"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void exchange(int peer, std::span<const std::byte>, std::span<std::byte>) override {
    fail(ErrorKind::InvalidArgument, "exchange: there is no worker {}, this run has one worker", peer);
  }
  void broadcast(int from, std::span<std::byte>) override {
    if (from != 0)
      fail(ErrorKind::InvalidArgument, "broadcast: there is no worker {}, this run has one worker", from);
  }
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() { return std::make_unique<SelfCommunicator>(); }

}  // namespace bora::mesh

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Messages that lie in the memory of the device of the tests: what NCCL is to GPUs. The workers' own transport of host
// memory moves them, between the places behind the device's addresses; another address is an error, as it would be
// there. With TEST_TRANSPORT=host there is none, and everything goes through the host.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/mesh/device_transport.h"
#include "fake_device.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

class Carrier final : public mesh::Transport {
 public:
  explicit Carrier(std::unique_ptr<mesh::Transport> host) : host_(std::move(host)) {}
  std::string_view name() const override { return "test"; }
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }

  void start(std::span<const mesh::Message> messages) override {
    std::vector<mesh::Message> there;
    for (const auto& m : messages) {
      const auto out = behind(m.out.data(), m.out.size());
      there.push_back({m.peer, out, behind(m.in.data(), m.in.size())});
      carried(static_cast<std::int64_t>(out.size()));
    }
    host_->start(there);
  }
  bool finished() override { return host_->finished(); }
  void sum(std::span<float> values) override {
    const auto bytes = behind(std::as_bytes(values).data(), values.size_bytes());
    carried(static_cast<std::int64_t>(bytes.size()));
    host_->sum({reinterpret_cast<float*>(bytes.data()), values.size()});
  }
  std::unique_ptr<mesh::Transport> split(int color, int key) override {
    return std::make_unique<Carrier>(host_->split(color, key));
  }
  std::unique_ptr<mesh::SharedBlocks> share(std::size_t bytes) override {
    fail(ErrorKind::Unsupported, "device of the tests: {} bytes: workers do not share its memory", bytes);
  }
  void abandon() noexcept override { host_->abandon(); }

 private:
  static std::span<std::byte> behind(const std::byte* at, std::size_t bytes) {
    if (bytes == 0) return {};
    if (!is_address(at))
      fail(ErrorKind::InvalidArgument,
           "device of the tests: {} bytes of a message lie in the host's memory\nhint: send them as such",
           bytes);
    return {static_cast<std::byte*>(shadow(at)), bytes};
  }

  std::unique_ptr<mesh::Transport> host_;
};

[[maybe_unused]] const bool registered = [] {
  mesh::register_device_transports(
      core::Device::Type::test,
      {.name = "the device of the tests",
       .absent =
           [] {
             return env::for_tests("TEST_TRANSPORT") == "host" ? "TEST_TRANSPORT says so" : std::string();
           },
       .identity = [](core::Device /*device*/) { return env::for_tests("TEST_GPU").value_or(""); },
       .open = [](mesh::Communicator& world,
                  core::Device /*own*/) { return std::make_unique<Carrier>(world.another_transport()); }});
  return true;
}();

}  // namespace
}  // namespace bora::fake_device

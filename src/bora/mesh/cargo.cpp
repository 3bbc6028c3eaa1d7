// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/cargo.h"

#include "bora/core/device.h"

namespace bora::mesh {

Cargo::Cargo(const Communicator& workers, const core::Array& x, Use use) {
  if (x.empty()) return;
  elements_ = x.numel();
  width_ = core::bytes(x.dtype());
  if (workers.carries(core::device_of(x))) {
    memory_ = Memory::device;
    device_ = core::DeviceView(x, use);
  } else {
    host_ = core::HostView(x, use);
  }
}

std::span<std::byte> Cargo::bytes() const {
  if (elements_ == 0) return {};
  if (memory_ == Memory::device) return device_.bytes();
  return host_.bytes();
}

std::span<float> Cargo::floats() const {
  const auto all = bytes();
  return {reinterpret_cast<float*>(all.data()), all.size() / sizeof(float)};
}

std::span<std::byte> Cargo::part(std::int64_t first, std::int64_t count) const {
  return bytes().subspan(static_cast<std::size_t>(first) * width_, static_cast<std::size_t>(count) * width_);
}

Message Cargo::to(int peer, std::int64_t first, std::int64_t count) const {
  return {peer, part(first, count), {}, memory_};
}

Message Cargo::from(int peer, std::int64_t first, std::int64_t count) const {
  return {peer, {}, part(first, count), memory_};
}

void Cargo::finish() {
  host_.finish();
  device_.finish();
}

}  // namespace bora::mesh

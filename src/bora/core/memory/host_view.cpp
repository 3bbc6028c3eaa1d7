// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/host_view.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>
#include <fmt/ranges.h>

#include <utility>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/shard.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

at::Tensor empty_on_host(const at::Tensor& like) {
  return at::_ops::empty_memory_format::call(like.sym_sizes(), like.scalar_type(), {}, at::Device(at::kCPU),
                                             {}, {});
}

}  // namespace

HostView::HostView(const Array& x, Use use) try : use_(use) {
  if (x.empty() || tensor(x).is_cpu()) {
    host_ = x;
    return;
  }
  refuse_stored("host view", {x, {}});
  const at::Tensor& t = tensor(x);
  if (!t.is_contiguous()) {
    fail(ErrorKind::InvalidArgument,
         "host view: the array of sizes [{}] is not contiguous\nhint: clone() it first",
         fmt::join(t.sizes(), ", "));
  }
  at::Tensor copy = empty_on_host(t);
  if (use != Use::write) copy.copy_(t.detach());
  host_ = wrap(std::move(copy));
  device_ = x;
} catch (...) {
  rethrow("host view", {Operand{x, {}}});
}

HostView& HostView::operator=(HostView&& other) noexcept {
  finish();
  host_ = std::move(other.host_);
  device_ = std::move(other.device_);
  use_ = other.use_;
  return *this;
}

// NOLINTNEXTLINE(bugprone-exception-escape): a device that takes no copy any more ends the program
void HostView::finish() {
  // apart from what is recorded, as a pointer would write
  if (!device_.empty() && use_ != Use::read) {
    tensor(device_).variable_data().copy_(tensor(host_));
    autograd::has_changed(tensor(device_), false);
  }
  host_ = {};
  device_ = {};
}

std::span<std::byte> HostView::bytes() const {
  auto* data = local_data<std::byte>(host_);
  return {data, static_cast<std::size_t>(host_.numel()) * core::bytes(host_.dtype())};
}

std::span<float> HostView::floats() const {
  return {local_data<float>(host_), static_cast<std::size_t>(host_.numel())};
}

}  // namespace bora::core

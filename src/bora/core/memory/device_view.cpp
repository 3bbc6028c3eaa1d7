// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/device_view.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/ranges.h>

#include <utility>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/stored.h"

namespace bora::core {

DeviceView::DeviceView(const Array& x, HostView::Use use) try : array_(x), use_(use) {
  if (x.empty()) return;
  refuse_stored("device view", {x, {}});
  if (!tensor(x).is_contiguous()) {
    fail(ErrorKind::InvalidArgument,
         "device view: the array of sizes [{}] is not contiguous\nhint: clone() it first",
         fmt::join(tensor(x).sizes(), ", "));
  }
} catch (...) {
  rethrow("device view", {Operand{x, {}}});
}

DeviceView& DeviceView::operator=(DeviceView&& other) noexcept {
  finish();
  array_ = std::move(other.array_);
  use_ = other.use_;
  return *this;
}

std::span<std::byte> DeviceView::bytes() const {
  if (array_.empty()) return {};
  const auto& t = tensor(array_);
  return {static_cast<std::byte*>(t.mutable_data_ptr()),
          static_cast<std::size_t>(t.numel()) * t.element_size()};
}

void DeviceView::finish() {
  if (!array_.empty() && use_ != HostView::Use::read) autograd::has_changed(tensor(array_), false);
  array_ = {};
}

void* stream_of(Device device) {
  const auto where = torch_device(device);
  const auto* backend = c10::impl::getDeviceGuardImpl(where.type());
  return backend->getStreamNativeHandle(backend->getStream(where));
}

}  // namespace bora::core

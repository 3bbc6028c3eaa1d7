// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: devices as libtorch names them.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "bora/core/device.h"
#include "bora/core/device_kernels.h"

namespace bora::core {

c10::Device torch_device(Device device);
Device from_torch(c10::Device device);
/// Its device's; of the CPU, and in a PlainOpsScope, none.
const DeviceKernels& device_kernels(const at::Tensor& x);
/// The same in a PlainOpsScope too: of what a kernel has recorded.
const DeviceKernels& recorded_kernels(const at::Tensor& x);
/// Of the devices of a type on which they run.
const DeviceKernels& kernels_of(Device::Type type);
const DeviceKernels& kernels_on(Device device);
/// Where they work.
DeviceKernels::Stream stream_of(const at::Tensor& x);
/// torch_device(default_device())
c10::Device new_array_device();

}  // namespace bora::core

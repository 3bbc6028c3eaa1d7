// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: devices as libtorch names them.
#pragma once
#include <c10/core/Device.h>

#include "bora/core/device.h"

namespace bora::core {

c10::Device torch_device(Device device);
Device from_torch(c10::Device device);
/// torch_device(default_device())
c10::Device new_array_device();

}  // namespace bora::core

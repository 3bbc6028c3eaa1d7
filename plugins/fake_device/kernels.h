// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/core/device_kernels.h"

namespace bora::fake_device {

/// The device's own, as core takes them.
core::DeviceKernels kernels();
core::DeviceKernels::ActivatedProduct activated_products();

/// Where the host may read and write what lies at an address of the device; null for null.
void* shadow(const void* p);
/// Whether the device's own take attention.
void take_attention(bool on);
/// Whether the device has a library for attention.
void bring_attention_library(bool on);
/// Counts an operation; and one that is a kernel of its own.
void computed(const std::string& name);
void launched(const std::string& name);

}  // namespace bora::fake_device

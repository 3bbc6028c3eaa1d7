// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/cli/device_flag.h"
#include "bora/core/weight_type.h"
#include "bora/run/run_device.h"

namespace bora::cli {

/// After core::initialize(), before the model is opened. Unsupported, in the name of `command`, if there is no
/// device of its kind; Usage error for `weights` that are read by the CPU alone.
run::RunDevice open_device(const DeviceFlag& flag, std::string_view command,
                           core::WeightType weights = core::WeightType::f32);

/// The Usage error for `weights` on a device, which the user called `word`.
void require_readable(core::WeightType weights, core::Device device, std::string_view command,
                      std::string_view word);

}  // namespace bora::cli

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/device_lists.h"
#include "threads.h"

namespace bora::cuda {

/// As core::DeviceKernels::Slots. T: std::int32_t or std::int64_t.
template <class T>
void plan_slots(std::int64_t n, std::int64_t experts, const T* choices, const kernels::SlotPlaces& to,
                std::int32_t* room, Stream stream);
std::int64_t slots_room(std::int64_t n, std::int64_t experts);

}  // namespace bora::cuda

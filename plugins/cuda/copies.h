// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::cuda {

// core::DeviceKernels::Copies, by CUDA's streams and events.
void* pinned(std::int64_t bytes);
void* copy_stream(std::int8_t device);
void* copy_event(std::int8_t device);
bool record_event(void* event, void* stream);
bool wait_for_event(void* stream, void* event);
bool begin_copy(void* to, const void* from, std::int64_t bytes, void* stream);

}  // namespace bora::cuda

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Memory that ran out, on the host or on a device, in the same words wherever it happens.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/error.h"
#include "bora/core/device.h"
#include "bora/core/device_kernels.h"

namespace bora::core {

/// What to try, for the end of an error: "hint: " goes in front.
inline constexpr std::string_view kMemoryAdvice =
    "more trainer.lanes or a smaller trainer.train_batch_size (generate: --batch), "
    "model.gradient_checkpointing: true, or a shorter model.seq_len";

/// "out of memory on cuda:0: 2.00 GB more do not fit beside 77.0 GB in use; 1.20 GB of 80.0 GB are free".
/// `asked` is left out where nobody tells it, and so is what the device does not tell.
std::string out_of_memory_text(Device device, std::string_view asked, const DeviceMemory& memory);

/// What an allocator throws. An op in which it happens puts its name in front and adds its operands.
class OutOfMemory : public Error {
 public:
  /// `asked`: bytes that are not to be had beside `memory`.
  OutOfMemory(Device device, std::int64_t asked, const DeviceMemory& memory);
  const std::string& fact() const noexcept { return fact_; }

 private:
  explicit OutOfMemory(std::string fact);
  std::string fact_;
};

}  // namespace bora::core

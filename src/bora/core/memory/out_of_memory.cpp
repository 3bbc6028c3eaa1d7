// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/out_of_memory.h"

#include <fmt/format.h>

#include <utility>

#include "bora/base/text.h"

namespace bora::core {
namespace {

std::string bytes(std::int64_t n) { return human_bytes(static_cast<double>(n)); }

}  // namespace

std::string out_of_memory_text(Device device, std::string_view asked, const DeviceMemory& memory) {
  std::string text = "out of memory";
  if (device != Device()) text += " on " + name(device);
  if (!asked.empty()) text += fmt::format(": {} more do not fit beside {} in use", asked, bytes(memory.live));
  if (memory.total > 0) text += fmt::format("; {} of {} are free", bytes(memory.free), bytes(memory.total));
  return text;
}

OutOfMemory::OutOfMemory(Device device, std::int64_t asked, const DeviceMemory& memory)
    : OutOfMemory(out_of_memory_text(device, bytes(asked), memory)) {}

OutOfMemory::OutOfMemory(std::string fact)
    : Error(ErrorKind::Io, fmt::format("{}\nhint: {}", fact, kMemoryAdvice)), fact_(std::move(fact)) {}

}  // namespace bora::core

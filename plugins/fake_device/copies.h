// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The device's stream of copies (DeviceKernels::Copies), as far from the other streams as events permit. A GPU may do a copy
// at any time between what it has to wait for and what waits for it: here at the one end or at the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bora/core/device_kernels.h"

namespace bora::fake_device {

/// When a copy is done: with its own call, as at the beginning; as late as may be, when a stream waits for it, with what
/// memory holds then; or as early, with what memory held when the event was recorded that copies have waited for last.
/// What the device has done to the memory since then is done after the copy.
enum class Copied { at_once, late, early };
class CopiedWhen {
 public:
  explicit CopiedWhen(Copied when);  ///< while it lives, one at a time
  ~CopiedWhen();
  CopiedWhen(const CopiedWhen&) = delete;
  CopiedWhen& operator=(const CopiedWhen&) = delete;
};

struct CopyCounts {
  std::int64_t out = 0, back = 0;  ///< copies to the host and from it
  std::int64_t out_bytes = 0, back_bytes = 0;
  std::int64_t waits = 0;  ///< of a stream for an event
};
/// Since reset(); those of graphs' launches too.
CopyCounts copy_counts();
/// From now on the wait of this number, counted from 0 on, is not done; none: all are.
void leave_out_wait(std::optional<std::int64_t> number);
/// From now on so much pinned memory can be had for copies, beside what was taken; none: as much as one wants.
void limit_pinned(std::optional<std::int64_t> bytes);
/// What the device does not take, as where it is lost: the start of a copy either way, or another stream's wait for one.
enum class Refused { out, back, wait };
/// From now on such calls beyond the next `after` are refused; none: all are taken.
void refuse_copies(std::optional<Refused> what, std::int64_t after = 0);

// Of the device itself.
core::DeviceKernels::Copies copies_entries();
void reset_copy_counts();
/// The memory was taken or given back: what was there is gone.
void cleared(const char* at, std::size_t bytes);
/// Whether some copy has begun that no stream has waited for.
bool copies_under_way();
/// A graph begins: copies are none of it before they wait for what is.
void copies_before_graph();

}  // namespace bora::fake_device

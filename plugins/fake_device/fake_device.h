// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A device of host memory, for tests (core::Device::Type::test, libtorch's PrivateUse1): it shows on any
// machine what a GPU would do to a program. Its arrays lie at addresses that nobody may touch, so that a host
// that takes one for a pointer of its own dies at once; memory is never zero by luck, and NaN when it was
// freed. Every operation is libtorch's for the CPU, over a shadow of that memory. Its stream is never busy; that of copies
// (copies.h) is as late or as early as a GPU's may be.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace bora::fake_device {

/// What the device did since reset(): how often the host waited for it (a number read, an array copied to the
/// host, or from its memory that is not pinned), how often it got an array without a wait, how many operations it
/// computed, how many of these were kernels of its own (core/device_kernels.h), the bytes of arrays that went to the
/// host or came from it, and those of messages that went from device to device (transport.cpp).
struct Counts {
  std::int64_t synchronizations = 0, uploads = 0, operations = 0, kernels = 0;
  std::int64_t host_bytes = 0, carried_bytes = 0;
};
Counts counts();
/// The operations by name: libtorch's as it names them ("aten::mm"), kernels as in DeviceKernels.
std::map<std::string, std::int64_t> operations_by_name();
void reset();
/// Whether an address is the device's.
bool is_address(const void* p);
/// Counts bytes of messages.
void carried(std::int64_t bytes);

/// What attention is computed by: the device's kernels, as at the beginning; libtorch's ops of FlashAttention, as on a
/// GPU, in bf16 and fp16; these and a library before them, as cuDNN's, in bf16; or plain ops, as where there is neither.
enum class Attention { kernels, flash, library, plain };
class AttentionBy {
 public:
  explicit AttentionBy(Attention how);  ///< while it lives, one at a time
  ~AttentionBy();
  AttentionBy(const AttentionBy&) = delete;
  AttentionBy& operator=(const AttentionBy&) = delete;
};
/// From now on that library computes nothing (`all`), or none that it is asked for, and says this; empty: as before.
void refuse_attention(const std::string& why, bool all);
/// From now on the device begins no graph, or launches none; neither at the beginning.
void refuse_graphs(bool begin, bool launch);
/// From now on the device has so many bytes; none: 8 GiB, as at the beginning. What lies there stays.
void limit_memory(std::optional<std::int64_t> bytes);

}  // namespace bora::fake_device

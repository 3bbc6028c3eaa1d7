// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention by a library that is neither libtorch's nor Bora's own (cuDNN), which a plug-in of its own brings.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "bora/core/device.h"

namespace bora::core {

/// All that a library's plan of attention depends on. Elements are bf16, sums and the logs of sums fp32. The last query
/// stands at the last key.
struct AttentionPlan {
  /// Elements from one sequence, position or query head (of keys: kv_head) to the next; head_dim is contiguous.
  struct Strides {
    std::int64_t batch = 0, position = 0, head = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the 0 of <=> for a pointer
    auto operator<=>(const Strides&) const = default;
  };
  /// Sequences; of documents, for how many there is room, of which some may be empty.
  std::int64_t batch = 0;
  std::int64_t queries = 0, keys = 0;  ///< positions of a sequence; of a document at most
  std::int64_t positions = 0;          ///< of documents, all together; else 0
  std::int64_t kv_heads = 0, group = 0, head_dim = 0;
  float scale = 0;
  bool causal = true;
  std::int64_t window = 0;  ///< as kernels::AttentionRule's
  Strides q, k, v, out;     ///< the gradient of out lies as out does; of documents no batch counts
  Strides dq, dk, dv;
  // NOLINTNEXTLINE(modernize-use-nullptr): as above
  auto operator<=>(const AttentionPlan&) const = default;
  bool of_documents() const { return positions > 0; }
};

/// Where the arrays of such a plan lie, on the device.
struct AttentionArrays {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* out = nullptr;
  float* lse =
      nullptr;  ///< natural logs: [batch, head, query], of documents in the order that the library likes
  const void* dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  const std::int32_t* starts =
      nullptr;           ///< of documents, [batch + 1]: where each begins, and the end of the last
  void* room = nullptr;  ///< bytes for sums in between
};

/// What a library has made of a plan, to the end of the program.
struct ReadyAttention {
  AttentionPlan plan = {};
  std::string why_not = {};  ///< in half a sentence; empty: it is ready for both passes
  std::int64_t forward_room = 0, backward_room = 0;  ///< bytes at `room`
};

/// What a plug-in brings. A pass returns before it is done, and its results are the same every time; what it throws is
/// an Error.
struct AttentionLibrary {
  using Stream = void*;
  std::string name;     ///< "cuDNN 9.19.0"; empty: there is none
  std::string why_not;  ///< why it computes nothing at all; then it has no entries
  /// Of a plan, which is made the first time.
  const ReadyAttention& (*ready)(const AttentionPlan& plan, std::int8_t device) = nullptr;
  /// By what ready() has given for that device.
  void (*forward)(const ReadyAttention& by, std::int8_t device, AttentionArrays arrays,
                  Stream stream) = nullptr;
  void (*backward)(const ReadyAttention& by, std::int8_t device, AttentionArrays arrays,
                   Stream stream) = nullptr;
};
/// Before the first array is made there. The last one counts.
void register_attention_library(Device::Type type, const AttentionLibrary& library);
const AttentionLibrary& attention_library(Device::Type type);

}  // namespace bora::core

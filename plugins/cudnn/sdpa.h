// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Plans of attention in cuDNN's terms, without cuDNN: [batch, head, position, dim], bounds of a band, offsets of ragged
// arrays, and in how many parts a plan is computed.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "bora/core/attention_library.h"

namespace bora::cudnn {

/// The most bytes of scores' gradients that a part may take (of its own room).
inline constexpr std::int64_t kMostRoom = std::int64_t{2} << 30;
/// More parts of one call are worse than another kernel.
inline constexpr std::int64_t kMostParts = 64;

struct Operand {
  std::array<std::int64_t, 4> dim{}, stride{};
  std::int64_t of_position = 0;  ///< elements of a position, where documents lie one behind another; else 0

  bool operator==(const Operand&) const = default;
};

/// A graph of one part.
struct Sdpa {
  Operand q, k, v, out, stats, dq, dk, dv;  ///< dout as out
  float scale = 0;
  bool causal = true, bottom_right = false;
  std::optional<std::int64_t> left_bound;  ///< keys that a query sees before its own, and its own
  std::int64_t positions = 0;              ///< of documents
};

/// How a plan is divided: cuDNN's deterministic backward pass keeps the gradients of scores, `batch` sequences (or
/// documents) and `kv_heads` heads of keys of them at once. All divide the plan's.
struct Parts {
  std::int64_t batch = 0, kv_heads = 0;

  bool operator==(const Parts&) const = default;
};
/// The largest parts whose room is at most `most` bytes, whole sequences first. None: not even one head's fits.
std::optional<Parts> parts_of(const core::AttentionPlan& plan, std::int64_t most = kMostRoom);
std::int64_t count(const core::AttentionPlan& plan, const Parts& parts);
/// Forward, which keeps no scores, where the backward pass takes `parts`: all at once; of documents, whose logs of sums lie by
/// position, the same heads.
Parts forward_parts(const core::AttentionPlan& plan, const Parts& parts);

/// Of `batch` sequences and `kv_heads` heads of a plan.
Sdpa sdpa_of(const core::AttentionPlan& plan, const Parts& part);

/// The arrays of a part: sequences or documents from `first`, heads of keys from `head`.
core::AttentionArrays arrays_of(const core::AttentionPlan& plan, std::int64_t first, std::int64_t head,
                                const core::AttentionArrays& whole);

/// Versions as cuDNN counts them: 91900. The first with all that is used here.
inline constexpr std::int64_t kLeastVersion = 91801;
std::string version_text(std::int64_t version);  ///< "9.19.0"

}  // namespace bora::cudnn

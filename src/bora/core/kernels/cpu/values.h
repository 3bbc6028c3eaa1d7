// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/reduce.h"

namespace bora::kernels {

/// Elements that a kernel reads: fp32, or bfloat16s, which it widens a piece at a time. Null: there are none.
struct Values {
  Values(const float* x = nullptr) : floats(x) {}  // NOLINT(google-explicit-constructor): most are fp32
  explicit Values(const std::uint16_t* x) : halves(x) {}
  explicit operator bool() const { return floats != nullptr || halves != nullptr; }

  /// Those from `at` on, as fp32: where they lie, or widened into `room`.
  const float* wide(std::int64_t at, std::int64_t n, float* room) const {
    if (halves == nullptr) return floats == nullptr ? nullptr : floats + at;
    from_bf16_here(n, halves + at, room);
    return room;
  }

  const float* floats = nullptr;
  const std::uint16_t* halves = nullptr;
};

/// Elements that a kernel writes, likewise: rounded to the nearest bfloat16, ties to even.
struct Results {
  Results(float* y = nullptr) : floats(y) {}  // NOLINT(google-explicit-constructor): most are fp32
  explicit Results(std::uint16_t* y) : halves(y) {}

  /// Where to write those from `at` on as fp32: their place, or `room`, from which `keep` takes them.
  float* wide(std::int64_t at, float* room) const {
    if (halves != nullptr) return room;
    return floats == nullptr ? nullptr : floats + at;
  }
  void keep(std::int64_t at, std::int64_t n, const float* room) const {
    if (halves != nullptr) to_bf16_here(n, room, halves + at);
  }

  float* floats = nullptr;
  std::uint16_t* halves = nullptr;
};

/// out = a + b; out may be either of them.
void add(std::int64_t n, Values a, Values b, Results out);

}  // namespace bora::kernels

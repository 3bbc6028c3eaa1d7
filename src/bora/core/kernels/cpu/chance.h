// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/whole_index.h"

namespace bora::kernels {

/// Which half of a word rounds.
enum class Half : std::uint8_t { low, high };

/// x rounded to bf16 by the chance of `half` of each element's word; infinity and NaN stay what they are.
void by_chance(std::int64_t n, const float* x, std::uint16_t* y, Half half, const Rounding& rounding);

// Of a piece, on this thread alone:
/// The words of elements [first, first + n) of a shard.
void chance_words(const Rounding& rounding, std::int64_t first, std::int64_t n, std::uint32_t* words);
void by_chance_here(std::int64_t n, const float* x, const std::uint32_t* words, Half half, std::uint16_t* y);

}  // namespace bora::kernels

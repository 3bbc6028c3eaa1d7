// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/data/loader.h"
#include "bora/nn/language_model.h"

namespace bora::train {

/// Sequences [first, first + count) of a batch as arrays, with each position's target: the token after it.
nn::TokenBatch token_batch(const data::Batch& batch, std::int64_t first, std::int64_t count);

}  // namespace bora::train

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/data/loader.h"

namespace bora::data {

/// Ids to time a step with: the same for a step on every machine.
Batch random_batch(std::int64_t step, std::int64_t sequences, std::int64_t seq_len, std::int64_t vocab);

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/data/dataset.h"
#include "bora/data/permutation.h"
#include "bora/data/token_dataset.h"
#include "bora/store/growing_cache.h"

namespace bora::data {

/// What endless() gives of the first `limit` sequences of a TokenDataset of the finished cache, while the
/// cache is still being built: reading waits until what it needs is there. `shuffle` must be None or Era,
/// whose orders do not depend on what comes later; a Config error otherwise. Errors while reading: those of
/// GrowingCache; Config if the finished cache is too small for one sequence.
DatasetPtr endless_growing(std::shared_ptr<const store::GrowingCache> cache, std::int64_t seq_len,
                           const TokenRules& rules, std::int64_t limit, const Shuffle& shuffle,
                           const Key& key);

}  // namespace bora::data

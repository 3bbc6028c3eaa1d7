// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/data/batch_view.h"
#include "bora/data/cache_stats.h"

namespace bora::data {

/// Lines and bars for a terminal: a table of the data sets, then the lengths of each one's documents.
std::string stats_text(const std::vector<CacheStats>& stats);

/// The same as one HTML page that needs nothing beside it.
std::string stats_page(const std::vector<CacheStats>& stats);

/// A batch as such a page: text shaded by weight, with a rule between segments.
std::string batch_page(const BatchView& view);

}  // namespace bora::data

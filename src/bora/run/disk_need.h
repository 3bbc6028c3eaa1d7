// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <vector>

#include "bora/run/preflight.h"

namespace bora::run {

/// Permanent checkpoints of a run that ends after so many steps, with its last one; of those later than step `after`.
std::int64_t checkpoints_kept(const std::vector<checkpoint::KeepConfig>& keep, std::int64_t steps,
                              std::int64_t after = 0);

/// The key that names the folder of a data set's token caches.
std::string cache_key(const std::string& name, const data::SourceConfig& source);

/// What a run writes, by file system: token caches that are not there yet (about half of the text), checkpoints
/// and exports. Logs are small. `goes_on_at`: the step of the checkpoint that there is.
std::vector<DiskNeed> disk_needs(const LmConfig& config, const RunPlace& place,
                                 const std::vector<SourceFound>& sources, const SizeEstimate& sizes,
                                 std::int64_t goes_on_at = 0);

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bora/store/ledger.h"
#include "bora/store/processor.h"

namespace bora::store {

/// What has happened since the last report.
struct ShardProgress {
  std::int64_t raw_bytes = 0;
  TokenCounts counts;
};

/// Tokenizes one shard into its two files and makes them durable. Whatever was there under their names is
/// replaced.
ShardRecord write_shard(const std::string& directory, std::int64_t index,
                        const std::vector<Segment>& segments, const TextFormat& format,
                        const Processor& processor, const std::function<void(const ShardProgress&)>& report);

/// XXH3-128 of the raw bytes of a shard's segments, one after the other.
Hash128 hash_source(const std::vector<Segment>& segments);

}  // namespace bora::store

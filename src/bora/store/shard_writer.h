// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bora/store/hashed_file.h"
#include "bora/store/ledger.h"
#include "bora/store/processor.h"

namespace bora::store {

/// What has happened since the last report.
struct ShardProgress {
  std::int64_t raw_bytes = 0;
  TokenCounts counts;
};

/// A shard whose bytes the system has, but perhaps not yet the disk.
struct WrittenShard {
  ShardRecord record;
  std::vector<HashedFile> files;
};

/// Tokenizes one shard into its two or three files. Whatever was there under their names is replaced, but for
/// a beginning that fits the shard's PartialShard. One that has a source that cannot be cut and is larger
/// than `save_every` bytes leaves a PartialShard behind each time that it has done about as much text.
WrittenShard write_shard(const std::string& directory, std::int64_t index,
                         const std::vector<Segment>& segments, const TextFormat& format,
                         const Processor& processor, const std::function<void(const ShardProgress&)>& report,
                         std::uint64_t save_every);

/// Whether write_shard may leave a PartialShard behind.
bool is_saved_in_parts(const std::vector<Segment>& segments, std::uint64_t save_every);

/// XXH3-128 of the raw bytes of a shard's segments, one after the other.
Hash128 hash_source(const std::vector<Segment>& segments);

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/hash.h"
#include "bora/store/ledger.h"

namespace bora::store {

/// How far a shard has come whose source cannot be cut into ranges: partial-NNNNN.json. The shard's files are
/// synced up to these counts.
struct PartialShard {
  std::int64_t segment = 0;  ///< of the shard's
  std::int64_t pieces = 0;   ///< of that segment that are done
  TokenCounts counts;        ///< of all done
  Hash128 source;            ///< of the raw bytes that were read until then
  bool operator==(const PartialShard&) const = default;
};

/// Nothing if there is none, or if it cannot be read: then the shard begins anew.
std::optional<PartialShard> read_partial_shard(const std::string& directory, std::int64_t shard);
void write_partial_shard(const std::string& directory, std::int64_t shard, const PartialShard& partial);
void remove_partial_shard(const std::string& directory, std::int64_t shard);
bool is_partial_shard(std::string_view name);

/// Removes a file that another worker may be removing too.
void remove_if_there(const std::string& path);

}  // namespace bora::store

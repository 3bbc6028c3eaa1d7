// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/hash.h"
#include "bora/store/documents.h"
#include "bora/store/format.h"
#include "bora/store/processor.h"

namespace bora::store {

/// Sums over documents.
struct TokenCounts {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;  ///< UTF-8 bytes of text, for bits per byte
  TokenCounts& operator+=(const TokenCounts& other);
  bool operator==(const TokenCounts&) const = default;
};

/// A finished shard: its files are on disk, synced, and never change again.
struct ShardRecord {
  std::int64_t index = 0;
  TokenCounts counts;  ///< documents: those that end in the shard
  Hash128 source, tokens, offsets;
  Hash128 weights;  ///< zero unless the cache is weighted
  bool operator==(const ShardRecord&) const = default;
};

/// What people call something: for messages alone, so that one is as good as another.
struct Label {
  std::string text = {};
  bool operator==(const Label&) const { return true; }
};

/// The table of contents of a token cache: ledger.json. See shard_writer.cpp for the grammar.
struct Ledger {
  std::string fingerprint;  ///< of the processor
  Label tokenizer;          ///< of the processor; empty in caches from before it was noted
  std::int64_t vocab_size = 0;
  TextFormat format;
  CacheShape shape;
  std::uint64_t shard_bytes = 0;  ///< of raw source, about, per shard: fixes the cut into shards
  std::vector<Source> sources;
  std::int64_t num_shards = 0;
  std::vector<ShardRecord> shards;  ///< the finished ones, by index
  bool is_finished = false;

  TokenCounts totals() const;
  int bytes_per_token() const { return vocab_size <= 65536 ? 2 : 4; }
  bool operator==(const Ledger&) const = default;
};

/// Nothing if the directory has none.
/// Errors: Corruption if it contradicts itself, Unsupported if a newer Bora wrote it.
std::optional<Ledger> read_ledger(const std::string& directory);
void write_ledger(const std::string& directory, const Ledger& ledger);

/// What a rank other than 0 has finished of a cache that several build: a ledger of its own shards,
/// ledger-NNNNN.json, until rank 0 puts them together.
std::string part_ledger_path(const std::string& directory, int worker);
void write_part_ledger(const std::string& directory, int worker, const Ledger& ledger);
/// Adds to `ledger` the shards of every part ledger that has the same sources and settings.
void merge_part_ledgers(const std::string& directory, Ledger& ledger);
bool is_part_ledger(std::string_view name);
/// Adds a shard in its place; one that is there already stays.
void add_shard(Ledger& ledger, const ShardRecord& record);

std::string ledger_path(const std::string& directory);
std::string tokens_path(const std::string& directory, std::int64_t shard);   ///< tokens-00000.bin
std::string offsets_path(const std::string& directory, std::int64_t shard);  ///< offsets-00000.bin
std::string weights_path(const std::string& directory, std::int64_t shard);  ///< weights-00000.bin

/// The opposite of Hash128::hex(); nothing for anything else.
std::optional<Hash128> parse_hash(std::string_view hex);

/// Cuts sources into shards of about shard_bytes: small files together, large plain files into ranges,
/// compressed files whole. Depends on nothing else. Corruption for more than two million shards, which no files give.
std::vector<std::vector<Segment>> plan_shards(const std::vector<Source>& sources, std::uint64_t shard_bytes);

/// A 128th of all bytes, at least 4 MiB, at most 512 MiB.
std::uint64_t default_shard_bytes(const std::vector<Source>& sources);

}  // namespace bora::store

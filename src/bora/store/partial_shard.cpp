// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   partial-NNNNN.json := {
//     "format": "bora-token-shard", "version": 1,
//     "segment": n, "pieces": n,               the piece to go on with; pieces as DocumentReader gives them
//     "documents": n, "tokens": n, "bytes": n,  before it; the shard's files are cut to them
//     "source_hash": hash                      of the raw bytes read by then: XXH3-128, 32 hex digits
//   }
//
// It is sealed (base/seal.h); a damaged one counts as none, and the shard begins anew.
#include "bora/store/partial_shard.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/seal.h"

namespace bora::store {
namespace {

constexpr std::string_view kShardFormat = "bora-token-shard", kPrefix = "partial-", kSuffix = ".json";
constexpr std::int64_t kVersion = 1;

std::string path_of(const std::string& directory, std::int64_t shard) {
  return path_join(directory, fmt::format("{}{:05}{}", kPrefix, shard, kSuffix));
}

PartialShard parse_name(const std::string& name) {
  const std::string text = read_text(name);
  if (seal_of(text) != Seal::Fits) fail(ErrorKind::Corruption, "{}: its own hash does not fit", name);
  const Json json = parse_json(text, name);
  const auto number = [&](std::string_view key) {
    const auto n = json_get<std::int64_t>(json, key, name);
    if (n < 0) fail(ErrorKind::Corruption, "{}: {} is {}", name, key, n);
    return n;
  };
  if (json_get<std::string>(json, "format", name) != kShardFormat || number("version") != kVersion)
    fail(ErrorKind::Corruption, "{}: no {} of version {}", name, kShardFormat, kVersion);
  PartialShard out{
      number("segment"), number("pieces"), {number("documents"), number("tokens"), number("bytes")}, {}};
  const auto hash = parse_hash(json_get<std::string>(json, "source_hash", name));
  if (!hash) fail(ErrorKind::Corruption, "{}: source_hash is no hash", name);
  out.source = *hash;
  return out;
}

}  // namespace

std::optional<PartialShard> read_partial_shard(const std::string& directory, std::int64_t shard) {
  const std::string name = path_of(directory, shard);
  if (!exists(name)) return {};
  try {
    return parse_name(name);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::Corruption) throw;
    return {};
  }
}

void write_partial_shard(const std::string& directory, std::int64_t shard, const PartialShard& partial) {
  const Json json{{"format", kShardFormat},
                  {"version", kVersion},
                  {"segment", partial.segment},
                  {"pieces", partial.pieces},
                  {"documents", partial.counts.documents},
                  {"tokens", partial.counts.tokens},
                  {"bytes", partial.counts.bytes},
                  {"source_hash", partial.source.hex()}};
  write_atomically(path_of(directory, shard), sealed(json.dump(1), 1));
}

void remove_partial_shard(const std::string& directory, std::int64_t shard) {
  remove_if_there(path_of(directory, shard));
}

void remove_if_there(const std::string& path) {
  try {
    if (exists(path)) files().remove(path);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NotFound) throw;
  }
}

bool is_partial_shard(std::string_view name) { return name.starts_with(kPrefix) && name.ends_with(kSuffix); }

}  // namespace bora::store

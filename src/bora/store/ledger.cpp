// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/ledger.h"

#include <algorithm>
#include <charconv>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/seal.h"

namespace bora::store {
namespace {

constexpr std::string_view kFormat = "bora-token-cache";
constexpr std::int64_t kPlain = 1;     // token ids and the ends of documents
constexpr std::int64_t kShaped = 2;    // with loss weights, or made of whole records
constexpr std::int64_t kRepaired = 3;  // the same, and says what was done with invalid UTF-8

[[noreturn]] void contradicts(const std::string& name, const std::string& what) {
  fail(ErrorKind::Corruption, "{}: {}\nhint: delete the cache directory; it will be built again", name, what);
}

Hash128 hash_in(const Json& object, std::string_view key, const std::string& name) {
  const auto text = json_get<std::string>(object, key, name);
  const auto hash = parse_hash(text);
  if (!hash) contradicts(name, fmt::format("{} should be 32 hexadecimal digits but is \"{}\"", key, text));
  return *hash;
}

std::int64_t count(const Json& object, std::string_view key, const std::string& name) {
  const auto n = json_get<std::int64_t>(object, key, name);
  if (n < 0) contradicts(name, fmt::format("{} should be at least 0 but is {}", key, n));
  return n;
}

const Json& list(const Json& object, std::string_view key, const std::string& name) {
  const auto it = object.find(std::string(key));
  if (it == object.end() || !it->is_array()) contradicts(name, fmt::format("{} should be a list", key));
  return *it;
}

Json to_json(const ShardRecord& shard, bool weighted) {
  Json json{{"index", shard.index},
            {"documents", shard.counts.documents},
            {"tokens", shard.counts.tokens},
            {"bytes", shard.counts.bytes},
            {"source_hash", shard.source.hex()},
            {"tokens_hash", shard.tokens.hex()},
            {"offsets_hash", shard.offsets.hex()}};
  if (weighted) json["weights_hash"] = shard.weights.hex();
  return json;
}

std::int64_t version_of(const Ledger& ledger) {
  if (ledger.format.invalid_utf8 != InvalidText::Refuse) return kRepaired;
  return !ledger.format.whole_records && ledger.shape == CacheShape{} ? kPlain : kShaped;
}

Json to_json(const Ledger& ledger) {
  const TokenCounts total = ledger.totals();
  Json json{{"format", kFormat},
            {"version", version_of(ledger)},
            {"is_finished", ledger.is_finished},
            {"documents", total.documents},
            {"tokens", total.tokens},
            {"bytes", total.bytes},
            {"fingerprint", ledger.fingerprint},
            {"vocab_size", ledger.vocab_size},
            {"text_key", ledger.format.text_key},
            {"shard_bytes", ledger.shard_bytes},
            {"num_shards", ledger.num_shards},
            {"sources", Json::array()},
            {"shards", Json::array()}};
  if (!ledger.tokenizer.text.empty()) json["tokenizer"] = ledger.tokenizer.text;
  if (version_of(ledger) >= kShaped) {
    json["whole_records"] = ledger.format.whole_records;
    json["weighted"] = ledger.shape.weighted;
    json["documents_per_record"] = ledger.shape.documents_per_record;
  }
  if (version_of(ledger) >= kRepaired)
    json["invalid_utf8"] = invalid_text_names()[static_cast<std::size_t>(ledger.format.invalid_utf8)];
  for (const auto& source : ledger.sources) {
    json["sources"].push_back({{"path", source.path}, {"size", source.size}, {"modified", source.modified}});
  }
  for (const auto& shard : ledger.shards) json["shards"].push_back(to_json(shard, ledger.shape.weighted));
  return json;
}

ShardRecord shard_from(const Json& json, bool weighted, const std::string& name) {
  ShardRecord shard;
  shard.index = count(json, "index", name);
  shard.counts = {count(json, "documents", name), count(json, "tokens", name), count(json, "bytes", name)};
  shard.source = hash_in(json, "source_hash", name);
  shard.tokens = hash_in(json, "tokens_hash", name);
  shard.offsets = hash_in(json, "offsets_hash", name);
  if (weighted) shard.weights = hash_in(json, "weights_hash", name);
  return shard;
}

void check(const Ledger& ledger, const Json& json, const std::string& name) {
  std::int64_t before = -1;
  for (const auto& shard : ledger.shards) {
    if (shard.index <= before || shard.index >= ledger.num_shards) {
      contradicts(name, fmt::format("shard {} after shard {} of {}", shard.index, before, ledger.num_shards));
    }
    before = shard.index;
  }
  const auto finished = static_cast<std::int64_t>(ledger.shards.size());
  if (ledger.is_finished && finished != ledger.num_shards) {
    contradicts(name, fmt::format("is_finished, but lists {} of {} shards", finished, ledger.num_shards));
  }
  if (ledger.shape.documents_per_record < 1) {
    contradicts(name, fmt::format("documents_per_record is {}", ledger.shape.documents_per_record));
  }
  const TokenCounts total = ledger.totals();
  const TokenCounts stated{count(json, "documents", name), count(json, "tokens", name),
                           count(json, "bytes", name)};
  if (total != stated) {
    contradicts(name,
                fmt::format("tokens is {} but the shards have {} together", stated.tokens, total.tokens));
  }
}

}  // namespace

std::optional<Hash128> parse_hash(std::string_view hex) {
  Hash128 hash;
  const auto half = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const bool good = hex.size() == 32 && half(hex.substr(0, 16), hash.high) && half(hex.substr(16), hash.low);
  return good ? std::optional(hash) : std::nullopt;
}

TokenCounts& TokenCounts::operator+=(const TokenCounts& other) {
  documents += other.documents;
  tokens += other.tokens;
  bytes += other.bytes;
  return *this;
}

TokenCounts Ledger::totals() const {
  TokenCounts total;
  for (const auto& shard : shards) total += shard.counts;
  return total;
}

namespace {

/// Nothing for a file that is not there, or is removed meanwhile.
std::optional<std::string> text_of(const std::string& name) {
  try {
    return exists(name) ? std::optional(read_text(name)) : std::nullopt;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NotFound) throw;
    return {};
  }
}

std::optional<Ledger> read_ledger_file(const std::string& name) {
  const auto text = text_of(name);
  if (!text) return {};
  if (seal_of(*text) == Seal::Broken) contradicts(name, "its own hash does not fit; the ledger is damaged");
  const Json json = parse_json(*text, name);
  const auto format = json_get<std::string>(json, "format", name);
  if (format != kFormat)
    contradicts(name, fmt::format("format is \"{}\" instead of \"{}\"", format, kFormat));
  const auto version = json_get<std::int64_t>(json, "version", name);
  if (version < kPlain || version > kRepaired) {
    fail(ErrorKind::Unsupported,
         "{}: format version {}, but this Bora reads versions {} to {}\nhint: use another cache_dir, or a "
         "newer Bora",
         name, version, kPlain, kRepaired);
  }
  Ledger ledger;
  ledger.fingerprint = json_get<std::string>(json, "fingerprint", name);
  ledger.tokenizer.text = json_get<std::string>(json, "tokenizer", name, "");
  ledger.vocab_size = count(json, "vocab_size", name);
  ledger.format.text_key = json_get<std::string>(json, "text_key", name);
  if (version >= kRepaired)
    ledger.format.invalid_utf8 = parse_invalid_text(json_get<std::string>(json, "invalid_utf8", name));
  if (version >= kShaped) {
    ledger.format.whole_records = json_get<bool>(json, "whole_records", name);
    ledger.shape.weighted = json_get<bool>(json, "weighted", name);
    ledger.shape.documents_per_record = count(json, "documents_per_record", name);
  }
  ledger.shard_bytes = static_cast<std::uint64_t>(count(json, "shard_bytes", name));
  ledger.num_shards = count(json, "num_shards", name);
  ledger.is_finished = json_get<bool>(json, "is_finished", name);
  for (const auto& source : list(json, "sources", name)) {
    ledger.sources.push_back({json_get<std::string>(source, "path", name),
                              static_cast<std::uint64_t>(count(source, "size", name)),
                              json_get<double>(source, "modified", name)});
  }
  for (const auto& shard : list(json, "shards", name)) {
    ledger.shards.push_back(shard_from(shard, ledger.shape.weighted, name));
  }
  check(ledger, json, name);
  return ledger;
}

constexpr std::string_view kPart = "ledger-", kJson = ".json";

bool same_cut(const Ledger& a, Ledger b) {
  b.shards = a.shards;
  b.is_finished = a.is_finished;
  return a == b;
}

}  // namespace

std::optional<Ledger> read_ledger(const std::string& directory) {
  return read_ledger_file(ledger_path(directory));
}

void write_ledger(const std::string& directory, const Ledger& ledger) {
  write_atomically(ledger_path(directory), sealed(to_json(ledger).dump(1), 1));
}

std::string part_ledger_path(const std::string& directory, int worker) {
  return path_join(directory, fmt::format("{}{:05}{}", kPart, worker, kJson));
}

void write_part_ledger(const std::string& directory, int worker, const Ledger& ledger) {
  write_atomically(part_ledger_path(directory, worker), sealed(to_json(ledger).dump(1), 1));
}

bool is_part_ledger(std::string_view name) { return name.starts_with(kPart) && name.ends_with(kJson); }

void add_shard(Ledger& ledger, const ShardRecord& record) {
  auto& shards = ledger.shards;
  const auto at = std::lower_bound(shards.begin(), shards.end(), record,
                                   [](const auto& a, const auto& b) { return a.index < b.index; });
  if (at == shards.end() || at->index != record.index) shards.insert(at, record);
}

void merge_part_ledgers(const std::string& directory, Ledger& ledger) {
  for (const auto& name : files().list(directory)) {
    if (!is_part_ledger(name)) continue;
    const auto part = read_ledger_file(path_join(directory, name));
    if (!part || !same_cut(ledger, *part)) continue;
    for (const auto& record : part->shards) add_shard(ledger, record);
  }
}

std::string ledger_path(const std::string& directory) { return path_join(directory, "ledger.json"); }
std::string tokens_path(const std::string& directory, std::int64_t shard) {
  return path_join(directory, fmt::format("tokens-{:05}.bin", shard));
}
std::string offsets_path(const std::string& directory, std::int64_t shard) {
  return path_join(directory, fmt::format("offsets-{:05}.bin", shard));
}
std::string weights_path(const std::string& directory, std::int64_t shard) {
  return path_join(directory, fmt::format("weights-{:05}.bin", shard));
}

std::uint64_t default_shard_bytes(const std::vector<Source>& sources) {
  std::uint64_t total = 0;
  for (const auto& source : sources) total += source.size;
  constexpr std::uint64_t kMiB = 1 << 20;
  return std::clamp<std::uint64_t>(total / 128, 4 * kMiB, 512 * kMiB);
}

std::vector<std::vector<Segment>> plan_shards(const std::vector<Source>& sources, std::uint64_t shard_bytes) {
  constexpr std::uint64_t kMostShards = std::uint64_t{1} << 21;  // a petabyte in the largest ones
  std::uint64_t least = 0;
  for (const auto& source : sources) {
    least += source.size / std::max<std::uint64_t>(shard_bytes, 1);
    if (least > kMostShards)
      fail(ErrorKind::Corruption,
           "{}: {} bytes in shards of {} are more than {} shards\n"
           "hint: the ledger of its cache is damaged: delete the cache directory; it will be built again",
           source.path, source.size, shard_bytes, kMostShards);
  }
  std::vector<std::vector<Segment>> shards;
  std::uint64_t filled = shard_bytes;  // of the last shard
  const auto add = [&](const Source& source, std::uint64_t begin, std::uint64_t end) {
    if (filled >= shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back({source, begin, end});
    filled += end - begin;
  };
  for (const auto& source : sources) {
    const FileFormat format = file_format(source.path);
    const bool whole = format.compression != Compression::None || format.layout == Layout::Json ||
                       source.size <= shard_bytes;
    std::uint64_t begin = 0;
    while (!whole && source.size - begin > shard_bytes) {
      add(source, begin, begin + shard_bytes);
      begin += shard_bytes;
    }
    add(source, begin, source.size);
  }
  return shards;
}

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   checked.json := {
//     "format": "bora-checked-files", "version": 1,
//     "files": [{"name": string,                      in this directory
//                "size": n, "modified": ns, "inode": n,  as it was when it was checked
//                "hash": hash,                        XXH3-128, 32 hex digits
//                "ids_below": n}*]                    of a file of tokens: more than its largest id
//   }
//
// It holds nothing that a cache needs: without it, all files are read once more.
#include "bora/store/shard_check.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/parallel.h"
#include "bora/base/temporary_file.h"

namespace bora::store {
namespace {

constexpr std::string_view kCheckedFormat = "bora-checked-files", kName = "checked.json";
constexpr std::int64_t kCheckedVersion = 1;
constexpr std::int64_t kTick = 100'000'000;  // ns: more than any file system's, and the clocks of two hosts
constexpr std::size_t kComparedAtOnce = 256 << 10;  // stays in a core's cache between hashing and comparing
constexpr std::uint64_t kBetweenReports = 16 << 20;

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// The largest id of little-endian numbers, as unsigned ones: a negative one is large.
template <class T>
std::uint64_t largest_id(std::span<const std::byte> bytes) {
  T largest = 0;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T id;
    std::memcpy(&id, bytes.data() + i, sizeof(T));
    largest = std::max(largest, id);
  }
  return largest;
}

std::uint64_t largest_id(std::span<const std::byte> bytes, int id_bytes) {
  if (id_bytes == 0) return 0;
  return id_bytes == 2 ? largest_id<std::uint16_t>(bytes) : largest_id<std::uint32_t>(bytes);
}

std::uint64_t id_at(std::span<const std::byte> bytes, std::size_t at, int id_bytes) {
  return largest_id(bytes.subspan(at, static_cast<std::size_t>(id_bytes)), id_bytes);
}

[[noreturn]] void fail_unknown_id(const std::string& path, std::uint64_t place, std::int64_t id,
                                  const Ledger& ledger) {
  fail(ErrorKind::Corruption, "{}: token {} is {}, but the cache's vocabulary has ids from 0 to {}\n{}", path,
       place, id, ledger.vocab_size - 1, what_to_do(ledger));
}

/// Beside the ledger; of a cache on a read-only disk, among what this user keeps.
std::vector<std::string> places_of_note(const std::string& directory) {
  std::vector<std::string> out{path_join(directory, kName)};
  try {
    const auto whole = std::filesystem::absolute(directory).lexically_normal().string();
    out.push_back(fmt::format("{}/checked/{}.json", env::cache_directory(), hash128(whole).hex()));
  } catch (const std::exception&) {  // there is no such place
  }
  return out;
}

/// What a process that was killed has left of a note: behind a finished cache nobody else tidies up.
void remove_left_behind(const std::string& directory) {
  for (const auto& name : files().list(directory)) {
    if (is_left_behind(name, kName)) remove_unfinished(path_join(directory, name));
  }
}

/// Calls use(offset, bytes) for the pieces of a file in order.
template <class Use>
void for_each_chunk(const ShardFile& file, const ReadFile& opened, const Use& use) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kComparedAtOnce, file.bytes));
  for (std::uint64_t at = 0; at < file.bytes;) {
    const auto wanted = std::span(buffer).first(std::min<std::uint64_t>(kComparedAtOnce, file.bytes - at));
    const std::size_t n = opened.read_at(at, wanted);
    if (n < wanted.size()) {
      fail(ErrorKind::Corruption, "{}: ends at byte {} of {}\nhint: it changed while it was read", file.path,
           at + n, file.bytes);
    }
    use(at, std::span<const std::byte>(wanted));
    at += n;
  }
}

}  // namespace

std::vector<ShardFile> files_of_shard(const std::string& directory, const Ledger& ledger,
                                      const ShardRecord& record) {
  const auto tokens = static_cast<std::uint64_t>(record.counts.tokens),
             documents = static_cast<std::uint64_t>(record.counts.documents);
  const int width = ledger.bytes_per_token();
  std::vector<ShardFile> out;
  out.push_back({tokens_path(directory, record.index), tokens * static_cast<std::uint64_t>(width),
                 record.tokens, width});
  out.push_back({offsets_path(directory, record.index), documents * sizeof(std::uint64_t), record.offsets});
  if (ledger.shape.weighted)
    out.push_back({weights_path(directory, record.index), tokens * sizeof(float), record.weights});
  return out;
}

std::string_view what_to_do(const Ledger& ledger) {
  return ledger.sources.empty() ? "hint: delete the cache directory, and import the tokens again"
                                : "hint: delete the cache directory; it will be built again";
}

void require_size(const ShardFile& file, std::uint64_t bytes, const Ledger& ledger) {
  if (bytes == file.bytes) return;
  fail(ErrorKind::Corruption, "{}: has {} bytes but the ledger says {}\n{}", file.path, bytes, file.bytes,
       what_to_do(ledger));
}

void require_known_ids(std::span<const std::int32_t> ids, std::int64_t first, const std::string& path,
                       const Ledger& ledger) {
  const auto unknown = [&](std::int32_t id) { return id < 0 || id >= ledger.vocab_size; };
  const auto at = std::find_if(ids.begin(), ids.end(), unknown);
  if (at != ids.end())
    fail_unknown_id(path, static_cast<std::uint64_t>(first + (at - ids.begin())), *at, ledger);
}

CheckedFiles CheckedFiles::read(const std::string& directory) {
  remove_left_behind(directory);
  CheckedFiles out;
  for (const auto& path : places_of_note(directory)) {
    try {
      if (exists(path)) out.entries_.merge(parse(path).entries_);
    } catch (const std::exception&) {  // what it says is checked again
    }
  }
  return out;
}

CheckedFiles CheckedFiles::parse(const std::string& path) {
  CheckedFiles out;
  const Json json = parse_json(read_text(path), path);
  if (json_get<std::string>(json, "format", path) != kCheckedFormat) return out;
  if (json_get<std::int64_t>(json, "version", path) != kCheckedVersion) return out;
  for (const Json& file : json.at("files")) {
    const auto number = [&](std::string_view key) { return json_get<std::int64_t>(file, key, path); };
    const auto hash = parse_hash(json_get<std::string>(file, "hash", path));
    if (!hash) return {};
    const Entry entry{static_cast<std::uint64_t>(number("size")), static_cast<std::uint64_t>(number("inode")),
                      number("modified"), number("ids_below"), *hash};
    out.entries_.emplace(json_get<std::string>(file, "name", path), entry);
  }
  return out;
}

bool CheckedFiles::holds(const ShardFile& file, const FileInfo& info, std::int64_t ids_below) const {
  const auto [first, end] = entries_.equal_range(base_name(file.path));
  return std::any_of(first, end, [&](const auto& named) {
    const Entry& entry = named.second;
    return entry.size == info.size && entry.inode == info.inode && entry.modified_ns == info.modified_ns &&
           entry.hash == file.hash && entry.ids_below <= ids_below;
  });
}

bool CheckedFiles::add(const ShardFile& file, const FileInfo& info, std::int64_t ids_below) {
  const std::int64_t age = now_ns() - info.modified_ns;
  if (age > -kTick && age < kTick) return false;
  const auto name = base_name(file.path);
  entries_.erase(name);
  entries_.emplace(
      name, Entry{info.size, info.inode, info.modified_ns, file.id_bytes > 0 ? ids_below : 0, file.hash});
  return true;
}

void CheckedFiles::write(std::span<const std::string> places) const {
  Json json{{"format", kCheckedFormat}, {"version", kCheckedVersion}, {"files", Json::array()}};
  for (const auto& [name, entry] : entries_) {
    json["files"].push_back({{"name", name},
                             {"size", entry.size},
                             {"modified", entry.modified_ns},
                             {"inode", entry.inode},
                             {"hash", entry.hash.hex()},
                             {"ids_below", entry.ids_below}});
  }
  for (const auto& path : places) {
    try {
      files().make_directories(parent_path(path));
      return write_atomically(path, json.dump(1) + "\n");
    } catch (const Error&) {  // the next place; without one the next start checks again
    }
  }
}

ShardChecks::ShardChecks(const std::string& directory, const Ledger& ledger, CheckOptions options)
    : directory_(directory), ledger_(ledger), options_(std::move(options)) {
  if (!options_.even_known) known_ = CheckedFiles::read(directory);
  plan();
}

/// By name; what is read later is the file that is open then.
void ShardChecks::plan() {
  for (const auto& record : ledger_.shards) {
    if (!is_mine(record)) continue;
    for (const auto& file : files_of_shard(directory_, ledger_, record)) {
      const auto info = files().info(file.path);
      if (info && !known_.holds(file, *info, ledger_.vocab_size))
        total_ += static_cast<std::int64_t>(file.bytes);
    }
  }
}

void ShardChecks::check(const ShardRecord& record, const ShardFile& file, const ReadFile& opened) {
  const FileInfo info = opened.info();
  require_size(file, info.size, ledger_);
  const bool is_known = known_.holds(file, info, ledger_.vocab_size);
  if (!is_known && is_mine(record)) read(file, opened);
  const std::lock_guard lock(mutex_);
  if (!is_known) seen_.emplace_back(file, info);
}

void ShardChecks::read(const ShardFile& file, const ReadFile& opened) {
  Hasher hasher;
  std::uint64_t largest = 0, unreported = 0;
  for_each_chunk(file, opened, [&](std::uint64_t, std::span<const std::byte> bytes) {
    hasher.update(bytes);
    largest = std::max(largest, largest_id(bytes, file.id_bytes));
    unreported += bytes.size();
    if (unreported >= kBetweenReports) report(std::exchange(unreported, 0));
  });
  if (hasher.digest() != file.hash) {
    fail(ErrorKind::Corruption, "{}: hash differs from the ledger; the file is damaged\n{}", file.path,
         what_to_do(ledger_));
  }
  if (file.bytes > 0 && largest >= static_cast<std::uint64_t>(ledger_.vocab_size) && file.id_bytes > 0)
    find_unknown_id(file, opened);
  report(unreported);
}

void ShardChecks::report(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  done_ += static_cast<std::int64_t>(bytes);
  if (options_.progress && bytes > 0) options_.progress(done_, std::max(done_, total_));
}

void ShardChecks::find_unknown_id(const ShardFile& file, const ReadFile& opened) const {
  const auto width = static_cast<std::size_t>(file.id_bytes);
  for_each_chunk(file, opened, [&](std::uint64_t at, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += width) {
      const std::uint64_t id = id_at(bytes, i, file.id_bytes);
      if (id >= static_cast<std::uint64_t>(ledger_.vocab_size))
        fail_unknown_id(file.path, (at + i) / width, static_cast<std::int64_t>(id), ledger_);
    }
  });
  fail(ErrorKind::Corruption, "{}: changed while it was read\n{}", file.path, what_to_do(ledger_));
}

void ShardChecks::check_all() {
  parallel_for(
      std::ssize(ledger_.shards),
      [this](std::int64_t i) {
        const ShardRecord& record = ledger_.shards[static_cast<std::size_t>(i)];
        for (const auto& file : files_of_shard(directory_, ledger_, record))
          check(record, file, *files().open(file.path));
      },
      options_.threads);
}

void ShardChecks::remember() {
  bool is_new = false;
  for (const auto& [file, info] : seen_) is_new = known_.add(file, info, ledger_.vocab_size) || is_new;
  seen_.clear();
  if (is_new) known_.write(places_of_note(directory_));
}

void remember_built(const std::string& directory, const Ledger& ledger) {
  CheckedFiles known;
  bool any = false;
  for (const auto& record : ledger.shards) {
    for (const auto& file : files_of_shard(directory, ledger, record)) {
      if (const auto info = files().info(file.path); info && info->size == file.bytes)
        any = known.add(file, *info, ledger.vocab_size) || any;
    }
  }
  if (any) known.write(std::vector{path_join(directory, kName)});
}

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/file.h"
#include "bora/store/ledger.h"

namespace bora::store {

/// One of a shard's files, as the ledger has it.
struct ShardFile {
  std::string path;
  std::uint64_t bytes = 0;
  Hash128 hash;
  int id_bytes = 0;  ///< of a token id; 0: it holds none
};

/// Tokens, offsets, and weights if there are some.
std::vector<ShardFile> files_of_shard(const std::string& directory, const Ledger& ledger,
                                      const ShardRecord& record);

/// What to do about a cache that is damaged: where it has sources, it can be built again.
std::string_view what_to_do(const Ledger& ledger);

/// Throws Corruption unless the file has as many bytes as the ledger says.
void require_size(const ShardFile& file, std::uint64_t bytes, const Ledger& ledger);

/// Throws unless each id is below the vocabulary's size: Corruption with file, place, id and vocabulary.
/// `first`: the place of the first of them in the shard.
void require_known_ids(std::span<const std::int32_t> ids, std::int64_t first, const std::string& path,
                       const Ledger& ledger);

/// Files of a cache that have been compared with their hashes, as they were then: checked.json in its
/// directory, or on a read-only disk in the user's cache, or in both. One whose size, date or inode is another is
/// no longer known. See shard_check.cpp for the grammar.
class CheckedFiles {
 public:
  /// Nothing is known where there is no such file, or none that can be read.
  static CheckedFiles read(const std::string& directory);
  /// Whether it has this hash, and only ids below `ids_below`.
  bool holds(const ShardFile& file, const FileInfo& info, std::int64_t ids_below) const;
  /// False, and not taken, for a file that was written a moment ago: a change within the same tick of the
  /// clock that dates files would not show.
  bool add(const ShardFile& file, const FileInfo& info, std::int64_t ids_below);
  /// To the first of the paths that can be written; if none can, the next start checks again.
  void write(std::span<const std::string> places) const;

 private:
  static CheckedFiles parse(const std::string& path);
  struct Entry {
    std::uint64_t size = 0, inode = 0;
    std::int64_t modified_ns = 0, ids_below = 0;
    Hash128 hash;
    bool operator==(const Entry&) const = default;
  };
  std::multimap<std::string, Entry> entries_;  // by file name; of a file as it was at several times
};

struct CheckOptions {
  int threads = 0;  ///< 0: hardware_threads()
  /// Workers that see the same disk share the work: each checks every workers-th shard.
  int worker = 0, workers = 1;
  bool even_known = false;  ///< also what was checked before
  /// Called often, by one thread at a time, with bytes of this worker's share; never if all is known.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

/// Compares files of one cache with its ledger: hashes, and ids with the vocabulary.
class ShardChecks {
 public:
  /// The arguments must live as long.
  ShardChecks(const std::string& directory, const Ledger& ledger, CheckOptions options);

  /// Reads the file unless it is known, or another worker's. Any number of threads may call it.
  /// Errors: Corruption that names the file.
  void check(const ShardRecord& record, const ShardFile& file, const ReadFile& opened);
  /// Opens and checks every shard.
  void check_all();
  /// After all workers have checked their shares: what has been checked is known to the next start.
  void remember();

  const CheckOptions& options() const { return options_; }

 private:
  bool is_mine(const ShardRecord& record) const { return record.index % options_.workers == options_.worker; }
  void plan();
  void read(const ShardFile& file, const ReadFile& opened);
  void report(std::uint64_t bytes);
  [[noreturn]] void find_unknown_id(const ShardFile& file, const ReadFile& opened) const;

  const std::string& directory_;
  const Ledger& ledger_;
  CheckOptions options_;
  CheckedFiles known_;
  std::int64_t total_ = 0;
  std::mutex mutex_;  // of what follows
  std::int64_t done_ = 0;
  std::vector<std::pair<ShardFile, FileInfo>> seen_;
};

/// After a build: its workers have hashed what they have written, and the next start need not.
void remember_built(const std::string& directory, const Ledger& ledger);

}  // namespace bora::store

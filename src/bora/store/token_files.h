// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/store/token_cache.h"

namespace bora::store {

/// Token files of other programs.
enum class TokenFiles {
  RawU16,    ///< ids of two bytes, little endian, nothing else but maybe the header of llm.c
  RawU32,    ///< ids of four bytes
  Megatron,  ///< Megatron-LM's indexed data set: .bin with .idx
  Tfrecord,  ///< mesh-transformer-jax: records of equally many ids; a .index file lists several of them
  Levanter,  ///< a split of its token cache: the folder with shard_ledger.json
};

/// raw-u16, raw-u32, megatron, tfrecord, levanter. Errors: Usage for another name.
TokenFiles parse_token_files(const std::string& name);
const std::vector<std::string>& token_files_names();

/// Documents of ids, in pieces.
class TokenDocuments {
 public:
  virtual ~TokenDocuments() = default;
  /// Replaces `ids` by the next piece, of at most about a million; false at the end.
  virtual bool next(std::vector<std::int32_t>& ids, bool& ends_document) = 0;
};

struct ImportOptions {
  /// Ends a document wherever it stands, beside what the file says: of its own a raw file is one document,
  /// and so is a record of a tfrecord, although it may hold the ends and beginnings of several.
  std::optional<std::int32_t> eos_id;
};

/// Opens one file. Errors: NotFound; Corruption with file and byte where it is not what it should be.
std::unique_ptr<TokenDocuments> open_token_file(const std::string& path, TokenFiles kind);

/// Makes a finished token cache of such files, in their order, with a vocabulary up to the largest id. The
/// cache belongs to no text: its fingerprint says which kind of files it came from.
/// Errors: Config if the directory has a cache already; what open_token_file raises.
std::shared_ptr<const TokenCache> import_tokens(const std::string& directory,
                                                const std::vector<std::string>& paths, TokenFiles kind,
                                                const ImportOptions& options = {});

/// Whether there is a token cache that import_tokens made, rather than text.
bool holds_imported_tokens(const std::string& directory);

struct ExportOptions {
  std::int64_t seq_len = 2048;  ///< of a tfrecord's sequences, which have one id more
};

/// Writes a cache as such files, at `path`: the one file; for Megatron what stands before .bin and .idx; for
/// tfrecord what stands before _<sequences>.tfrecords (the rest of less than a sequence is left out); for
/// Levanter the folder, which must not hold a cache. Returns the files written; of a folder, its ledger.
/// Errors: Config if an id does not fit; Unsupported for a cache with loss weights where the files have none.
std::vector<std::string> export_tokens(const TokenCache& cache, const std::string& path, TokenFiles kind,
                                       const ExportOptions& options = {});

// Of one kind each; callers use the functions above.
std::unique_ptr<TokenDocuments> open_raw(const std::string& path, int width);
std::unique_ptr<TokenDocuments> open_megatron(const std::string& path);
std::unique_ptr<TokenDocuments> open_tfrecord(const std::string& path);
std::unique_ptr<TokenDocuments> open_levanter(const std::string& directory);
std::vector<std::string> export_raw(const TokenCache& cache, const std::string& path, int width);
std::vector<std::string> export_megatron(const TokenCache& cache, const std::string& path);
std::vector<std::string> export_tfrecord(const TokenCache& cache, const std::string& path,
                                         const ExportOptions& options);
std::vector<std::string> export_levanter(const TokenCache& cache, const std::string& directory);

}  // namespace bora::store

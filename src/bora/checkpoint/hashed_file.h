// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/hash.h"

namespace bora::checkpoint {

/// Hashes are kept for chunks of this many bytes too, so that damage can be located.
inline constexpr std::uint64_t kHashChunk = 4 << 20;

/// A file as a manifest lists it.
struct FileRecord {
  std::string name;  ///< within the checkpoint's directory
  std::uint64_t size = 0;
  Hash128 hash;                 ///< XXH3-128 of the whole file, as `xxh128sum` prints it
  std::vector<Hash128> chunks;  ///< of each kHashChunk bytes; the last may be shorter
  bool operator==(const FileRecord&) const = default;
};

/// Passes writes on and hashes them. `record` is complete once close() has returned; it must outlive the
/// file.
class HashedFile : public WriteFile {
 public:
  HashedFile(std::unique_ptr<WriteFile> inner, FileRecord& record)
      : inner_(std::move(inner)), record_(record) {}

  void write(std::span<const std::byte> bytes) override;
  void sync() override { inner_->sync(); }
  void close() override;

 private:
  std::unique_ptr<WriteFile> inner_;
  FileRecord& record_;
  Hasher whole_, chunk_;
  std::uint64_t in_chunk_ = 0;
};

/// Compares a file with its record: nothing, or what is wrong, e.g. "hash differs from the manifest (byte
/// range 4,194,304-8,388,607); the file is damaged". `chunk`: which one to compare.
std::string check_chunk(const ReadFile& file, const FileRecord& record, std::size_t chunk);

}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/file.h"

namespace bora::store {

/// What a chunk's bytes went through after they were laid out, in order: blosc, gzip or zstd, then crc32c.
struct ZarrCodecs {
  enum class Compressor { None, Blosc, Gzip, Zstd };
  Compressor compressor = Compressor::None;
  bool checksum = false;
  bool operator==(const ZarrCodecs&) const = default;
};

/// zarr.json of a one-dimensional array of whole numbers, or floats of four bytes.
struct ZarrLayout {
  std::string data_type = "int32";   ///< int8 to int64, uint8 to uint64, float32
  std::uint64_t size = 0;            ///< elements
  std::uint64_t shard_elements = 0;  ///< of a file; as many as chunk_elements where a file is one chunk
  std::uint64_t chunk_elements = 0;
  bool sharded = false, index_at_start = false, index_checksum = true;
  ZarrCodecs codecs;
  char separator = '/';  ///< between "c" and the number of a file

  std::uint64_t element_bytes() const;
  std::uint64_t chunk_bytes() const { return chunk_elements * element_bytes(); }
  std::uint64_t chunks_per_shard() const { return shard_elements / chunk_elements; }
  bool operator==(const ZarrLayout&) const = default;
};

/// Reads `text`, the content of the file `name`. Errors: Corruption where it is no zarr.json; Unsupported,
/// by name, for every part that Bora does not read (other dimensions, codecs, fill values, chunks over 64
/// MiB).
ZarrLayout parse_zarr_layout(std::string_view text, const std::string& name);

/// A Zarr version 3 array in a directory, read from front to end. Keeps one chunk in memory.
/// Source of the format: the Zarr version 3 specification with its codecs `bytes`, `blosc`, `gzip`, `zstd`,
/// `crc32c` and `sharding_indexed`.
class ZarrReader {
 public:
  /// Errors: NotFound without a zarr.json; what parse_zarr_layout raises.
  explicit ZarrReader(std::string directory);
  const ZarrLayout& layout() const { return layout_; }

  /// Elements [begin, begin + out.size()); what was never written is 0. Whole numbers, or floats. Errors:
  /// InvalidArgument out of range; Corruption with the file and the byte where data is damaged.
  void read(std::uint64_t begin, std::span<std::int64_t> out);
  void read(std::uint64_t begin, std::span<float> out);

 private:
  template <class T>
  void read_as(std::uint64_t begin, std::span<T> out);
  const std::vector<std::byte>* chunk(std::uint64_t index);
  void open_shard(std::uint64_t index);
  void read_index();
  void load_chunk(std::uint64_t offset, std::uint64_t size);
  [[noreturn]] void damaged(std::uint64_t at, std::string_view what) const;

  std::string directory_, path_;
  ZarrLayout layout_;
  std::unique_ptr<ReadFile> file_;  // of the open shard; none if it was never written
  std::optional<std::uint64_t> shard_, chunk_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> index_;  // where each chunk of the shard is
  std::vector<std::byte> bytes_;                                // of the present chunk, decoded
  bool chunk_present_ = false;
};

/// Writes such an array from front to end as Levanter's TensorStore does: files of 512 chunks of 262,144
/// elements, compressed with blosc (lz4, level 5, shuffled). Chunks of zeros are left out. Memory: one chunk.
class ZarrWriter {
 public:
  ZarrWriter(std::string directory, const std::string& data_type);
  ~ZarrWriter();
  void append(std::int64_t value);
  void append(float value);
  /// Makes everything durable, zarr.json last. Errors: Io.
  void finish();

 private:
  template <class T>
  void put(T value);
  void end_chunk();
  void end_shard();

  std::string directory_;
  ZarrLayout layout_;
  std::uint64_t shard_ = 0, offset_ = 0;
  std::unique_ptr<WriteFile> file_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> index_;
  std::vector<std::byte> chunk_, packed_;
};

}  // namespace bora::store

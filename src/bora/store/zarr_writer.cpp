// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A Zarr version 3 array as TensorStore writes it for Levanter, all numbers little endian:
//
//   array    := zarr.json c/0 c/1 ...           each file 134,217,728 elements, those without data left out
//   file     := chunk* index                    chunks: 262,144 elements, blosc (lz4, level 5, shuffle)
//   index    := (offset:u64 size:u64){512} crc32c:u32      of each chunk; both 2^64 - 1 where it is all zeros
#include <blosc.h>

#include <algorithm>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/store/zarr_array.h"

namespace bora::store {
namespace {

constexpr std::uint64_t kChunkSize = 256 * 1024, kShard = 512 * kChunkSize;
constexpr std::uint64_t kDeclared = std::uint64_t{1} << 54;  // Levanter's arrays never say how long they are
constexpr std::uint64_t kEmptyChunk = ~std::uint64_t{0};
constexpr int kLevel = 5;

Json named(const std::string& name, Json configuration) {
  return Json{{"configuration", std::move(configuration)}, {"name", name}};
}

std::string metadata(const ZarrLayout& layout) {
  const Json bytes = named("bytes", {{"endian", "little"}});
  const Json blosc = named("blosc", {{"blocksize", 0},
                                     {"clevel", kLevel},
                                     {"cname", "lz4"},
                                     {"shuffle", "shuffle"},
                                     {"typesize", layout.element_bytes()}});
  const Json sharding =
      named("sharding_indexed", {{"chunk_shape", Json::array({kChunkSize})},
                                 {"codecs", Json::array({bytes, blosc})},
                                 {"index_codecs", Json::array({bytes, Json{{"name", "crc32c"}}})}});
  const bool real = layout.data_type == "float32";
  return Json{{"chunk_grid", named("regular", {{"chunk_shape", Json::array({kShard})}})},
              {"chunk_key_encoding", {{"name", "default"}}},
              {"codecs", Json::array({sharding})},
              {"data_type", layout.data_type},
              {"fill_value", real ? Json(0.0) : Json(0)},
              {"node_type", "array"},
              {"shape", Json::array({kDeclared})},
              {"zarr_format", 3}}
      .dump();
}

}  // namespace

ZarrWriter::ZarrWriter(std::string directory, const std::string& data_type)
    : directory_(std::move(directory)) {
  layout_.data_type = data_type;
  chunk_.reserve(kChunkSize * layout_.element_bytes());
  packed_.resize(chunk_.capacity() + BLOSC_MAX_OVERHEAD);
  files().make_directories(path_join(directory_, "c"));
}

ZarrWriter::~ZarrWriter() = default;

void ZarrWriter::append(std::int64_t value) {
  if (layout_.element_bytes() == 8)
    put(value);
  else
    put(static_cast<std::int32_t>(value));
}

void ZarrWriter::append(float value) { put(value); }

template <class T>
void ZarrWriter::put(T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  chunk_.insert(chunk_.end(), bytes.begin(), bytes.end());
  if (chunk_.size() == kChunkSize * sizeof(T)) end_chunk();
}

void ZarrWriter::end_chunk() {
  const bool zeros = std::all_of(chunk_.begin(), chunk_.end(), [](std::byte b) { return b == std::byte{0}; });
  chunk_.resize(kChunkSize * layout_.element_bytes());  // the last chunk is padded with zeros
  if (zeros) {
    index_.emplace_back(kEmptyChunk, kEmptyChunk);
  } else {
    const int size = blosc_compress_ctx(kLevel, BLOSC_SHUFFLE, layout_.element_bytes(), chunk_.size(),
                                        chunk_.data(), packed_.data(), packed_.size(), "lz4", 0, 1);
    if (size <= 0) fail(ErrorKind::Io, "{}: blosc cannot compress a chunk", directory_);
    if (!file_) file_ = files().create(path_join(directory_, fmt::format("c/{}", shard_)));
    file_->write(std::span(packed_).first(static_cast<std::size_t>(size)));
    index_.emplace_back(offset_, static_cast<std::uint64_t>(size));
    offset_ += static_cast<std::uint64_t>(size);
  }
  chunk_.clear();
  if (index_.size() == kShard / kChunkSize) end_shard();
}

void ZarrWriter::end_shard() {
  if (file_) {
    index_.resize(kShard / kChunkSize, {kEmptyChunk, kEmptyChunk});
    std::vector<std::byte> raw(16 * index_.size() + 4);
    for (std::size_t i = 0; i < index_.size(); ++i) {
      std::memcpy(raw.data() + 16 * i, &index_[i].first, 8);
      std::memcpy(raw.data() + 16 * i + 8, &index_[i].second, 8);
    }
    const std::uint32_t checksum = crc32c(std::span(raw).first(16 * index_.size()));
    std::memcpy(raw.data() + 16 * index_.size(), &checksum, 4);
    file_->write(raw);
    file_->sync();
    file_->close();
    file_.reset();
  }
  index_.clear();
  offset_ = 0;
  ++shard_;
}

void ZarrWriter::finish() {
  if (!chunk_.empty()) end_chunk();
  if (!index_.empty()) end_shard();
  files().sync_directory(path_join(directory_, "c"));
  write_atomically(path_join(directory_, "zarr.json"), metadata(layout_));
}

}  // namespace bora::store

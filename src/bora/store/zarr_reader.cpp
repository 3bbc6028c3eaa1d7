// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <blosc.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/store/token_pieces.h"
#include "bora/store/zarr_array.h"

namespace bora::store {
namespace {

constexpr std::uint64_t kAbsent = ~std::uint64_t{0};  // in a shard's index
constexpr std::uint64_t kLargestMetadata = 1 << 20;

std::string read_metadata(const std::string& path) {
  const auto info = files().info(path);
  if (!info) fail(ErrorKind::NotFound, "{}: does not exist, so this is no zarr array of version 3", path);
  if (info->size > kLargestMetadata)
    fail(ErrorKind::Corruption, "{}: has {} bytes, which no zarr.json has", path, info->size);
  return read_text(path);
}

void read_exactly(const ReadFile& file, const std::string& path, std::uint64_t at, std::span<std::byte> out) {
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t n = file.read_at(at + done, out.subspan(done));
    if (n == 0)
      fail(ErrorKind::Io, "{}: ends at byte {}\nhint: it changed while being read", path, at + done);
    done += n;
  }
}

/// Decompresses `from` into exactly `to`; false if it does not give that.
bool inflate_blosc(std::span<const std::byte> from, std::span<std::byte> to) {
  std::size_t size = 0;
  return blosc_cbuffer_validate(from.data(), from.size(), &size) == 0 && size == to.size() &&
         blosc_decompress_ctx(from.data(), to.data(), to.size(), 1) == static_cast<int>(to.size());
}

bool inflate_gzip(std::span<const std::byte> from, std::span<std::byte> to) {
  z_stream z{};
  constexpr int kGzipOnly = 15 + 16;
  if (inflateInit2(&z, kGzipOnly) != Z_OK) return false;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
  z.avail_in = static_cast<uInt>(from.size());
  z.next_out = reinterpret_cast<Bytef*>(to.data());
  z.avail_out = static_cast<uInt>(to.size());
  const bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0 && z.avail_in == 0;
  inflateEnd(&z);
  return ok;
}

bool inflate_zstd(std::span<const std::byte> from, std::span<std::byte> to) {
  return ZSTD_decompress(to.data(), to.size(), from.data(), from.size()) == to.size();
}

template <class T, class As>
void convert(const std::byte* from, std::span<As> out) {
  for (auto& value : out) {
    T element;
    std::memcpy(&element, from, sizeof(T));
    from += sizeof(T);
    value = static_cast<As>(element);
  }
}

template <class As>
void convert(std::string_view type, const std::byte* from, std::span<As> out) {
  if (type == "int32") return convert<std::int32_t>(from, out);
  if (type == "int64") return convert<std::int64_t>(from, out);
  if (type == "uint32") return convert<std::uint32_t>(from, out);
  if (type == "uint16") return convert<std::uint16_t>(from, out);
  if (type == "float32") return convert<float>(from, out);
  if (type == "uint64") return convert<std::uint64_t>(from, out);
  if (type == "int16") return convert<std::int16_t>(from, out);
  convert<std::uint8_t>(from, out);
  if (type != "int8") return;
  for (auto& value : out) value = value > 127 ? value - 256 : value;  // two's complement
}

}  // namespace

ZarrReader::ZarrReader(std::string directory) : directory_(std::move(directory)) {
  const std::string path = path_join(directory_, "zarr.json");
  layout_ = parse_zarr_layout(read_metadata(path), path);
}

void ZarrReader::damaged(std::uint64_t at, std::string_view what) const {
  fail(ErrorKind::Corruption, "{}: {}, at byte {}\nhint: copy it again", path_, what, at);
}

void ZarrReader::read(std::uint64_t begin, std::span<std::int64_t> out) {
  if (layout_.data_type == "float32")
    fail(ErrorKind::Unsupported, "{}: holds float32 where whole numbers are expected", directory_);
  read_as(begin, out);
}

void ZarrReader::read(std::uint64_t begin, std::span<float> out) { read_as(begin, out); }

template <class T>
void ZarrReader::read_as(std::uint64_t begin, std::span<T> out) {
  if (begin > layout_.size || out.size() > layout_.size - begin) {
    fail(ErrorKind::InvalidArgument, "{}: elements [{}, {}) are outside of its {}", directory_, begin,
         begin + out.size(), layout_.size);
  }
  while (!out.empty()) {
    const std::uint64_t first = begin % layout_.chunk_elements;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), layout_.chunk_elements - first));
    if (const auto* bytes = chunk(begin / layout_.chunk_elements))
      convert(layout_.data_type, bytes->data() + first * layout_.element_bytes(), out.first(n));
    else
      std::fill_n(out.begin(), n, T{});
    out = out.subspan(n);
    begin += n;
  }
}

/// The decoded chunk, or nothing where it was never written.
const std::vector<std::byte>* ZarrReader::chunk(std::uint64_t index) {
  if (chunk_ != index) {
    chunk_.reset();
    open_shard(index / layout_.chunks_per_shard());
    const auto [offset, size] =
        file_ ? index_[index % layout_.chunks_per_shard()] : std::pair{kAbsent, kAbsent};
    chunk_present_ = offset != kAbsent || size != kAbsent;
    if (chunk_present_) load_chunk(offset, size);
    chunk_ = index;
  }
  return chunk_present_ ? &bytes_ : nullptr;
}

void ZarrReader::open_shard(std::uint64_t index) {
  if (shard_ == index) return;
  shard_.reset();
  path_ = path_join(directory_, fmt::format("c{}{}", layout_.separator, index));
  file_ = exists(path_) ? files().open(path_) : nullptr;
  if (file_ && layout_.sharded) read_index();
  if (file_ && !layout_.sharded) index_ = {{0, file_->size()}};
  shard_ = index;
}

void ZarrReader::read_index() {
  const std::uint64_t entries = layout_.chunks_per_shard(),
                      size = 16 * entries + (layout_.index_checksum ? 4 : 0), total = file_->size();
  if (total < size) damaged(total, fmt::format("ends inside its index of {} bytes", size));
  const std::uint64_t at = layout_.index_at_start ? 0 : total - size;
  std::vector<std::byte> raw(size);
  read_exactly(*file_, path_, at, raw);
  const auto bytes = std::span<const std::byte>(raw);
  if (layout_.index_checksum &&
      crc32c(bytes.first(16 * entries)) != read_number<std::uint32_t>(bytes, 16 * entries))
    damaged(at, "the checksum of its index is wrong");
  index_.clear();
  for (std::uint64_t i = 0; i < entries; ++i)
    index_.emplace_back(read_number<std::uint64_t>(bytes, 16 * i),
                        read_number<std::uint64_t>(bytes, 16 * i + 8));
}

void ZarrReader::load_chunk(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t total = file_->size(), whole = layout_.chunk_bytes();
  if (offset > total || size > total - offset)
    damaged(offset, fmt::format("a chunk of {} bytes ends after the file's {}", size, total));
  // A compressor adds less than that to what it cannot compress.
  if (size > whole + whole / 8 + 4096)
    damaged(offset, fmt::format("a chunk of {} bytes stands for {}", size, whole));
  std::vector<std::byte> raw(size);
  read_exactly(*file_, path_, offset, raw);
  std::span<const std::byte> from(raw);
  if (layout_.codecs.checksum) {
    if (from.size() < 4) damaged(offset, "a chunk lacks its checksum");
    const auto expected = read_number<std::uint32_t>(from, from.size() - 4);
    from = from.first(from.size() - 4);
    if (crc32c(from) != expected) damaged(offset, "a chunk's checksum is wrong");
  }
  bytes_.resize(whole);
  using Compressor = ZarrCodecs::Compressor;
  const Compressor compressor = layout_.codecs.compressor;
  bool ok = false;
  if (compressor == Compressor::Blosc)
    ok = inflate_blosc(from, bytes_);
  else if (compressor == Compressor::Gzip)
    ok = inflate_gzip(from, bytes_);
  else if (compressor == Compressor::Zstd)
    ok = inflate_zstd(from, bytes_);
  else if ((ok = from.size() == whole))
    std::copy(from.begin(), from.end(), bytes_.begin());
  if (!ok) damaged(offset, fmt::format("a chunk does not give its {} bytes", whole));
}

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hashed_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint64_t kHashedAtOnce = 256 << 10;  // small enough to be in the cache still when it is hashed

}  // namespace

void HashedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t room = std::min(kHashedAtOnce, kHashChunk - in_chunk_);
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), room));
    inner_->write(piece);
    whole_.update(piece);
    chunk_.update(piece);
    record_.size += piece.size();
    in_chunk_ += piece.size();
    bytes = bytes.subspan(piece.size());
    if (in_chunk_ == kHashChunk) {
      record_.chunks.push_back(std::exchange(chunk_, Hasher()).digest());
      in_chunk_ = 0;
    }
  }
}

void HashedFile::close() {
  inner_->close();
  if (in_chunk_ > 0) record_.chunks.push_back(chunk_.digest());
  in_chunk_ = 0;
  record_.hash = whole_.digest();
}

std::string check_chunk(const ReadFile& file, const FileRecord& record, std::size_t chunk) {
  const std::uint64_t begin = chunk * kHashChunk, end = std::min(record.size, begin + kHashChunk);
  std::vector<std::byte> bytes(end - begin);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const std::size_t n = file.read_at(begin + have, std::span(bytes).subspan(have));
    if (n == 0) break;
    have += n;
  }
  if (have == bytes.size() && hash128(bytes) == record.chunks[chunk]) return {};
  return fmt::format("hash differs from the manifest (byte range {}-{}); the file is damaged",
                     with_commas(static_cast<std::int64_t>(begin)),
                     with_commas(static_cast<std::int64_t>(end) - 1));
}

}  // namespace bora::checkpoint

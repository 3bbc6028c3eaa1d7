// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hashed_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint64_t kPiece = 256 << 10;  // small enough to be in the cache still when it is hashed

}  // namespace

void HashedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t room = std::min(kPiece, kHashBlock - in_block_);
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), room));
    inner_->write(piece);
    whole_.update(piece);
    block_.update(piece);
    record_.size += piece.size();
    in_block_ += piece.size();
    bytes = bytes.subspan(piece.size());
    if (in_block_ == kHashBlock) {
      record_.blocks.push_back(std::exchange(block_, Hasher()).digest());
      in_block_ = 0;
    }
  }
}

void HashedFile::close() {
  inner_->close();
  if (in_block_ > 0) record_.blocks.push_back(block_.digest());
  in_block_ = 0;
  record_.hash = whole_.digest();
}

std::string check_block(const ReadFile& file, const FileRecord& record, std::size_t block) {
  const std::uint64_t begin = block * kHashBlock, end = std::min(record.size, begin + kHashBlock);
  std::vector<std::byte> bytes(end - begin);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const std::size_t n = file.read_at(begin + have, std::span(bytes).subspan(have));
    if (n == 0) break;
    have += n;
  }
  if (have == bytes.size() && hash128(bytes) == record.blocks[block]) return {};
  return fmt::format("hash differs from the manifest (byte range {}-{}); the file is damaged",
                     with_commas(static_cast<std::int64_t>(begin)),
                     with_commas(static_cast<std::int64_t>(end) - 1));
}

}  // namespace bora::checkpoint

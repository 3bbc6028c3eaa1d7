// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   file := id*      u16 or u32, little endian, no header
#include "bora/store/token_files.h"
#include "bora/store/token_pieces.h"

namespace bora::store {
namespace {

class RawTokens final : public TokenDocuments {
 public:
  RawTokens(const std::string& path, int width)
      : path_(path), width_(static_cast<std::uint64_t>(width)), file_(files().open(path)) {
    bytes_ = file_->map();
    if (bytes_.size() % width_ != 0) {
      fail(ErrorKind::Corruption, "{}: {} bytes are no whole number of ids of {} bytes", path, bytes_.size(),
           width_);
    }
  }

  bool next(std::vector<std::int32_t>& ids, bool& ends_document) override {
    ids.clear();
    while (at_ < bytes_.size() && ids.size() < static_cast<std::size_t>(kTokenPiece)) {
      const std::uint32_t id =
          width_ == 2 ? read_number<std::uint16_t>(bytes_, at_) : read_number<std::uint32_t>(bytes_, at_);
      if (id > INT32_MAX) fail(ErrorKind::Corruption, "{}: the id at byte {} is {}", path_, at_, id);
      ids.push_back(static_cast<std::int32_t>(id));
      at_ += width_;
    }
    ends_document = at_ == bytes_.size();
    return !ids.empty();
  }

 private:
  std::string path_;
  std::uint64_t width_, at_ = 0;
  std::unique_ptr<ReadFile> file_;
  std::span<const std::byte> bytes_;
};

}  // namespace

std::unique_ptr<TokenDocuments> open_raw(const std::string& path, int width) {
  return std::make_unique<RawTokens>(path, width);
}

std::vector<std::string> export_raw(const TokenCache& cache, const std::string& path, int width) {
  if (width == 2 && cache.ledger().bytes_per_token() > 2) {
    fail(ErrorKind::Config, "export: ids of a vocabulary of {} do not fit two bytes\nhint: raw-u32",
         cache.ledger().vocab_size);
  }
  NewFile file(path);
  for_each_piece(cache, 0, cache.num_tokens(), [&](std::span<const std::int32_t> tokens) {
    for (const std::int32_t id : tokens) {
      if (width == 2)
        file.append(static_cast<std::uint16_t>(id));
      else
        file.append(static_cast<std::uint32_t>(id));
    }
  });
  return {file.finish()};
}

}  // namespace bora::store

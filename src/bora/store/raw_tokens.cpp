// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   file   := [header] id*                               u16 or u32, little endian
//   header := magic:i32 version:i32 ids:i32 unused:i32*253     of llm.c (dev/data/data_common.py)
//   magic  := 20240520 (version 1, u16) | 20240801 (version 7, u32)
#include <array>

#include "bora/store/token_files.h"
#include "bora/store/token_pieces.h"

namespace bora::store {
namespace {

/// A kind of llm.c's files, all of which begin with 256 numbers.
struct Header {
  std::uint32_t magic, version;
  std::uint64_t width;  ///< bytes of an id
};
constexpr std::array<Header, 2> kHeaders = {{{20'240'520, 1, 2}, {20'240'801, 7, 4}}};
constexpr std::uint32_t kQuestions = 20'240'522;
constexpr std::uint64_t kHeaderBytes = 256 * sizeof(std::int32_t);

class RawTokens final : public TokenDocuments {
 public:
  RawTokens(const std::string& path, int width)
      : path_(path), width_(static_cast<std::uint64_t>(width)), file_(files().open(path)) {
    bytes_ = file_->map();
    if (bytes_.size() >= kHeaderBytes && read_header()) return;
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
  /// Whether the file begins with a header of llm.c, behind which the ids are then.
  bool read_header() {
    const auto number = [this](std::uint64_t i) { return read_number<std::uint32_t>(bytes_, 4 * i); };
    const std::uint32_t magic = number(0), version = number(1);
    if (magic == kQuestions && version == 1) {
      fail(ErrorKind::Unsupported,
           "{}: begins like llm.c's questions with several answers (magic {}), which are no text to train on",
           path_, magic);
    }
    for (const Header& kind : kHeaders) {
      if (magic != kind.magic) continue;
      if (version != kind.version) {
        fail(ErrorKind::Unsupported,
             "{}: begins like llm.c's tokens (magic {}) of version {}, but Bora reads version {}", path_,
             magic, version, kind.version);
      }
      if (kind.width != width_) {
        fail(ErrorKind::Config, "{}: llm.c's header says ids of {} bytes, not {}\nhint: --format raw-u{}",
             path_, kind.width, width_, 8 * kind.width);
      }
      const std::uint64_t bytes = bytes_.size() - kHeaderBytes;
      if (std::uint64_t{number(2)} * width_ != bytes) {
        fail(ErrorKind::Corruption, "{}: llm.c's header says {} ids of {} bytes, but {} bytes follow it",
             path_, number(2), width_, bytes);
      }
      at_ = kHeaderBytes;
      return true;
    }
    return false;
  }

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

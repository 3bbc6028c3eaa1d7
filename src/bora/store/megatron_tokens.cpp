// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Megatron-LM's indexed data set (megatron/core/datasets/indexed_dataset.py), all numbers little endian:
//
//   .bin := id*                         of all sequences, back to back
//   .idx := "MMIDIDX\0\0" version=1:u64 type:u8 sequences:u64 boundaries:u64
//           length:i32*sequences        in ids
//           offset:i64*sequences        of each in .bin, in bytes
//           document:i64*boundaries     the sequence at which each document begins; the last is `sequences`
//           [mode:i8*sequences]         of multimodal data: 0 is text, the only one that Bora takes
//   type := 1 u8 | 2 i8 | 3 i16 | 4 i32 | 5 i64 | 8 u16          (6 and 7 are floating point)
#include "bora/store/token_files.h"
#include "bora/store/token_pieces.h"

namespace bora::store {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::uint64_t kHeader = 9 + 8 + 1 + 8 + 8;
constexpr std::uint8_t kInt32 = 4, kUint16 = 8;

std::string without_suffix(const std::string& path) {
  const bool known = path.ends_with(".bin") || path.ends_with(".idx");
  return known ? path.substr(0, path.size() - 4) : path;
}

std::uint64_t width_of(std::uint8_t type, const std::string& name) {
  switch (type) {
    case 1:
    case 2:
      return 1;
    case 3:
    case kUint16:
      return 2;
    case kInt32:
      return 4;
    case 5:
      return 8;
    default:
      fail(ErrorKind::Corruption, "{}: type {} is none of whole numbers (1 to 5, 8)", name, type);
  }
}

class MegatronTokens final : public TokenDocuments {
 public:
  explicit MegatronTokens(const std::string& path)
      : index_name_(path + ".idx"),
        name_(path + ".bin"),
        index_file_(files().open(index_name_)),
        file_(files().open(name_)) {
    index_ = index_file_->map();
    bytes_ = file_->map();
    read_header();
  }

  bool next(std::vector<std::int32_t>& ids, bool& ends_document) override {
    ids.clear();
    ends_document = false;
    while (document_ < documents_ && !ends_document && ids.size() < static_cast<std::size_t>(kTokenPiece))
      ends_document = add_sequence(ids);
    return ends_document || !ids.empty();
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    fail(ErrorKind::Corruption, "{}: {}", index_name_, what);
  }

  void read_header() {
    const std::string_view start(reinterpret_cast<const char*>(index_.data()),
                                 std::min(index_.size(), kMagic.size()));
    if (start != kMagic) wrong("does not begin with MMIDIDX");
    if (index_.size() < kHeader) wrong(fmt::format("ends at byte {} inside its header", index_.size()));
    const auto version = read_number<std::uint64_t>(index_, 9);
    if (version != 1) wrong(fmt::format("version {}, but Bora reads version 1", version));
    type_ = read_number<std::uint8_t>(index_, 17);
    width_ = width_of(type_, index_name_);
    sequences_ = read_number<std::uint64_t>(index_, 18);
    const auto boundaries = read_number<std::uint64_t>(index_, 26);
    // Compared by division: a hostile count must not overflow.
    const std::uint64_t room = index_.size() - kHeader;
    const bool fits = sequences_ <= room / 12 && boundaries <= (room - 12 * sequences_) / 8;
    if (!fits || boundaries < 1) {
      wrong(fmt::format("{} sequences and {} document boundaries do not fit its {} bytes", sequences_,
                        boundaries, index_.size()));
    }
    documents_ = boundaries - 1;
    sequence_ = boundary(0);
    if (sequence_ != 0 || boundary(documents_) != sequences_) {
      wrong(fmt::format("documents go from sequence {} to {} of {}", sequence_, boundary(documents_),
                        sequences_));
    }
    check_modes(kHeader + 12 * sequences_ + 8 * boundaries);
  }

  /// The header does not say whether modes follow; the size does.
  void check_modes(std::uint64_t end) const {
    const std::uint64_t rest = index_.size() - end;
    if (rest != 0 && rest != sequences_) {
      wrong(fmt::format("{} bytes follow its documents, but there are {} sequences to have a mode", rest,
                        sequences_));
    }
    for (std::uint64_t i = 0; i < rest; ++i) {
      const int mode = read_number<std::uint8_t>(index_, end + i);
      if (mode == 0) continue;
      fail(ErrorKind::Unsupported,
           "{}: sequence {} has mode {}: it is no text, but ids of another kind\nhint: Bora trains on text "
           "alone; write the sequences of mode 0 to a data set of their own",
           index_name_, i, mode);
    }
  }

  std::uint64_t boundary(std::uint64_t document) const {
    return read_number<std::uint64_t>(index_, kHeader + 12 * sequences_ + 8 * document);
  }

  /// Adds the next sequence, or as much of it as is asked for at a time; true if a document ends there.
  bool add_sequence(std::vector<std::int32_t>& ids) {
    const std::uint64_t end = boundary(document_ + 1);
    if (end < sequence_ || end > sequences_)
      wrong(fmt::format("document {} ends at sequence {} of {}", document_, end, sequences_));
    if (sequence_ == end) {
      ++document_;
      return true;
    }
    const auto length = read_number<std::int32_t>(index_, kHeader + 4 * sequence_);
    const auto offset = read_number<std::uint64_t>(index_, kHeader + 4 * sequences_ + 8 * sequence_);
    const bool inside = length >= 0 && offset <= bytes_.size() &&
                        static_cast<std::uint64_t>(length) <= (bytes_.size() - offset) / width_;
    if (!inside) {
      wrong(fmt::format("sequence {} is {} ids at byte {}, but {} has {} bytes", sequence_, length, offset,
                        name_, bytes_.size()));
    }
    const std::int64_t n = std::min<std::int64_t>(length - done_, kTokenPiece);
    for (std::int64_t i = 0; i < n; ++i)
      ids.push_back(id_at(offset + static_cast<std::uint64_t>(done_ + i) * width_));
    done_ += n;
    if (done_ < length) return false;
    done_ = 0;
    ++sequence_;
    return false;
  }

  std::int32_t id_at(std::uint64_t at) const {
    std::int64_t id = 0;
    if (width_ == 1)
      id = type_ == 1 ? read_number<std::uint8_t>(bytes_, at) : read_number<std::int8_t>(bytes_, at);
    else if (width_ == 2)
      id = type_ == kUint16 ? read_number<std::uint16_t>(bytes_, at) : read_number<std::int16_t>(bytes_, at);
    else
      id = width_ == 4 ? read_number<std::int32_t>(bytes_, at) : read_number<std::int64_t>(bytes_, at);
    if (id < 0 || id > INT32_MAX) fail(ErrorKind::Corruption, "{}: the id at byte {} is {}", name_, at, id);
    return static_cast<std::int32_t>(id);
  }

  std::string index_name_, name_;
  std::unique_ptr<ReadFile> index_file_, file_;
  std::span<const std::byte> index_, bytes_;
  std::uint8_t type_ = 0;
  std::uint64_t width_ = 0, sequences_ = 0, documents_ = 0;
  std::uint64_t document_ = 0, sequence_ = 0;  // the present ones
  std::int64_t done_ = 0;                      // ids of the present sequence that have been given
};

}  // namespace

std::unique_ptr<TokenDocuments> open_megatron(const std::string& path) {
  return std::make_unique<MegatronTokens>(without_suffix(path));
}

std::vector<std::string> export_megatron(const TokenCache& cache, const std::string& path) {
  const std::string base = without_suffix(path);
  const bool narrow = cache.ledger().bytes_per_token() == 2;
  NewFile tokens(base + ".bin"), index(base + ".idx");
  for_each_piece(cache, 0, cache.num_tokens(), [&](std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) {
      if (narrow)
        tokens.append(static_cast<std::uint16_t>(id));
      else
        tokens.append(id);
    }
  });
  const auto documents = static_cast<std::uint64_t>(cache.num_documents());
  index.append_bytes(kMagic);
  index.append(std::uint64_t{1});
  index.append(narrow ? kUint16 : kInt32);
  index.append(documents);
  index.append(documents + 1);
  for (std::int64_t d = 0; d < cache.num_documents(); ++d) {
    const std::int64_t length = cache.document_end(d) - cache.document_begin(d);
    if (length > INT32_MAX)
      fail(ErrorKind::Config, "export: document {} has {} tokens; Megatron counts up to {}", d, length,
           INT32_MAX);
    index.append(static_cast<std::int32_t>(length));
  }
  for (std::int64_t d = 0; d < cache.num_documents(); ++d)
    index.append(cache.document_begin(d) * (narrow ? 2 : 4));
  for (std::uint64_t d = 0; d <= documents; ++d) index.append(d);
  return {tokens.finish(), index.finish()};
}

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Documents out of Parquet and Arrow files. A part of the file (a row group) belongs to the range that its
// first byte is in.
#include <algorithm>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/document_readers.h"
#include "bora/store/table_file.h"

namespace bora::store {
namespace {

class TableReader final : public DocumentReader {
 public:
  TableReader(const Source& source, ByteRange range, const TextFormat& format, RawObserver observer)
      : source_(source),
        range_(range),
        format_(format),
        observer_(std::move(observer)),
        file_(open_table(source.path)),
        starts_(file_->starts()) {
    const auto part_of = [this](std::uint64_t at) {
      return static_cast<std::size_t>(std::lower_bound(starts_.begin(), starts_.end(), at) - starts_.begin());
    };
    next_part_ = range.begin < range.end ? part_of(range.begin) : starts_.size();
    last_part_ = std::max(next_part_, part_of(range.end));
  }

  bool next(TextPiece& piece) override {
    bool begins = false;
    if (rest_.empty()) {
      if (!next_document()) return false;
      begins = true;
    }
    const bool whole = format_.whole_records || rest_.size() <= kPieceBytes;
    const std::size_t length = whole ? rest_.size() : piece_end(rest_.substr(0, kPieceBytes));
    piece = {rest_.substr(0, length), begins, length == rest_.size()};
    rest_.remove_prefix(length);
    return true;
  }

  std::string where() const override { return fmt::format("{}: row {}", source_.path, file_->row()); }

 private:
  bool next_document() {
    while (inside_ || open_part()) {
      while (file_->next(rest_)) {
        if (rest_.empty()) continue;
        if (const auto at = invalid_utf8(rest_)) {
          if (format_.invalid_utf8 != InvalidText::Replace) {
            fail(ErrorKind::Corruption,
                 "{}: invalid UTF-8 at byte {} of {}\nhint: format.invalid_utf8: replace", where(), *at,
                 format_.whole_records ? "its JSON" : fmt::format("\"{}\"", format_.text_key));
          }
          repaired_ = replace_invalid_utf8(rest_);
          rest_ = repaired_;
        }
        return true;
      }
      inside_ = false;
    }
    rest_ = {};
    return false;
  }

  bool open_part() {
    if (next_part_ == last_part_) return false;
    const std::uint64_t begin = starts_[next_part_],
                        end = next_part_ + 1 < starts_.size() ? starts_[next_part_ + 1] : source_.size;
    if (observer_) observe(begin, std::min(end, range_.end));
    file_->select(next_part_++, format_.whole_records ? "" : format_.text_key);
    return inside_ = true;
  }

  /// Arrow reads where it likes; whoever hashes the file wants its bytes in order.
  void observe(std::uint64_t begin, std::uint64_t end) {
    std::vector<char> buffer(256 << 10);
    const auto raw = open_stream(source_.path, Compression::None, begin, end, observer_);
    while (raw->read(buffer) > 0) {
    }
  }

  Source source_;
  ByteRange range_;
  TextFormat format_;
  RawObserver observer_;
  std::unique_ptr<TableFile> file_;
  std::vector<std::uint64_t> starts_;
  std::size_t next_part_ = 0, last_part_ = 0;
  bool inside_ = false;
  std::string repaired_;  // the last text, where it was not UTF-8
  std::string_view rest_;
};

}  // namespace

std::unique_ptr<DocumentReader> open_table_documents(const Source& source, ByteRange range,
                                                     const TextFormat& format, RawObserver observer) {
  return std::make_unique<TableReader>(source, range, format, std::move(observer));
}

std::uint64_t next_table_part(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  const auto starts = open_table(path)->starts();
  const auto at = std::lower_bound(starts.begin(), starts.end(), offset);
  return at == starts.end() ? size : *at;
}

}  // namespace bora::store

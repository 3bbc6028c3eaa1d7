// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <simdjson.h>

#include <cstring>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/document_readers.h"

namespace bora::store {
namespace {

constexpr std::string_view kSeparator = "<|endoftext|>";
constexpr std::size_t kLookahead = 64;  // more than a separator line needs

class TextReader final : public DocumentReader {
 public:
  TextReader(const Source& source, const FileFormat& format, ByteRange range, InvalidText invalid,
             RawObserver observer)
      : source_(source),
        format_(format),
        invalid_(invalid),
        ends_file_(range.end == source.size),
        text_offset_(range.begin),
        buffer_(buffer_size(format, range)) {
    // An empty compressed file is opened all the same: it is cut off.
    if (range.begin >= range.end && format.compression == Compression::None) return;
    if (range.begin > 0) look_back(range.begin);
    stream_ = open_stream(source.path, format.compression, range.begin, range.end, std::move(observer));
    refill();
    if (range.begin == 0 && view().starts_with(kByteOrderMark)) consume(kByteOrderMark.size());
  }

  bool next(TextPiece& piece) override {
    while (stream_) {
      refill();
      if (view().empty()) {
        stream_.reset();
        piece = {{}, false, true};
        return open_ && ends_file_;
      }
      take(piece);
      open_ = !piece.ends_document;
      if (!piece.text.empty() || !piece.begins_document) return true;
    }
    return false;
  }

  std::string where() const override { return source_.path; }

 private:
  /// One byte more than a small file has, so that its end is seen at once.
  static std::size_t buffer_size(const FileFormat& format, ByteRange range) {
    if (format.compression != Compression::None || range.begin >= range.end) return 4 * kPieceBytes;
    return static_cast<std::size_t>(std::min<std::uint64_t>(4 * kPieceBytes, range.end - range.begin + 1));
  }

  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }

  void consume(std::size_t n) {
    begin_ += n;
    text_offset_ += n;
  }

  void refill() {
    if (at_end_ || end_ - begin_ >= kPieceBytes + kLookahead) return;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t n = stream_->read(std::span(buffer_).subspan(end_));
    end_ += n;
    at_end_ = end_ < buffer_.size();
  }

  /// Cuts the next piece off the front of the buffer, and the separator after it.
  void take(TextPiece& piece) {
    const std::string_view all = view();
    std::size_t length = 0, separator = 0;
    bool ends = true;
    if (find_separator(all, length, separator)) {
    } else if (all.size() <= kPieceBytes) {
      length = all.size();
      ends = ends_file_;
    } else {
      length = piece_end(all.substr(0, kPieceBytes));
      ends = false;
    }
    piece = {all.substr(0, length), !open_, ends};
    if (!simdjson::validate_utf8(piece.text.data(), piece.text.size())) treat_invalid(piece);
    at_line_start_ = all[length + separator - 1] == '\n';
    consume(length + separator);
  }

  void treat_invalid(TextPiece& piece) {
    if (invalid_ == InvalidText::Keep) return;
    if (invalid_ == InvalidText::Refuse)
      fail_utf8(source_, format_, text_offset_ + invalid_utf8(piece.text).value_or(0));
    replaced_ = replace_invalid_utf8(piece.text);
    piece.text = replaced_;
  }

  bool find_separator(std::string_view all, std::size_t& at, std::size_t& length) const {
    const auto searched = all.substr(0, kPieceBytes + kSeparator.size());
    for (at = searched.find(kSeparator); at != std::string_view::npos;
         at = searched.find(kSeparator, at + 1)) {
      const bool starts_line = at == 0 ? at_line_start_ : all[at - 1] == '\n';
      std::size_t end = at + kSeparator.size();
      if (end < all.size() && all[end] == '\r') ++end;
      if (starts_line && (end == all.size() || all[end] == '\n')) {
        length = std::min(end + 1, all.size()) - at;
        return true;
      }
    }
    return false;
  }

  /// What the range before this one has left: in a document or between two, at a line's start or not.
  void look_back(std::uint64_t begin) {
    const auto size = std::min<std::uint64_t>(begin, kSeparator.size() + 3);
    std::string before(size, '\0');
    files().open(source_.path)->read_at(begin - size, std::as_writable_bytes(std::span(before)));
    at_line_start_ = before.ends_with('\n');
    open_ = true;
    if (!at_line_start_) return;
    before.pop_back();
    if (before.ends_with('\r')) before.pop_back();
    if (!before.ends_with(kSeparator)) return;
    before.resize(before.size() - kSeparator.size());
    open_ = !before.empty() && before.back() != '\n';
  }

  Source source_;
  FileFormat format_;
  InvalidText invalid_;
  std::string replaced_;  // the last piece, where it was not UTF-8
  bool ends_file_;
  std::uint64_t text_offset_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::unique_ptr<ByteStream> stream_;
  bool at_end_ = false;
  bool at_line_start_ = true;
  bool open_ = false;  // some text of the present document has been given out
};

}  // namespace

std::unique_ptr<DocumentReader> open_text(const Source& source, const FileFormat& format, ByteRange range,
                                          const TextFormat& text_format, RawObserver observer) {
  return std::make_unique<TextReader>(source, format, range, text_format.invalid_utf8, std::move(observer));
}

}  // namespace bora::store

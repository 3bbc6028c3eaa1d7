// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/document_readers.h"

namespace bora::store {
namespace {

/// Lines of a stream, with readable bytes behind each as simdjson wants.
class Lines {
 public:
  explicit Lines(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)), buffer_(kPieceBytes) {}

  /// False at the end; false with too_long() if a line is over kLongestLine.
  bool next(std::string_view& line) {
    offset_ += consumed_;
    begin_ += consumed_;
    consumed_ = 0;
    std::size_t scanned = 0;
    for (;;) {
      const char* start = buffer_.data() + begin_;
      if (const void* hit = std::memchr(start + scanned, '\n', end_ - begin_ - scanned)) {
        return give(line, static_cast<const char*>(hit) - start, 1);
      }
      scanned = end_ - begin_;
      if (at_end_) return scanned > 0 && give(line, scanned, 0);
      if (scanned > kLongestLine) return give(line, scanned, 0);
      refill();
    }
  }

  bool too_long() const { return too_long_; }
  std::uint64_t offset() const { return offset_; }  ///< of the present line, from the stream's start

 private:
  bool give(std::string_view& line, std::size_t size, std::size_t newline) {
    line = {buffer_.data() + begin_, size};
    consumed_ = size + newline;
    too_long_ = size > kLongestLine;
    return !too_long_;
  }

  void refill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t padding = simdjson::SIMDJSON_PADDING;
    if (end_ + padding >= buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
    const auto room = std::span(buffer_).subspan(end_, buffer_.size() - end_ - padding);
    const std::size_t n = stream_->read(room);
    end_ += n;
    at_end_ = n < room.size();
  }

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0, consumed_ = 0;
  std::uint64_t offset_ = 0;
  bool at_end_ = false;
  bool too_long_ = false;
};

class LineReader final : public DocumentReader {
 public:
  LineReader(const Source& source, const FileFormat& format, ByteRange range, const TextFormat& text_format,
             RawObserver observer)
      : source_(source),
        format_(format),
        begin_(range.begin),
        text_key_(text_format.text_key),
        lines_(open_stream(source.path, format.compression, range.begin, std::max(range.begin, range.end),
                           std::move(observer))) {}

  bool next(TextPiece& piece) override {
    bool begins = false;
    if (rest_.empty()) {
      if (!next_document()) return false;
      begins = true;
    }
    const std::size_t length =
        rest_.size() <= kPieceBytes ? rest_.size() : piece_end(rest_.substr(0, kPieceBytes));
    piece = {rest_.substr(0, length), begins, length == rest_.size()};
    rest_.remove_prefix(length);
    return true;
  }

 private:
  /// Puts the next text that is not empty into rest_.
  bool next_document() {
    std::string_view line;
    while (lines_.next(line)) {
      ++line_number_;
      if (begin_ == 0 && lines_.offset() == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(3);
      if (trim(line).empty()) continue;
      rest_ = text_of(line);
      if (!rest_.empty()) return true;
    }
    if (lines_.too_long()) {
      ++line_number_;
      fail(ErrorKind::Unsupported, "{}: the line is longer than {} MiB\nhint: split this document", where(),
           kLongestLine >> 20);
    }
    return false;
  }

  std::string_view text_of(std::string_view line) {
    // simdjson's DOM rather than its on-demand parser: it looks at every byte of the line, and picks the
    // processor's widest instructions at run time.
    simdjson::dom::element element;
    if (const auto error = parser_.parse(line.data(), line.size(), false).get(element)) bad_line(line, error);
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      const std::string_view hint =
          element.is_array() ? "\nhint: write one object a line, for example with jq -c '.[]'" : "";
      fail(ErrorKind::Corruption, "{}: each line should be one JSON object but this one is not{}", where(),
           hint);
    }
    simdjson::dom::element value;
    if (object.at_key(text_key_).get(value) != simdjson::SUCCESS) no_text(object);
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      fail(ErrorKind::Corruption, "{}: field \"{}\" should be a string but is {}", where(), text_key_,
           simdjson::minify(value).substr(0, 40));
    }
    return text;
  }

  [[noreturn]] void no_text(simdjson::dom::object object) {
    std::vector<std::string> keys;
    for (const auto& field : object) {
      if (keys.size() < 10) keys.emplace_back(field.key);
    }
    fail(ErrorKind::Corruption,
         "{}: no field \"{}\"; the object has {}\nhint: set format.text_key to the field that holds the text",
         where(), text_key_, keys.empty() ? "none" : join(keys));
  }

  [[noreturn]] void bad_line(std::string_view line, simdjson::error_code error) {
    if (error == simdjson::UTF8_ERROR) {
      fail_utf8(source_, format_, begin_ + lines_.offset() + invalid_utf8(line).value_or(0));
    }
    std::string what{simdjson::error_message(error)};
    while (what.ends_with('.')) what.pop_back();
    fail(ErrorKind::Corruption, "{}: malformed JSON: {}", where(), what);
  }

  /// "file:line". The lines before the range are counted only now, when someone wants to know.
  std::string where() const {
    std::int64_t before = 0;
    std::vector<char> buffer(kPieceBytes);
    const auto stream = begin_ > 0 ? open_stream(source_.path, Compression::None, 0, begin_) : nullptr;
    while (const std::size_t n = stream ? stream->read(buffer) : 0) {
      before += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n), '\n');
    }
    return fmt::format("{}:{}", source_.path, before + line_number_);
  }

  Source source_;
  FileFormat format_;
  std::uint64_t begin_;
  std::string text_key_;
  Lines lines_;
  simdjson::dom::parser parser_{2 * kLongestLine};
  std::string_view rest_;
  std::int64_t line_number_ = 0;
};

}  // namespace

std::unique_ptr<DocumentReader> open_lines(const Source& source, const FileFormat& format, ByteRange range,
                                           const TextFormat& text_format, RawObserver observer) {
  return std::make_unique<LineReader>(source, format, range, text_format, std::move(observer));
}

}  // namespace bora::store

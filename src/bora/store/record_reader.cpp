// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/document_readers.h"
#include "bora/store/record_stream.h"

namespace bora::store {
namespace {

class RecordReader final : public DocumentReader {
 public:
  RecordReader(const Source& source, const FileFormat& format, ByteRange range, const TextFormat& text_format,
               RawObserver observer)
      : source_(source),
        format_(format),
        begin_(range.begin),
        text_format_(text_format),
        lines_(format.layout == Layout::Lines || !file_holds_values(source, format)),
        records_(open(range, std::move(observer))) {}

  bool next(TextPiece& piece) override {
    bool begins = false;
    if (rest_.empty()) {
      if (!next_document()) return false;
      begins = true;
    }
    const bool whole = text_format_.whole_records || rest_.size() <= kPieceBytes;
    const std::size_t length = whole ? rest_.size() : piece_end(rest_.substr(0, kPieceBytes));
    piece = {rest_.substr(0, length), begins, length == rest_.size()};
    rest_.remove_prefix(length);
    return true;
  }

  /// "file:line". The lines before the range are counted only now, when someone wants to know.
  std::string where() const override {
    std::int64_t before = 0;
    std::vector<char> buffer(kPieceBytes);
    const auto stream = begin_ > 0 ? open_stream(source_.path, Compression::None, 0, begin_) : nullptr;
    while (const std::size_t n = stream ? stream->read(buffer) : 0) {
      before += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n), '\n');
    }
    return fmt::format("{}:{}", source_.path, before + records_->line_number());
  }

 private:
  static bool file_holds_values(const Source& source, const FileFormat& format) {
    return holds_values(*open_stream(source.path, format.compression, 0, source.size));
  }

  std::unique_ptr<RecordStream> open(ByteRange range, RawObserver observer) const {
    auto stream = open_stream(source_.path, format_.compression, range.begin,
                              std::max(range.begin, range.end), std::move(observer));
    return lines_ ? open_line_records(std::move(stream)) : open_value_records(std::move(stream));
  }

  /// Puts the next text that is not empty into rest_.
  bool next_document() {
    std::string_view line;
    while (records_->next(line)) {
      if (begin_ == 0 && records_->offset() == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(3);
      if (trim(line).empty()) continue;
      if (text_format_.invalid_utf8 == InvalidText::Replace) line = repaired(line);
      rest_ = text_format_.whole_records ? checked(trim(line)) : text_of(line);
      if (!rest_.empty()) return true;
    }
    if (records_->too_long()) {
      fail(ErrorKind::Unsupported, "{}: the {} is longer than {} MiB\nhint: split this document", where(),
           lines_ ? "line" : "record", kLongestLine >> 20);
    }
    if (records_->ends_inside()) {
      fail(ErrorKind::Corruption, "{}: the file ends inside its JSON array\nhint: copy or download it again",
           where());
    }
    return false;
  }

  std::string_view repaired(std::string_view line) {
    if (simdjson::validate_utf8(line.data(), line.size())) return line;
    repaired_ = replace_invalid_utf8(line);
    repaired_.reserve(repaired_.size() + simdjson::SIMDJSON_PADDING);
    return repaired_;
  }

  /// A record that stays as it is. What is in it, its processor reads; text is UTF-8 from here on.
  std::string_view checked(std::string_view line) {
    if (const auto at = invalid_utf8(line)) fail_utf8(source_, format_, begin_ + records_->offset() + *at);
    return line;
  }

  std::string_view text_of(std::string_view line) {
    // simdjson's DOM rather than its on-demand parser: it looks at every byte of the line, and picks the
    // processor's widest instructions at run time.
    simdjson::dom::element element;
    if (const auto error = parser_.parse(line.data(), line.size(), false).get(element)) bad_line(line, error);
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      const std::string_view hint =
          lines_ && element.is_array() ? "\nhint: write one object a line, for example with jq -c '.[]'" : "";
      fail(ErrorKind::Corruption, "{}: each {} should be one JSON object but this one is not{}", where(),
           lines_ ? "line" : "record", hint);
    }
    const simdjson::dom::element value = text_field(object);
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      fail(ErrorKind::Corruption, "{}: field \"{}\" should be a string but is {}", where(),
           text_format_.text_key, shown(value));
    }
    return text;
  }

  static std::string shown(simdjson::dom::element value) { return simdjson::minify(value).substr(0, 40); }

  simdjson::dom::element text_field(simdjson::dom::object object) {
    std::optional<simdjson::dom::element> found;
    for (auto field = object.begin(); field != object.end(); ++field) {
      if (!field.key_equals(text_format_.text_key)) continue;
      if (found) {
        fail(ErrorKind::Corruption,
             "{}: field \"{}\" is given twice, as {} and as {}\nhint: leave one of them in the {}", where(),
             text_format_.text_key, shown(*found), shown(field.value()), lines_ ? "line" : "record");
      }
      found = field.value();
    }
    if (!found) no_text(object);
    return *found;
  }

  [[noreturn]] void no_text(simdjson::dom::object object) {
    std::vector<std::string> keys;
    for (const auto& field : object) {
      if (keys.size() < 10) keys.emplace_back(field.key);
    }
    fail(ErrorKind::Corruption,
         "{}: no field \"{}\"; the object has {}\nhint: set format.text_key to the field that holds the text",
         where(), text_format_.text_key, keys.empty() ? "none" : join(keys));
  }

  [[noreturn]] void bad_line(std::string_view line, simdjson::error_code error) {
    if (error == simdjson::UTF8_ERROR) {
      fail_utf8(source_, format_, begin_ + records_->offset() + invalid_utf8(line).value_or(0));
    }
    std::string what{simdjson::error_message(error)};
    while (what.ends_with('.')) what.pop_back();
    fail(ErrorKind::Corruption, "{}: malformed JSON: {}", where(), what);
  }

  Source source_;
  FileFormat format_;
  std::uint64_t begin_;
  TextFormat text_format_;
  bool lines_;
  std::unique_ptr<RecordStream> records_;
  simdjson::dom::parser parser_{2 * kLongestLine};
  std::string repaired_;  // the last record, where it was not UTF-8
  std::string_view rest_;
};

}  // namespace

std::unique_ptr<DocumentReader> open_records(const Source& source, const FileFormat& format, ByteRange range,
                                             const TextFormat& text_format, RawObserver observer) {
  return std::make_unique<RecordReader>(source, format, range, text_format, std::move(observer));
}

}  // namespace bora::store

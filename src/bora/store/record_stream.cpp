// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/record_stream.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bora/store/documents.h"

namespace bora::store {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// The part of a stream that is looked at, with room behind it.
class Window {
 public:
  explicit Window(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)), buffer_(kPieceBytes) {}

  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  bool at_end() const { return at_end_; }
  std::uint64_t offset() const { return offset_; }

  void consume(std::size_t n) {
    begin_ += n;
    offset_ += n;
  }

  /// Reads more behind the view; views from before are no longer valid.
  void extend() {
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

 private:
  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
  bool at_end_ = false;
};

class Lines final : public RecordStream {
 public:
  explicit Lines(std::unique_ptr<ByteStream> stream) : window_(std::move(stream)) {}

  bool next(std::string_view& record) override {
    window_.consume(consumed_);
    consumed_ = 0;
    std::size_t scanned = 0;
    for (;;) {
      const std::string_view view = window_.view();
      if (const auto hit = view.find('\n', scanned); hit != std::string_view::npos)
        return give(record, view.substr(0, hit), 1);
      scanned = view.size();
      if (window_.at_end()) return scanned > 0 && give(record, view, 0);
      if (scanned > kLongestLine) return give(record, view, 0);
      window_.extend();
    }
  }

  bool too_long() const override { return too_long_; }
  std::uint64_t offset() const override { return window_.offset(); }
  std::int64_t line_number() const override { return line_number_; }
  bool ends_inside() const override { return false; }

 private:
  bool give(std::string_view& record, std::string_view line, std::size_t newline) {
    record = line;
    consumed_ = line.size() + newline;
    ++line_number_;
    too_long_ = line.size() > kLongestLine;
    return !too_long_;
  }

  Window window_;
  std::size_t consumed_ = 0;
  std::int64_t line_number_ = 0;
  bool too_long_ = false;
};

/// Follows one JSON value until it ends.
class ValueEnd {
 public:
  /// The first character behind the value from `from` on in `text`, or npos if it goes on.
  std::size_t find(std::string_view text, std::size_t from) {
    for (std::size_t i = from; i < text.size(); ++i) {
      const char c = text[i];
      if (in_string_) {
        in_string_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
        if (!in_string_ && depth_ == 0) return i + 1;
        continue;
      }
      if (c == '"') in_string_ = true;
      if (c == '{' || c == '[') ++depth_;
      if (depth_ == 0 && (c == ',' || c == ']' || c == '}' || is_json_space(c))) return i;
      if ((c == '}' || c == ']') && --depth_ == 0) return i + 1;
    }
    return std::string_view::npos;
  }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

class Values final : public RecordStream {
 public:
  explicit Values(std::unique_ptr<ByteStream> stream) : window_(std::move(stream)) {}

  bool next(std::string_view& record) override {
    consume(consumed_);
    consumed_ = 0;
    if (!skip_to_value()) return false;
    if (in_array_ && comma_due_) return give(record, window_.view().substr(0, 1));
    comma_due_ = in_array_;
    value_due_ = false;
    ValueEnd end;
    std::size_t scanned = 0;
    for (;;) {
      const std::string_view view = window_.view();
      const std::size_t found = end.find(view, scanned);
      if (found != std::string_view::npos || window_.at_end()) return give(record, view.substr(0, found));
      scanned = view.size();
      if (scanned > kLongestLine) return give(record, view);
      window_.extend();
    }
  }

  bool too_long() const override { return too_long_; }
  std::uint64_t offset() const override { return window_.offset(); }
  std::int64_t line_number() const override { return line_number_; }
  bool ends_inside() const override { return in_array_; }

 private:
  void consume(std::size_t n) {
    const std::string_view gone = window_.view().substr(0, n);
    line_number_ += std::count(gone.begin(), gone.end(), '\n');
    window_.consume(n);
  }

  /// Past white space, and the commas and brackets of the array where they may stand: others are given as a record,
  /// which is none. False at the end of the file.
  bool skip_to_value() {
    for (;;) {
      const std::string_view view = window_.view();
      std::size_t i = 0;
      for (; i < view.size(); ++i) {
        const char c = view[i];
        const bool bom = offset() == 0 && i < 3 && static_cast<unsigned char>(c) >= 0x80;
        if (c == '[' && !seen_) {
          in_array_ = true;
        } else if (c == ']' && in_array_ && !value_due_) {
          in_array_ = false;
        } else if (c == ',' && in_array_ && comma_due_) {
          comma_due_ = false;
          value_due_ = true;
        } else if (!is_json_space(c) && !bom) {
          break;
        }
        seen_ |= !is_json_space(c) && !bom;
      }
      consume(i);
      if (i < view.size()) return true;
      if (window_.at_end()) return false;
      window_.extend();
    }
  }

  bool give(std::string_view& record, std::string_view value) {
    record = value.empty() ? window_.view().substr(0, 1) : value;  // a bracket that closes nothing
    consumed_ = record.size();
    too_long_ = record.size() > kLongestLine;
    return !too_long_;
  }

  Window window_;
  std::size_t consumed_ = 0;
  std::int64_t line_number_ = 1;
  bool seen_ = false, in_array_ = false, too_long_ = false;
  bool comma_due_ = false, value_due_ = false;  // in the array: behind a record, behind a comma
};

}  // namespace

std::unique_ptr<RecordStream> open_line_records(std::unique_ptr<ByteStream> stream) {
  return std::make_unique<Lines>(std::move(stream));
}

std::unique_ptr<RecordStream> open_value_records(std::unique_ptr<ByteStream> stream) {
  return std::make_unique<Values>(std::move(stream));
}

bool holds_values(ByteStream& stream) {
  std::vector<char> buffer(kPieceBytes);
  std::string_view text(buffer.data(), stream.read(buffer));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto first = std::find_if_not(text.begin(), text.end(), is_json_space);
  if (first == text.end()) return false;
  if (*first == '[') return true;
  const std::string_view rest = text.substr(static_cast<std::size_t>(first - text.begin()));
  const std::string_view line = rest.substr(0, rest.find('\n'));
  // A first line that is all there is, or longer than what is read here, is one record whatever it holds.
  return line.size() < rest.size() && ValueEnd().find(line, 0) == std::string_view::npos;
}

}  // namespace bora::store

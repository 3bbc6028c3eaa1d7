// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "bora/base/file.h"

namespace bora::track {

/// The shortest text that reads back as the same double; "NaN", "Infinity" and "-Infinity" in quotation
/// marks, since JSON has no such numbers.
std::string json_number(double value);
/// A JSON string; invalid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

/// A file of JSON objects, one a line, each starting with {"step":N, that survives whatever kills the
/// process. Nobody but its owner reads a file that is made here.
class JsonLines {
 public:
  /// Opens or creates `path` for appending. A torn last line, and everything from the first line whose step
  /// is `first_step` or later, is cut off first: after a resume the file goes on as if the run had never
  /// stopped. Of the step before it so many lines stay.
  JsonLines(std::string path, std::int64_t first_step,
            std::int64_t of_step_before = std::numeric_limits<std::int64_t>::max());

  /// Appends one line (without its line end) in one write. When that fails the line is kept and goes out
  /// before the next one, so that a disk that was full for a while leaves no gap and no torn line; up to 16
  /// MiB are kept.
  void append(std::string_view line);
  void sync();
  /// Writes what an earlier failure left over, and closes.
  void close();

 private:
  void open();
  void write_pending();

  std::string path_;
  std::unique_ptr<WriteFile> file_;
  std::uint64_t size_ = 0;  ///< bytes of whole lines in the file
  std::string pending_;
};

}  // namespace bora::track

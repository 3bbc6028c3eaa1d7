// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "bora/store/byte_stream.h"

namespace bora::store {

/// The JSON records of a file, as they are written, with readable bytes behind each as simdjson wants.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// False at the end, and where a record is over kLongestLine: then too_long() is true.
  virtual bool next(std::string_view& record) = 0;
  virtual bool too_long() const = 0;
  virtual std::uint64_t offset() const = 0;      ///< of the present record, in bytes from the stream's start
  virtual std::int64_t line_number() const = 0;  ///< on which it begins, from 1
  virtual bool ends_inside() const = 0;          ///< the file ended before the records did
};

/// One record a line.
std::unique_ptr<RecordStream> open_line_records(std::unique_ptr<ByteStream> stream);

/// The values of an array, or objects one after the other, over any number of lines.
std::unique_ptr<RecordStream> open_value_records(std::unique_ptr<ByteStream> stream);

/// What a .json file holds: false for one object a line; true for an array, or where the first line is no
/// whole object. Looks at the first MiB.
bool holds_values(ByteStream& stream);

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bora::store {

/// Rows of a Parquet file, or of an Arrow file or stream (`.arrow`, `.feather` version 2), one after the
/// other. Row groups of Parquet are read in batches of about 8 MiB; record batches of Arrow one at a time.
class TableFile {
 public:
  virtual ~TableFile() = default;
  /// Where parts that can be read on their own begin, ascending from 0, in bytes of the file: row groups of
  /// Parquet; record batches of an Arrow file, which count equally; a stream is one part.
  virtual std::vector<std::uint64_t> starts() const = 0;
  /// Goes to the beginning of part `part`. The records from there on, to its end, are the texts of `column`;
  /// without one, whole rows as JSON objects. Errors: Corruption without such a column, or where it holds no
  /// text.
  virtual void select(std::size_t part, const std::string& column) = 0;
  /// False at the end of the part. The record lives until the next call; readable bytes are behind it, as
  /// simdjson wants. Errors: Corruption for damaged data and for a row without text.
  virtual bool next(std::string_view& record) = 0;
  /// The number of the present row in the file, from 0.
  virtual std::int64_t row() const = 0;
};

/// Opens a file with the Arrow plug-in. Errors: those of arrow_plugin; Corruption if the file is not what
/// it should be.
std::unique_ptr<TableFile> open_table(const std::string& path,
                                      const std::string& library = "libbora_arrow.so");

}  // namespace bora::store

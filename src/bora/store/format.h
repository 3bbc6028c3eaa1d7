// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::store {

enum class Layout {
  Text,   ///< .txt: documents separated by lines that hold only <|endoftext|>; without one, the file is one
          ///< document
  Lines,  ///< .jsonl, .ndjson: one JSON object a line, one document each
  Json,   ///< .json: the same, or an array of objects, or objects over several lines; its beginning tells
  Table,  ///< .parquet; .arrow and .feather: a row is a record. Never compressed from outside
};

enum class Compression { None, Gzip, Zstd, Bzip2 };

struct FileFormat {
  Layout layout = Layout::Text;
  Compression compression = Compression::None;
};

/// The format a file's name promises: .txt, .jsonl or .json, then .gz, .zst or .bz2; .parquet, .arrow or
/// .feather.
/// Errors: Unsupported for every other name, with what Bora reads.
FileFormat file_format(std::string_view path);

/// Whether file_format would succeed.
bool is_data_file(std::string_view path);

/// A file of documents. `modified` is only a hint that content may have changed; content hashes decide.
struct Source {
  std::string path;
  std::uint64_t size = 0;  ///< bytes on disk
  double modified = 0;     ///< seconds since the epoch
  bool operator==(const Source&) const = default;
};

/// Sizes and times of files that must exist.
std::vector<Source> look_up_sources(const std::vector<std::string>& paths);

}  // namespace bora::store

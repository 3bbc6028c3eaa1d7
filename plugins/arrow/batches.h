// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <arrow/api.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::arrow_files {

/// Memory for reading one file, with a limit: a few damaged bytes can ask for gigabytes.
class FileMemory {
 public:
  explicit FileMemory(std::uint64_t file_bytes)
      : limit_(kAtLeast + kTimesTheFile * static_cast<std::int64_t>(std::min(file_bytes, kLargest))) {}

  arrow::MemoryPool* pool() { return &capped_; }
  std::int64_t limit() const { return limit_; }

 private:
  static constexpr std::int64_t kAtLeast = std::int64_t{1} << 30, kTimesTheFile = 16;
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 50;

  std::int64_t limit_;
  arrow::ProxyMemoryPool counted_{arrow::default_memory_pool()};  // the default pool counts all files as one
  arrow::CappedMemoryPool capped_{&counted_, limit_};
};

/// A Bora file as Arrow reads files. What a read throws is kept for check(): it must not pass through Arrow.
struct Input {
  std::string path;
  std::shared_ptr<const ReadFile> file;
  std::shared_ptr<FileMemory> memory = std::make_shared<FileMemory>(file->size());
  std::shared_ptr<std::exception_ptr> error = std::make_shared<std::exception_ptr>();

  /// Errors: what a read threw; Corruption or Unsupported with the file and Arrow's words; Corruption where the
  /// file asks for more memory than its size explains.
  void check(const arrow::Status& status) const;
  template <class T>
  T check(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }
};

/// Record batches of one file, part by part.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::vector<std::uint64_t> starts() const = 0;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  virtual std::int64_t rows_before(std::size_t part) const = 0;  ///< may read what lies before it
  /// Goes to a part, of which only the columns of these numbers in the schema are wanted.
  virtual void select(std::size_t part, const std::vector<int>& columns) = 0;
  /// The next batch, with the wanted columns alone; null at the part's end.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

std::unique_ptr<Batches> open_parquet(const Input& input);
std::unique_ptr<Batches> open_arrow_file(const Input& input);
std::unique_ptr<Batches> open_arrow_stream(const Input& input);

}  // namespace bora::arrow_files

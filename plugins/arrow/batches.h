// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <arrow/api.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::arrow_files {

/// Memory for reading one file, with a limit: a few damaged bytes can ask for gigabytes. Arrow's status is the same where
/// the limit refuses and where the system does: went_beyond() tells which.
class FileMemory final : public arrow::ProxyMemoryPool {
 public:
  explicit FileMemory(std::uint64_t file_bytes, MemoryPool* from = arrow::default_memory_pool())
      : ProxyMemoryPool(from),
        limit_(kAtLeast + kTimesTheFile * static_cast<std::int64_t>(std::min(file_bytes, kLargest))) {}

  using ProxyMemoryPool::Allocate;
  using ProxyMemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(allow(size));
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** data) override {
    ARROW_RETURN_NOT_OK(allow(new_size - old_size));
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, data);
  }

  std::int64_t limit() const { return limit_; }
  bool went_beyond() const { return went_beyond_; }

 private:
  static constexpr std::int64_t kAtLeast = std::int64_t{1} << 30, kTimesTheFile = 16;
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 50;

  arrow::Status allow(std::int64_t more) {
    if (more <= limit_ - bytes_allocated()) return arrow::Status::OK();
    went_beyond_ = true;
    return arrow::Status::OutOfMemory("beyond the limit");
  }

  std::int64_t limit_;
  std::atomic<bool> went_beyond_ = false;
};

/// A Bora file as Arrow reads files. What a read throws is kept for check(): it must not pass through Arrow.
struct Input {
  std::string path;
  std::shared_ptr<const ReadFile> file;
  std::shared_ptr<FileMemory> memory = std::make_shared<FileMemory>(file->size());
  std::shared_ptr<std::exception_ptr> error = std::make_shared<std::exception_ptr>();

  /// Errors: what a read threw; Corruption or Unsupported with the file and Arrow's words; Corruption where the
  /// file asks for more memory than its size explains; Io where the system has none left.
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

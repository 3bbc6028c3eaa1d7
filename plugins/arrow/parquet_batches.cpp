// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>

#include "batches.h"

namespace bora::arrow_files {
namespace {

constexpr std::int64_t kBatchBytes = 8 << 20, kMostRows = 4096;

class RandomAccess final : public arrow::io::RandomAccessFile {
 public:
  explicit RandomAccess(Input input) : input_(std::move(input)) {}

  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(input_.file->size()); }
  arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t size, void* out) override {
    try {
      const auto bytes = std::span(static_cast<std::byte*>(out), static_cast<std::size_t>(size));
      std::size_t done = 0;
      while (done < bytes.size()) {
        const std::size_t n =
            input_.file->read_at(static_cast<std::uint64_t>(at) + done, bytes.subspan(done));
        if (n == 0) break;
        done += n;
      }
      return static_cast<std::int64_t>(done);
    } catch (const Error& e) {
      *input_.error = std::current_exception();
      return arrow::Status::IOError(e.what());
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at, std::int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(size, input_.memory.get()));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t n, ReadAt(at, size, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(n));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<std::int64_t> Read(std::int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t n, ReadAt(position_, size, out));
    position_ += n;
    return n;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, size));
    position_ += buffer->size();
    return buffer;
  }
  arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  Input input_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

class ParquetBatches final : public Batches {
 public:
  explicit ParquetBatches(const Input& input) : input_(input) {
    parquet::ReaderProperties properties(input.memory.get());
    properties.enable_buffered_stream();  // pages one after the other, not whole column chunks
    parquet::arrow::FileReaderBuilder builder;
    input.check(builder.Open(std::make_shared<RandomAccess>(input), properties));
    const auto metadata = builder.raw_reader()->metadata();
    parquet::ArrowReaderProperties arrow_properties(false);  // one thread: Bora reads several files at once
    arrow_properties.set_batch_size(rows_of_batch(*metadata));
    arrow_properties.set_pre_buffer(false);
    builder.memory_pool(input.memory.get())->properties(arrow_properties);
    input.check(builder.Build(&reader_));
    input.check(reader_->GetSchema(&schema_));
    metadata_ = metadata;
  }

  std::vector<std::uint64_t> starts() const override {
    std::vector<std::uint64_t> out;
    for (int g = 0; g < metadata_->num_row_groups(); ++g) {
      const std::int64_t start = g == 0 ? 0 : start_of(*metadata_->RowGroup(g));
      const auto previous = out.empty() ? -1 : static_cast<std::int64_t>(out.back());
      if (start <= previous || static_cast<std::uint64_t>(start) >= input_.file->size()) {
        fail(ErrorKind::Corruption, "{}: row group {} begins at byte {}, after one at {} in {} bytes",
             input_.path, g, start, previous, input_.file->size());
      }
      out.push_back(static_cast<std::uint64_t>(start));
    }
    return out;
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  std::int64_t rows_before(std::size_t part) const override {
    std::int64_t rows = 0;
    for (std::size_t g = 0; g < part; ++g) rows += metadata_->RowGroup(static_cast<int>(g))->num_rows();
    return rows;
  }

  void select(std::size_t part, const std::vector<int>& columns) override {
    std::vector<int> leaves;
    const auto* layout = metadata_->schema();
    for (int leaf = 0; leaf < layout->num_columns(); ++leaf) {
      const int root = layout->group_node()->FieldIndex(*layout->GetColumnRoot(leaf));
      if (std::find(columns.begin(), columns.end(), root) != columns.end()) leaves.push_back(leaf);
    }
    batches_ = input_.check(reader_->GetRecordBatchReader({static_cast<int>(part)}, leaves));
  }

  std::shared_ptr<arrow::RecordBatch> next() override { return input_.check(batches_->Next()); }

 private:
  /// Rows of about kBatchBytes, by the group with the largest ones.
  static std::int64_t rows_of_batch(const parquet::FileMetaData& metadata) {
    std::int64_t widest = 1;
    for (int g = 0; g < metadata.num_row_groups(); ++g) {
      const auto group = metadata.RowGroup(g);
      if (group->num_rows() > 0) widest = std::max(widest, group->total_byte_size() / group->num_rows());
    }
    return std::clamp<std::int64_t>(kBatchBytes / widest, 1, kMostRows);
  }

  static std::int64_t start_of(const parquet::RowGroupMetaData& group) {
    std::int64_t start = INT64_MAX;
    for (int c = 0; c < group.num_columns(); ++c) {
      const auto column = group.ColumnChunk(c);
      start = std::min(start, column->data_page_offset());
      if (column->has_dictionary_page() && column->dictionary_page_offset() > 0)
        start = std::min(start, column->dictionary_page_offset());
    }
    return start;
  }

  Input input_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

}  // namespace

std::unique_ptr<Batches> open_parquet(const Input& input) { return std::make_unique<ParquetBatches>(input); }

}  // namespace bora::arrow_files

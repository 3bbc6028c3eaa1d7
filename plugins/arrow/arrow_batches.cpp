// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>

#include <optional>

#include "batches.h"

namespace bora::arrow_files {
namespace {

/// The mapped file as a buffer that keeps it mapped: columns that are not compressed are read in place.
std::shared_ptr<arrow::io::BufferReader> mapped(const Input& input) {
  const auto bytes = input.file->map();
  struct Mapped final : arrow::Buffer {
    Mapped(std::span<const std::byte> all, std::shared_ptr<const ReadFile> owner)
        : Buffer(reinterpret_cast<const std::uint8_t*>(all.data()), static_cast<std::int64_t>(all.size())),
          file(std::move(owner)) {}
    std::shared_ptr<const ReadFile> file;
  };
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<Mapped>(bytes, input.file));
}

arrow::ipc::IpcReadOptions options(const Input& input) {
  auto out = arrow::ipc::IpcReadOptions::Defaults();
  out.ensure_alignment =
      arrow::ipc::Alignment::kDataTypeSpecificAlignment;  // buffers may begin anywhere in a damaged file
  out.memory_pool = input.memory.get();
  out.use_threads = false;
  return out;
}

/// Arrow trusts the offsets in a file; Bora does not.
std::shared_ptr<arrow::RecordBatch> checked(const Input& input, std::shared_ptr<arrow::RecordBatch> batch,
                                            const std::vector<int>& columns) {
  if (!batch) return batch;
  batch = input.check(batch->SelectColumns(columns));
  for (const auto& column : batch->columns()) input.check(column->ValidateFull());
  return batch;
}

class FileBatches final : public Batches {
 public:
  explicit FileBatches(const Input& input)
      : input_(input),
        reader_(input.check(arrow::ipc::RecordBatchFileReader::Open(mapped(input), options(input)))) {}

  /// Where batches really begin, Arrow does not say: each counts as an equal share of the bytes.
  std::vector<std::uint64_t> starts() const override {
    const auto n = static_cast<std::uint64_t>(reader_->num_record_batches());
    const std::uint64_t size = input_.file->size();
    if (n > size / 8) fail(ErrorKind::Corruption, "{}: {} batches in {} bytes", input_.path, n, size);
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < n; ++i) out.push_back(size / n * i);
    return out;
  }

  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }

  std::int64_t rows_before(std::size_t part) const override {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < part; ++i) rows += batch(i)->num_rows();
    return rows;
  }

  void select(std::size_t part, const std::vector<int>& columns) override {
    part_ = part;
    columns_ = columns;
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!part_) return nullptr;
    auto out = checked(input_, batch(*part_), columns_);
    part_.reset();
    return out;
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch(std::size_t i) const {
    return input_.check(reader_->ReadRecordBatch(static_cast<int>(i)));
  }

  Input input_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  std::optional<std::size_t> part_;
  std::vector<int> columns_;
};

class StreamBatches final : public Batches {
 public:
  explicit StreamBatches(const Input& input) : input_(input) { open(); }

  std::vector<std::uint64_t> starts() const override { return {0}; }
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }

  std::int64_t rows_before(std::size_t) const override { return 0; }

  void select(std::size_t, const std::vector<int>& columns) override {
    columns_ = columns;
    open();
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    input_.check(reader_->ReadNext(&batch));
    return checked(input_, std::move(batch), columns_);
  }

 private:
  void open() {
    reader_ = input_.check(arrow::ipc::RecordBatchStreamReader::Open(mapped(input_), options(input_)));
  }

  Input input_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  std::vector<int> columns_;
};

}  // namespace

std::unique_ptr<Batches> open_arrow_file(const Input& input) { return std::make_unique<FileBatches>(input); }
std::unique_ptr<Batches> open_arrow_stream(const Input& input) {
  return std::make_unique<StreamBatches>(input);
}

}  // namespace bora::arrow_files

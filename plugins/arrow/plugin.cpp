// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What bora/store/table_file.cpp and object_store.cpp look up by name. Plain C functions; nothing may throw
// across them.
#include <parquet/exception.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "batches.h"
#include "bora/store/arrow_plugin.h"
#include "bora/store/table_file.h"
#include "buckets.h"
#include "json_rows.h"

namespace bora::arrow_files {
namespace {

[[noreturn]] void fail_without_memory(const Input& input) {
  fail(ErrorKind::Io,
       "{}: out of memory while it is read\nhint: fewer programs at once, or a larger ulimit -v", input.path);
}

}  // namespace

void Input::check(const arrow::Status& status) const {
  if (status.ok()) return;
  if (*error) std::rethrow_exception(std::exchange(*error, nullptr));
  if (status.IsOutOfMemory()) {
    if (!memory->went_beyond()) fail_without_memory(*this);
    fail(ErrorKind::Corruption,
         "{}: a file of {} bytes asks for more than {} MiB of memory to be read\n"
         "hint: it is damaged, or should be written again with smaller pages and batches",
         path, file->size(), memory->limit() >> 20);
  }
  std::string what = status.message();
  if (const auto end = what.find('\n'); end != std::string::npos) what.resize(end);
  const bool unsupported = status.IsNotImplemented();
  fail(unsupported ? ErrorKind::Unsupported : ErrorKind::Corruption, "{}: {}", path, what);
}

namespace {

/// Calls into Arrow; what Parquet throws becomes a Bora error.
template <class Body>
auto guarded(const Input& input, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const parquet::ParquetStatusException& e) {
    input.check(e.status());
    throw;
  } catch (const std::bad_alloc&) {
    fail_without_memory(input);
  } catch (const std::exception& e) {
    if (*input.error) std::rethrow_exception(std::exchange(*input.error, nullptr));
    fail(ErrorKind::Corruption, "{}: {}", input.path, e.what());
  }
}

std::unique_ptr<Batches> open_batches(const Input& input) {
  std::array<std::byte, 8> head{};
  const std::size_t n = input.file->read_at(0, head);
  const std::string_view magic(reinterpret_cast<const char*>(head.data()), n);
  if (magic.starts_with("PAR1")) return open_parquet(input);
  if (magic.starts_with("ARROW1")) return open_arrow_file(input);
  if (magic.starts_with("FEA1")) {
    fail(ErrorKind::Unsupported,
         "{}: Feather version 1\nhint: write it again with a newer program: version 2", input.path);
  }
  if (input.path.ends_with(".parquet"))
    fail(ErrorKind::Corruption, "{}: does not begin with PAR1, so it is no Parquet file", input.path);
  return open_arrow_stream(input);
}

class Table final : public store::TableFile {
 public:
  explicit Table(Input input) : input_(std::move(input)), batches_(open_batches(input_)) {}

  std::vector<std::uint64_t> starts() const override {
    return guarded(input_, [this] { return batches_->starts(); });
  }

  void select(std::size_t part, const std::string& column) override {
    whole_ = column.empty();
    batch_.reset();
    index_ = -1;
    part_ = part;
    before_ = 0;
    guarded(input_, [&] { batches_->select(part, whole_ ? all_columns() : text_column(column)); });
  }

  bool next(std::string_view& record) override {
    if (!advance()) return false;
    if (whole_) {
      json_.clear();
      append_row(*batch_, index_, json_);
      json_.reserve(json_.size() + kPadding);
      record = json_;
      return true;
    }
    const auto text = text_at(*batch_->column(0), index_);
    if (!text) {
      fail(ErrorKind::Corruption, "{}: row {}: column \"{}\" should be a string but is null", input_.path,
           row(), batch_->column_name(0));
    }
    record = *text;
    return true;
  }

  std::int64_t row() const override {
    return guarded(input_, [this] { return batches_->rows_before(part_); }) + before_ + index_;
  }

 private:
  static constexpr std::size_t kPadding = 64;

  /// To the next row; false after the last one.
  bool advance() {
    ++index_;
    while (!batch_ || index_ >= batch_->num_rows()) {
      before_ += batch_ ? batch_->num_rows() : 0;
      batch_ = guarded(input_, [this] { return batches_->next(); });
      index_ = 0;
      if (!batch_) return false;
    }
    return true;
  }

  std::vector<int> all_columns() const {
    // Else a batch may say that it has any number of rows, of no bytes.
    const auto schema = batches_->schema();
    const int columns = schema->num_fields();
    if (std::none_of(schema->fields().begin(), schema->fields().end(),
                     [](const auto& field) { return has_bytes(*field->type()); })) {
      std::string types;
      for (const auto& field : schema->fields())
        types += fmt::format("{}{}: {}", types.empty() ? "" : ", ", field->name(), field->type()->ToString());
      fail(ErrorKind::Corruption,
           "{}: the table has {}, so that its rows hold nothing; at least 1 column with bytes is needed\n"
           "hint: it was changed or cut, or nothing was written into it; write it again",
           input_.path, columns == 0 ? "0 columns" : "no bytes in its columns (" + types + ")");
    }
    std::vector<int> out(static_cast<std::size_t>(columns));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }

  std::vector<int> text_column(const std::string& name) const {
    const auto schema = batches_->schema();
    const int at = schema->GetFieldIndex(name);
    if (at < 0) {
      std::string names;
      for (const auto& field : schema->fields()) names += (names.empty() ? "" : ", ") + field->name();
      fail(ErrorKind::Corruption,
           "{}: no column \"{}\"; it has {}\nhint: set format.text_key to the column that holds the text",
           input_.path, name, names.empty() ? "none" : names);
    }
    if (!is_text(*schema->field(at)->type())) {
      fail(ErrorKind::Corruption, "{}: column \"{}\" should hold strings but is {}", input_.path, name,
           schema->field(at)->type()->ToString());
    }
    return {at};
  }

  Input input_;
  std::unique_ptr<Batches> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::size_t part_ = 0;
  std::int64_t before_ = 0, index_ = -1;  // rows of the part in batches that are through; row of the batch
  bool whole_ = false;
  std::string json_;
};

/// Of C functions: what `body` opens, or null, with the kind of error and its words in `error`.
template <class T, class Body>
T* opened(const Body& body, int* kind, char* error, std::size_t room) {
  const auto say = [&](ErrorKind what, const char* text) -> T* {
    const auto length = std::min(std::strlen(text), room - 1);
    std::memcpy(error, text, length);
    error[length] = '\0';
    *kind = static_cast<int>(what);
    return nullptr;
  };
  try {
    return body();
  } catch (const Error& e) {
    return say(e.kind(), e.what());
  } catch (const std::exception& e) {
    return say(ErrorKind::Io, e.what());
  }
}

}  // namespace
}  // namespace bora::arrow_files

extern "C" {

[[gnu::visibility("default")]] int bora_arrow_plugin_version() { return bora::store::kArrowPluginVersion; }

// Takes the file over.
[[gnu::visibility("default")]] bora::store::TableFile* bora_arrow_open(const char* path, bora::ReadFile* file,
                                                                       int* kind, char* error,
                                                                       std::size_t room) {
  using namespace bora;
  std::shared_ptr<const ReadFile> owned(file);
  return arrow_files::opened<store::TableFile>(
      [&] {
        const arrow_files::Input input{path, std::move(owned)};
        return arrow_files::guarded(input, [&] { return new arrow_files::Table(input); });
      },
      kind, error, room);
}

[[gnu::visibility("default")]] bora::store::ObjectStore* bora_arrow_open_store(const char* url, int* kind,
                                                                               char* error,
                                                                               std::size_t room) {
  using namespace bora;
  return arrow_files::opened<store::ObjectStore>([&] { return arrow_files::open_bucket(url).release(); },
                                                 kind, error, room);
}
}

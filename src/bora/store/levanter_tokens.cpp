// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A split of Levanter's token cache (its TreeStore), a directory:
//
//   cache   := shard_ledger.json field*
//   field   := input_ids/offsets input_ids/data          two zarr arrays (zarr_writer.cpp)
//   offsets := rows:i64 end:i64*                         the number of rows, then where each one ends in data
//   data    := id:i32*
//   shard_ledger.json := {"total_num_rows": n, "shard_rows": {name: n*}, "is_finished": bool,
//                         "finished_shards": [name*], "field_counts": {field: n*},
//                         "metadata": {"preprocessor_metadata": object or null}}
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/store/token_files.h"
#include "bora/store/token_pieces.h"
#include "bora/store/zarr_array.h"

namespace bora::store {
namespace {

constexpr std::string_view kLedger = "shard_ledger.json";
constexpr std::string_view kField = "input_ids";
constexpr std::uint64_t kLargestLedger = 256 << 20;

std::string ledger_of(const std::string& directory) { return path_join(directory, kLedger); }

/// The number of rows that a finished cache's ledger states.
std::int64_t read_rows(const std::string& directory) {
  const std::string path = ledger_of(directory);
  const auto info = files().info(path);
  if (!info) {
    const std::string train =
        exists(ledger_of(path_join(directory, "train"))) ? "; it is in train/ below" : "";
    fail(ErrorKind::NotFound,
         "{}: does not exist, so this is no cache of Levanter's\nhint: give the folder of one split{}", path,
         train);
  }
  if (info->size > kLargestLedger) fail(ErrorKind::Corruption, "{}: has {} bytes", path, info->size);
  const Json ledger = parse_json(read_text(path), path);
  if (!json_get<bool>(ledger, "is_finished", path)) {
    fail(ErrorKind::Corruption, "{}: the cache is unfinished\nhint: let Levanter finish it first", path);
  }
  return json_get<std::int64_t>(ledger, "total_num_rows", path);
}

/// Fields besides the ids say what counts in the loss: without them the ids would mean something else.
void refuse_other_fields(const std::string& directory) {
  std::vector<std::string> others;
  for (const auto& name : files().list(directory)) {
    if (name != kField && exists(path_join(directory, name + "/data/zarr.json"))) others.push_back(name);
  }
  if (others.empty()) return;
  fail(ErrorKind::Unsupported,
       "{}: holds {} beside {}; Bora takes caches of ids alone\nhint: build the cache from the data again, "
       "with format.type: chat or supervised",
       directory, join(others), kField);
}

class LevanterTokens final : public TokenDocuments {
 public:
  explicit LevanterTokens(const std::string& directory)
      : rows_(read_rows(directory)),
        offsets_path_(path_join(directory, fmt::format("{}/offsets", kField))),
        data_path_(path_join(directory, fmt::format("{}/data", kField))),
        offsets_(offsets_path_),
        data_(data_path_) {
    refuse_other_fields(directory);
    const std::int64_t stated = number(offsets_, 0);
    if (stated != rows_) {
      fail(ErrorKind::Corruption, "{}: has {} rows but {} says {}", offsets_path_, stated,
           ledger_of(directory), rows_);
    }
  }

  bool next(std::vector<std::int32_t>& ids, bool& ends_document) override {
    ids.clear();
    if (row_ == rows_) return false;
    if (!inside_) open_row();
    const std::int64_t n = std::min(kTokenPiece, end_ - at_);
    read_ids(n, ids);
    at_ += n;
    ends_document = at_ == end_;
    inside_ = !ends_document;
    row_ += ends_document ? 1 : 0;
    return true;
  }

 private:
  static std::int64_t number(ZarrReader& array, std::uint64_t at) {
    std::int64_t value = 0;
    array.read(at, {&value, 1});
    return value;
  }

  void open_row() {
    const auto size = static_cast<std::uint64_t>(row_) + 1;
    end_ = size < offsets_.layout().size ? number(offsets_, size) : -1;
    if (end_ >= at_ && static_cast<std::uint64_t>(end_) <= data_.layout().size) return;
    fail(ErrorKind::Corruption, "{}: row {} ends at {} but begins at {}", offsets_path_, row_, end_, at_);
  }

  void read_ids(std::int64_t n, std::vector<std::int32_t>& ids) {
    values_.resize(static_cast<std::size_t>(n));
    data_.read(static_cast<std::uint64_t>(at_), values_);
    ids.reserve(values_.size());
    for (const std::int64_t id : values_) {
      if (id < 0 || id > INT32_MAX) {
        fail(ErrorKind::Corruption, "{}: the id of element {} is {}", data_path_,
             at_ + static_cast<std::int64_t>(ids.size()), id);
      }
      ids.push_back(static_cast<std::int32_t>(id));
    }
  }

  std::int64_t rows_, row_ = 0, at_ = 0, end_ = 0;
  bool inside_ = false;
  std::string offsets_path_, data_path_;
  ZarrReader offsets_, data_;
  std::vector<std::int64_t> values_;
};

/// Removes what an export that failed has written.
class Unfinished {
 public:
  Unfinished(std::string field, std::string ledger) : field_(std::move(field)), ledger_(std::move(ledger)) {}
  ~Unfinished() {
    if (field_.empty()) return;
    try {
      remove_all(ledger_);
      remove_all(field_);
    } catch (const Error&) {  // what the export raised matters more
    }
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void keep() { field_.clear(); }

 private:
  std::string field_, ledger_;
};

std::string ledger_text(std::int64_t rows, std::int64_t tokens) {
  return Json{{"total_num_rows", rows},
              {"shard_rows", {{"", rows}}},
              {"is_finished", true},
              {"finished_shards", Json::array({""})},
              {"field_counts", {{kField, tokens}}},
              {"metadata", {{"preprocessor_metadata", nullptr}}}}
      .dump();
}

void write_offsets(const TokenCache& cache, const std::string& directory) {
  ZarrWriter offsets(directory, "int64");
  offsets.append(cache.num_documents());
  for (std::int64_t d = 0; d < cache.num_documents(); ++d) offsets.append(cache.document_end(d));
  offsets.finish();
}

void write_data(const TokenCache& cache, const std::string& directory) {
  ZarrWriter data(directory, "int32");
  const std::int64_t documents = cache.num_documents();
  for_each_piece(cache, 0, documents > 0 ? cache.document_end(documents - 1) : 0,
                 [&](std::span<const std::int32_t> ids) {
                   for (const std::int32_t id : ids) data.append(std::int64_t{id});
                 });
  data.finish();
}

}  // namespace

std::unique_ptr<TokenDocuments> open_levanter(const std::string& directory) {
  return std::make_unique<LevanterTokens>(directory);
}

std::vector<std::string> export_levanter(const TokenCache& cache, const std::string& directory) {
  if (cache.weighted()) {
    fail(ErrorKind::Unsupported,
         "export: {} has loss weights, which have no place in a cache of text of Levanter's",
         cache.directory());
  }
  const std::string field = path_join(directory, kField), ledger = ledger_of(directory);
  if (exists(ledger) || exists(field))
    fail(ErrorKind::Config, "export: {} has a cache already\nhint: another directory", directory);
  files().make_directories(directory);
  Unfinished unfinished(field, ledger);
  write_data(cache, path_join(field, "data"));
  write_offsets(cache, path_join(field, "offsets"));
  files().sync_directory(field);
  write_atomically(ledger, ledger_text(cache.num_documents(), cache.num_tokens()));
  unfinished.keep();
  return {ledger};
}

}  // namespace bora::store

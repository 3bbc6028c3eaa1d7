// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/token_files.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/hashed_file.h"

namespace bora::store {
namespace {

constexpr std::int64_t kShardTokens = 64 << 20;

/// Every piece of every file in order, cut where the options say that a document ends.
template <class Use>
void for_each_document_piece(const std::vector<std::string>& paths, TokenFiles kind,
                             const ImportOptions& options, const Use& use) {
  std::vector<std::int32_t> ids;
  bool ends = false;
  for (const auto& path : paths) {
    const auto documents = open_token_file(path, kind);
    while (documents->next(ids, ends)) {
      std::span<const std::int32_t> rest(ids);
      while (options.eos_id) {
        const auto at = std::find(rest.begin(), rest.end(), *options.eos_id);
        if (at == rest.end()) break;
        const auto n = static_cast<std::size_t>(at - rest.begin()) + 1;
        use(rest.first(n), true, path);
        rest = rest.subspan(n);
      }
      if (!rest.empty() || ids.empty()) use(rest, ends, path);
    }
  }
}

/// Writes shards one after the other, each begun where a document does.
class ImportWriter {
 public:
  ImportWriter(const std::string& directory, Ledger ledger)
      : directory_(directory), ledger_(std::move(ledger)) {}

  void add(std::span<const std::int32_t> ids, bool ends_document, const std::string& path) {
    refuse_new_ids(ids, path);
    if (!shard_) shard_.emplace(directory_, static_cast<std::int64_t>(ledger_.shards.size()));
    if (ledger_.bytes_per_token() == 2)
      shard_->tokens.append_ids<std::uint16_t>(ids);
    else
      shard_->tokens.append_ids<std::uint32_t>(ids);
    shard_->record.counts.tokens += static_cast<std::int64_t>(ids.size());
    if (!ends_document) return;
    ++shard_->record.counts.documents;
    shard_->offsets.append(static_cast<std::uint64_t>(shard_->record.counts.tokens));
    if (shard_->record.counts.tokens >= kShardTokens) finish_shard();
  }

  void finish() {
    finish_shard();
    ledger_.num_shards = static_cast<std::int64_t>(ledger_.shards.size());
    ledger_.is_finished = true;
    files().sync_directory(directory_);
    remember_built(directory_, ledger_);
    write_ledger(directory_, ledger_);
  }

 private:
  struct Shard {
    Shard(const std::string& directory, std::int64_t index)
        : tokens(tokens_path(directory, index)), offsets(offsets_path(directory, index)) {
      record.index = index;
    }
    ShardRecord record;
    HashedFile tokens, offsets;
  };

  /// The width of an id was chosen by what the files held when they were read before.
  void refuse_new_ids(std::span<const std::int32_t> ids, const std::string& path) const {
    const auto largest = std::max_element(ids.begin(), ids.end());
    if (largest == ids.end() || *largest < ledger_.vocab_size) return;
    fail(ErrorKind::Io, "import: {} changed while it was read: it holds id {}, and at first none above {}",
         path, *largest, ledger_.vocab_size - 1);
  }

  void finish_shard() {
    if (!shard_) return;
    shard_->record.tokens = shard_->tokens.finish();
    shard_->record.offsets = shard_->offsets.finish();
    ledger_.shards.push_back(shard_->record);
    shard_.reset();
  }

  std::string directory_;
  Ledger ledger_;
  std::optional<Shard> shard_;
};

}  // namespace

const std::vector<std::string>& token_files_names() {
  static const std::vector<std::string> names = {"raw-u16", "raw-u32", "megatron", "tfrecord", "levanter"};
  return names;
}

TokenFiles parse_token_files(const std::string& name) {
  const auto& names = token_files_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) fail(ErrorKind::Usage, "token files: {} is none of {}", name, join(names));
  return static_cast<TokenFiles>(at - names.begin());
}

std::unique_ptr<TokenDocuments> open_token_file(const std::string& path, TokenFiles kind) {
  switch (kind) {
    case TokenFiles::RawU16:
      return open_raw(path, 2);
    case TokenFiles::RawU32:
      return open_raw(path, 4);
    case TokenFiles::Megatron:
      return open_megatron(path);
    case TokenFiles::Levanter:
      return open_levanter(path);
    case TokenFiles::Tfrecord:
      break;
  }
  return open_tfrecord(path);
}

std::shared_ptr<const TokenCache> import_tokens(const std::string& directory,
                                                const std::vector<std::string>& paths, TokenFiles kind,
                                                const ImportOptions& options) {
  if (exists(ledger_path(directory)))
    fail(ErrorKind::Config, "import: {} has a token cache already\nhint: another directory", directory);
  // How wide an id is kept must be known before the first one is written: the files are read twice.
  std::int32_t largest = -1;
  bool has_ends = false;
  for_each_document_piece(paths, kind, options, [&](std::span<const std::int32_t> ids, bool, const auto&) {
    for (const std::int32_t id : ids) largest = std::max(largest, id);
    has_ends = has_ends || (!ids.empty() && ids.back() == options.eos_id);
  });
  if (largest < 0)
    fail(ErrorKind::Corruption, "import: {} no token\nhint: look whether they are files of ids, and whole",
         they_hold(paths));
  if (options.eos_id && !has_ends)
    fail(ErrorKind::Config,
         "import: {} nowhere id {}, which is to end a document (--eos); the largest there is {}\n"
         "hint: the id of the tokenizer that made them, or leave it out: then a file is one document",
         they_hold(paths), *options.eos_id, largest);
  Ledger ledger;
  ledger.fingerprint = "imported from " + token_files_names()[static_cast<std::size_t>(kind)];
  ledger.vocab_size = std::int64_t{largest} + 1;
  ledger.format.text_key = "";
  files().make_directories(directory);
  ImportWriter writer(directory, std::move(ledger));
  for_each_document_piece(
      paths, kind, options,
      [&](std::span<const std::int32_t> ids, bool ends, const auto& path) { writer.add(ids, ends, path); });
  writer.finish();
  return TokenCache::open_prefix(directory);
}

bool holds_imported_tokens(const std::string& directory) {
  const auto ledger = read_ledger(directory);
  return ledger && ledger->sources.empty();
}

std::vector<std::string> export_tokens(const TokenCache& cache, const std::string& path, TokenFiles kind,
                                       const ExportOptions& options) {
  switch (kind) {
    case TokenFiles::RawU16:
      return export_raw(cache, path, 2);
    case TokenFiles::RawU32:
      return export_raw(cache, path, 4);
    case TokenFiles::Megatron:
      return export_megatron(cache, path);
    case TokenFiles::Levanter:
      return export_levanter(cache, path);
    case TokenFiles::Tfrecord:
      break;
  }
  return export_tfrecord(cache, path, options);
}

}  // namespace bora::store

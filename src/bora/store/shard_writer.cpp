// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A token cache is a directory:
//
//   cache   := ledger.json lock shard*
//   shard   := tokens-NNNNN.bin offsets-NNNNN.bin [weights-NNNNN.bin]     NNNNN: 00000, 00001, ... no gap
//   tokens  := id*           little endian, no header; u16 if vocab_size <= 65536, else u32
//   offsets := end*          u64 little endian, one for each document that ends in the shard: the number of
//   tokens
//                            from the shard's start to the document's end
//   weights := weight*       f32 little endian, one a token: how much predicting it counts; if "weighted"
//   lock    := nothing; held (flock) by the process that builds the cache
//
//   ledger.json := {
//     "format": "bora-token-cache", "version": 1 to 3,  which keys there are
//     "is_finished": bool,                             false: only the shards listed are valid
//     "documents": n, "tokens": n, "bytes": n,         sums over the shards; bytes of UTF-8 text
//     "fingerprint": string, "vocab_size": n,          of the tokenizer and its BOS and EOS rules
//     "tokenizer": string,                             what people call it, where that is known
//     "text_key": string,
//     "whole_records": bool, "weighted": bool,         2: made of JSON records; has weights
//     "invalid_utf8": "replace" or "keep",             3: what was done with bytes that are no UTF-8
//     "documents_per_record": n,                       2: of one record, in a row, never cut apart by a shard
//     "shard_bytes": n, "num_shards": n,               how the sources were cut (ledger.cpp: plan_shards)
//     "sources": [{"path": string, "size": n, "modified": seconds}*],
//     "shards": [{"index": n, "documents": n, "tokens": n, "bytes": n,
//                 "source_hash": hash, "tokens_hash": hash, "offsets_hash": hash[, "weights_hash": hash]}*]
//                 hash: XXH3-128, 32 hex digits
//   }
//
// The sequence of all tokens is that of shard 0, shard 1, ...; a document may run on from one shard into the
// next. A shard's files are written and synced first, then the ledger that lists them replaces the one
// before.
#include "bora/store/shard_writer.h"

#include <algorithm>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/store/partial_shard.h"

namespace bora::store {

void EncodedRecord::clear() {
  ids.clear();
  weights.clear();
  ends.clear();
  text_bytes = 0;
}

void Processor::encode_record(std::string_view, EncodedRecord&) const {
  fail(ErrorKind::InvalidArgument, "{}: this processor takes text, not records", fingerprint());
}

namespace {

constexpr std::size_t kBuffered = 1 << 20;

bool can_be_cut(const Source& source) {
  const FileFormat format = file_format(source.path);
  return format.compression == Compression::None &&
         (format.layout == Layout::Text || format.layout == Layout::Lines);
}

class ShardWriter {
 public:
  ShardWriter(const std::string& directory, std::int64_t index, const TextFormat& format,
              const Processor& processor, const std::function<void(const ShardProgress&)>& report,
              std::uint64_t save_every, const std::optional<PartialShard>& partial)
      : directory_(directory),
        format_(format),
        processor_(processor),
        report_(report),
        shape_(processor.shape()),
        vocab_size_(processor.vocab_size()),
        narrow_(vocab_size_ <= 65536),
        save_every_(save_every),
        partial_(partial.value_or(PartialShard{})),
        tokens_(opened(tokens_path(directory, index), partial_.counts.tokens * (narrow_ ? 2 : 4))),
        offsets_(opened(offsets_path(directory, index), partial_.counts.documents * 8)) {
    record_.index = index;
    record_.counts = partial_.counts;
    if (shape_.weighted) weights_.emplace(opened(weights_path(directory, index), partial_.counts.tokens * 4));
  }

  /// False if the beginning that is kept was made of something else.
  bool add_all(const std::vector<Segment>& segments) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (!add(segments[i], static_cast<std::int64_t>(i))) return false;
    }
    return true;
  }

  WrittenShard finish() {
    record_.source = source_.digest();
    record_.tokens = tokens_.end();
    record_.offsets = offsets_.end();
    if (weights_) record_.weights = weights_->end();
    report();
    WrittenShard out{record_, {}};
    out.files.push_back(std::move(tokens_));
    out.files.push_back(std::move(offsets_));
    if (weights_) out.files.push_back(std::move(*weights_));
    return out;
  }

 private:
  static HashedFile opened(const std::string& path, std::int64_t keep) {
    if (keep == 0) return HashedFile(path);
    return HashedFile(path, static_cast<std::uint64_t>(keep));
  }

  bool add(const Segment& segment, std::int64_t number) {
    const auto documents = open_documents(segment, format_, [this](std::span<const std::byte> raw) {
      source_.update(raw);
      progress_.raw_bytes += static_cast<std::int64_t>(raw.size());
    });
    TextPiece piece;
    std::int64_t pieces = 0;
    const bool saves = save_every_ > 0 && !can_be_cut(segment.source);
    while (documents->next(piece)) {
      ++pieces;
      const bool is_last_done = number == partial_.segment && pieces == partial_.pieces;
      if (is_last_done && source_.digest() != partial_.source) return false;
      if (number < partial_.segment || (number == partial_.segment && pieces <= partial_.pieces)) continue;
      if (processor_.takes_records())
        add_record(piece.text, *documents, segment.source.path);
      else
        add_piece(piece, segment.source.path);
      if (saves && unsaved_ >= save_every_) save(number, pieces);
    }
    require_same_size(segment.source);
    return number != partial_.segment || pieces >= partial_.pieces;
  }

  /// The rest of a change is found when the cache is complete: this one need not wait for hours.
  static void require_same_size(const Source& source) {
    const auto info = files().info(source.path);
    if (info && info->size == source.size) return;
    fail(ErrorKind::Io,
         "{}: had {} bytes when its token cache was begun and has {} now\nhint: let whatever writes it "
         "finish, "
         "delete the cache directory, and start again",
         source.path, source.size, info ? std::to_string(info->size) : "none");
  }

  void save(std::int64_t segment, std::int64_t pieces) {
    tokens_.save();
    offsets_.save();
    if (weights_) weights_->save();
    write_partial_shard(directory_, record_.index, {segment, pieces, record_.counts, source_.digest()});
    unsaved_ = 0;
  }

  void add_piece(const TextPiece& piece, const std::string& path) {
    encoded_.clear();
    in_context(path, [&] { processor_.encode(piece, encoded_.ids); });
    write_ids(path);
    count({piece.ends_document ? 1 : 0, static_cast<std::int64_t>(encoded_.ids.size()),
           static_cast<std::int64_t>(piece.text.size())});
    if (piece.ends_document) offsets_.append(static_cast<std::uint64_t>(record_.counts.tokens));
  }

  void add_record(std::string_view json, const DocumentReader& reader, const std::string& path) {
    encoded_.clear();
    try {
      processor_.encode_record(json, encoded_);
      check_encoded();
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("{}: {}", reader.where(), e.what()));
    }
    write_ids(path);
    const auto before = static_cast<std::uint64_t>(record_.counts.tokens);
    for (const std::size_t end : encoded_.ends) offsets_.append(before + end);
    for (const float weight : encoded_.weights) weights_->append(weight);
    count({static_cast<std::int64_t>(encoded_.ends.size()), static_cast<std::int64_t>(encoded_.ids.size()),
           encoded_.text_bytes});
  }

  void check_encoded() const {
    const std::size_t documents = encoded_.ends.size(), weights = shape_.weighted ? encoded_.ids.size() : 0;
    const bool whole = documents == 0 ? encoded_.ids.empty() : encoded_.ends.back() == encoded_.ids.size();
    const bool fits = documents == 0 || documents == static_cast<std::size_t>(shape_.documents_per_record);
    if (whole && fits && encoded_.weights.size() == weights) return;
    fail(ErrorKind::InvalidArgument, "a processor gave {} ids and {} weights in {} documents",
         encoded_.ids.size(), encoded_.weights.size(), documents);
  }

  void count(const TokenCounts& counts) {
    record_.counts += counts;
    progress_.counts += counts;
    unreported_ += static_cast<std::size_t>(counts.bytes);
    unsaved_ += static_cast<std::uint64_t>(counts.bytes);
    if (unreported_ >= kPieceBytes) report();
  }

  void write_ids(const std::string& path) {
    const auto outside = [this](std::int32_t id) { return id < 0 || id >= vocab_size_; };
    std::uint32_t largest = 0;  // of unsigned ids, so that one pass without a branch finds negative ones too
    for (const std::int32_t id : encoded_.ids) largest = std::max(largest, static_cast<std::uint32_t>(id));
    if (largest >= static_cast<std::uint64_t>(vocab_size_) && !encoded_.ids.empty()) {
      fail(ErrorKind::InvalidArgument, "{}: the tokenizer gave id {}, outside of its vocabulary of {}", path,
           *std::find_if(encoded_.ids.begin(), encoded_.ids.end(), outside), vocab_size_);
    }
    if (narrow_)
      tokens_.append_ids<std::uint16_t>(encoded_.ids);
    else
      tokens_.append_ids<std::uint32_t>(encoded_.ids);
  }

  void report() {
    if (report_) report_(progress_);
    progress_ = {};
    unreported_ = 0;
  }

  const std::string& directory_;
  const TextFormat& format_;
  const Processor& processor_;
  const std::function<void(const ShardProgress&)>& report_;
  CacheShape shape_;
  std::int64_t vocab_size_;
  bool narrow_;
  std::uint64_t save_every_, unsaved_ = 0;
  PartialShard partial_;  // what there was at the start
  HashedFile tokens_, offsets_;
  std::optional<HashedFile> weights_;
  Hasher source_;
  ShardRecord record_;
  ShardProgress progress_;
  std::size_t unreported_ = 0;
  EncodedRecord encoded_;
};

/// Whether the shard's files hold at least what the partial shard counts.
bool is_there(const std::string& directory, std::int64_t index, const PartialShard& partial,
              const Processor& processor) {
  const auto holds = [](const std::string& path, std::int64_t bytes) {
    const auto info = files().info(path);
    return info && info->size >= static_cast<std::uint64_t>(bytes);
  };
  const TokenCounts& counts = partial.counts;
  return holds(tokens_path(directory, index), counts.tokens * (processor.vocab_size() <= 65536 ? 2 : 4)) &&
         holds(offsets_path(directory, index), counts.documents * 8) &&
         (!processor.shape().weighted || holds(weights_path(directory, index), counts.tokens * 4));
}

}  // namespace

bool is_saved_in_parts(const std::vector<Segment>& segments, std::uint64_t save_every) {
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return save_every > 0 && segment.source.size > save_every && !can_be_cut(segment.source);
  });
}

WrittenShard write_shard(const std::string& directory, std::int64_t index,
                         const std::vector<Segment>& segments, const TextFormat& format,
                         const Processor& processor, const std::function<void(const ShardProgress&)>& report,
                         std::uint64_t save_every) {
  if (!is_saved_in_parts(segments, save_every)) save_every = 0;
  const auto partial = save_every > 0 ? read_partial_shard(directory, index) : std::nullopt;
  if (partial && is_there(directory, index, *partial, processor)) {
    ShardWriter writer(directory, index, format, processor, report, save_every, partial);
    if (writer.add_all(segments)) return writer.finish();
  }
  if (save_every > 0) remove_partial_shard(directory, index);
  ShardWriter writer(directory, index, format, processor, report, save_every, {});
  writer.add_all(segments);
  return writer.finish();
}

Hash128 hash_source(const std::vector<Segment>& segments) {
  Hasher hasher;
  std::vector<char> buffer(kBuffered);
  for (const auto& segment : segments) {
    const ByteRange range = aligned_range(segment);
    if (range.begin >= range.end) continue;
    const auto stream = open_stream(segment.source.path, Compression::None, range.begin, range.end);
    while (const std::size_t n = stream->read(buffer)) hasher.update(std::string_view(buffer.data(), n));
  }
  return hasher.digest();
}

}  // namespace bora::store

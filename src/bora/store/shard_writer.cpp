// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A token cache is a directory:
//
//   cache   := ledger.json lock shard*
//   shard   := tokens-NNNNN.bin offsets-NNNNN.bin      NNNNN: 00000, 00001, ... without a gap
//   tokens  := id*           little endian, no header; u16 if vocab_size <= 65536, else u32
//   offsets := end*          u64 little endian, one for each document that ends in the shard: the number of
//   tokens
//                            from the shard's start to the document's end
//   lock    := nothing; held (flock) by the process that builds the cache
//
//   ledger.json := {
//     "format": "bora-token-cache", "version": 1,
//     "is_finished": bool,                             false: only the shards listed are valid
//     "documents": n, "tokens": n, "bytes": n,         sums over the shards; bytes of UTF-8 text
//     "fingerprint": string, "vocab_size": n,          of the tokenizer and its BOS and EOS rules
//     "text_key": string,
//     "shard_bytes": n, "num_shards": n,               how the sources were cut (ledger.cpp: plan_shards)
//     "sources": [{"path": string, "size": n, "modified": seconds}*],
//     "shards": [{"index": n, "documents": n, "tokens": n, "bytes": n,
//                 "source_hash": hash, "tokens_hash": hash, "offsets_hash": hash}*]     hash: XXH3-128, 32
//                 hex digits
//   }
//
// The sequence of all tokens is that of shard 0, shard 1, ...; a document may run on from one shard into the
// next. A shard's files are written and synced first, then the ledger that lists them replaces the one
// before.
#include "bora/store/shard_writer.h"

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::store {
namespace {

constexpr std::size_t kBuffered = 1 << 20;

class HashedFile {
 public:
  explicit HashedFile(const std::string& path) : file_(files().create(path)) {
    buffer_.reserve(kBuffered + 16);
  }

  template <class T>
  void append(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBuffered) flush();
  }

  Hash128 finish() {
    flush();
    file_->sync();
    file_->close();
    return hasher_.digest();
  }

 private:
  void flush() {
    if (buffer_.empty()) return;
    hasher_.update(buffer_);
    file_->write(buffer_);
    buffer_.clear();
  }

  std::unique_ptr<WriteFile> file_;
  Hasher hasher_;
  std::vector<std::byte> buffer_;
};

class ShardWriter {
 public:
  ShardWriter(const std::string& directory, std::int64_t index, const TextFormat& format,
              const Processor& processor, const std::function<void(const ShardProgress&)>& report)
      : format_(format),
        processor_(processor),
        report_(report),
        narrow_(processor.vocab_size() <= 65536),
        tokens_(tokens_path(directory, index)),
        offsets_(offsets_path(directory, index)) {
    record_.index = index;
  }

  void add(const Segment& segment) {
    const auto documents = open_documents(segment, format_, [this](std::span<const std::byte> raw) {
      source_.update(raw);
      progress_.raw_bytes += static_cast<std::int64_t>(raw.size());
    });
    TextPiece piece;
    while (documents->next(piece)) add_piece(piece, segment.source.path);
  }

  ShardRecord finish() {
    record_.source = source_.digest();
    record_.tokens = tokens_.finish();
    record_.offsets = offsets_.finish();
    report();
    return record_;
  }

 private:
  void add_piece(const TextPiece& piece, const std::string& path) {
    ids_.clear();
    in_context(path, [&] { processor_.encode(piece, ids_); });
    write_ids(path);
    TokenCounts counts{piece.ends_document ? 1 : 0, static_cast<std::int64_t>(ids_.size()),
                       static_cast<std::int64_t>(piece.text.size())};
    record_.counts += counts;
    progress_.counts += counts;
    if (piece.ends_document) offsets_.append(static_cast<std::uint64_t>(record_.counts.tokens));
    unreported_ += piece.text.size();
    if (unreported_ >= kPieceBytes) report();
  }

  void write_ids(const std::string& path) {
    for (const std::int32_t id : ids_) {
      if (id < 0 || id >= processor_.vocab_size()) {
        fail(ErrorKind::InvalidArgument, "{}: the tokenizer gave id {}, outside of its vocabulary of {}",
             path, id, processor_.vocab_size());
      }
      if (narrow_)
        tokens_.append(static_cast<std::uint16_t>(id));
      else
        tokens_.append(static_cast<std::uint32_t>(id));
    }
  }

  void report() {
    if (report_) report_(progress_);
    progress_ = {};
    unreported_ = 0;
  }

  const TextFormat& format_;
  const Processor& processor_;
  const std::function<void(const ShardProgress&)>& report_;
  bool narrow_;
  HashedFile tokens_, offsets_;
  Hasher source_;
  ShardRecord record_;
  ShardProgress progress_;
  std::size_t unreported_ = 0;
  std::vector<std::int32_t> ids_;
};

}  // namespace

ShardRecord write_shard(const std::string& directory, std::int64_t index,
                        const std::vector<Segment>& segments, const TextFormat& format,
                        const Processor& processor, const std::function<void(const ShardProgress&)>& report) {
  ShardWriter writer(directory, index, format, processor, report);
  for (const auto& segment : segments) writer.add(segment);
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

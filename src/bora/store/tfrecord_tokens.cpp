// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The training files of mesh-transformer-jax, all numbers little endian:
//
//   file    := record*                            the whole file zlib-compressed if its path contains "zstd"
//   record  := length:u64 masked_crc32c(length):u32 data[length] masked_crc32c(data):u32
//   data    := protobuf tf.train.Example with the feature "text": an Int64List
//   Example { 1: Features { 1: repeated { 1: name, 2: Feature { 3: Int64List { 1: repeated int64 } } } } }
//   .index  := path*                              one a line
#include <zlib.h>

#include <algorithm>

#include "bora/base/hash.h"
#include "bora/base/text.h"
#include "bora/store/token_files.h"
#include "bora/store/token_pieces.h"

namespace bora::store {
namespace {

constexpr std::uint64_t kLongestRecord = 64 << 20;

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string field(int number, std::string_view bytes) {
  std::string out;
  append_varint(out, static_cast<std::uint64_t>(number) << 3 | 2);
  append_varint(out, bytes.size());
  return out.append(bytes);
}

/// Walks the fields of a protobuf message.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t tag = varint();
    number_ = static_cast<int>(tag >> 3);
    type_ = static_cast<int>(tag & 7);
    switch (type_) {
      case 0:
        value_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        content_ = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        wrong();
    }
    return true;
  }
  bool is(int number, int type) const { return number_ == number && type_ == type; }
  std::string_view content() const { return content_; }
  std::uint64_t value() const { return value_; }

  bool empty() const { return bytes_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) wrong();
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    wrong();
  }

 private:
  [[noreturn]] static void wrong() { fail(ErrorKind::Corruption, "no tf.train.Example"); }
  std::string_view take(std::uint64_t n) {
    if (n > bytes_.size()) wrong();
    const auto part = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return part;
  }

  std::string_view bytes_, content_;
  std::uint64_t value_ = 0;
  int number_ = 0, type_ = 0;
};

std::int32_t checked(std::uint64_t id) {
  if (id > INT32_MAX) fail(ErrorKind::Corruption, "an id is {}", static_cast<std::int64_t>(id));
  return static_cast<std::int32_t>(id);
}

void read_ids(std::string_view list, std::vector<std::int32_t>& ids) {
  Message message(list);
  while (message.next()) {
    if (message.is(1, 0)) ids.push_back(checked(message.value()));
    if (!message.is(1, 2)) continue;
    Message packed(message.content());
    while (!packed.empty()) ids.push_back(checked(packed.varint()));
  }
}

/// The ids of the feature "text".
void read_example(std::string_view bytes, std::vector<std::int32_t>& ids) {
  bool found = false;
  for (Message example(bytes); example.next();) {
    if (!example.is(1, 2)) continue;
    for (Message features(example.content()); features.next();) {
      if (!features.is(1, 2)) continue;
      std::string_view name, feature;
      for (Message entry(features.content()); entry.next();) {
        if (entry.is(1, 2)) name = entry.content();
        if (entry.is(2, 2)) feature = entry.content();
      }
      if (name != "text") continue;
      found = true;
      for (Message kinds(feature); kinds.next();) {
        if (kinds.is(3, 2)) read_ids(kinds.content(), ids);
      }
    }
  }
  if (!found) fail(ErrorKind::Corruption, "the example has no feature \"text\"");
}

/// A file's bytes in order, decompressed if they should be.
class RecordBytes {
 public:
  explicit RecordBytes(const std::string& path)
      : path_(path), file_(files().open(path)), bytes_(file_->map()), compressed_(!is_plain()) {
    if (compressed_ && inflateInit(&z_) != Z_OK) fail(ErrorKind::Io, "{}: cannot start zlib", path);
  }
  ~RecordBytes() {
    if (compressed_) inflateEnd(&z_);
  }
  RecordBytes(const RecordBytes&) = delete;
  RecordBytes& operator=(const RecordBytes&) = delete;

  /// False at the end; an error if only a part of it is there.
  bool read(std::span<char> out) {
    const std::size_t n = compressed_ ? inflate_to(out) : copy_to(out);
    if (n == out.size()) return true;
    if (n > 0) wrong("ends inside a record");
    return false;
  }
  [[noreturn]] void wrong(std::string_view what) const {
    fail(ErrorKind::Corruption, "{}: {}, at byte {}\nhint: copy or download the file again", path_, what,
         at_);
  }

 private:
  /// The first record's length has the right checksum.
  bool is_plain() const {
    return bytes_.size() < 12 || masked_crc32c(bytes_.first(8)) == read_number<std::uint32_t>(bytes_, 8);
  }
  std::size_t copy_to(std::span<char> out) {
    const std::size_t n = std::min(out.size(), bytes_.size() - at_);
    std::memcpy(out.data(), bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  std::size_t inflate_to(std::span<char> out) {
    z_.next_out = reinterpret_cast<Bytef*>(out.data());
    z_.avail_out = static_cast<uInt>(out.size());
    while (z_.avail_out > 0 && !done_) {
      const std::size_t n = std::min<std::size_t>(bytes_.size() - at_, 1 << 20);
      z_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes_.data() + at_));
      z_.avail_in = static_cast<uInt>(n);
      const int status = inflate(&z_, Z_NO_FLUSH);
      at_ += n - z_.avail_in;
      done_ = status == Z_STREAM_END;
      if (status != Z_OK && !done_) wrong("is neither a tfrecord nor one compressed with zlib");
    }
    return out.size() - z_.avail_out;
  }

  std::string path_;
  std::unique_ptr<ReadFile> file_;
  std::span<const std::byte> bytes_;
  bool compressed_, done_ = false;
  std::size_t at_ = 0;
  z_stream z_{};
};

class TfrecordTokens final : public TokenDocuments {
 public:
  explicit TfrecordTokens(const std::string& path) : path_(path), bytes_(path) {}

  bool next(std::vector<std::int32_t>& ids, bool& ends_document) override {
    std::string head(12, '\0'), tail(4, '\0');
    ids.clear();
    ends_document = true;
    if (!bytes_.read(head)) return false;
    const auto length = read_number<std::uint64_t>(as_bytes(head), 0);
    if (masked_crc32c(as_bytes(head).first(8)) != read_number<std::uint32_t>(as_bytes(head), 8))
      bytes_.wrong(fmt::format("the checksum of record {}'s length is wrong", number_));
    if (length > kLongestRecord) bytes_.wrong(fmt::format("record {} has {} bytes", number_, length));
    data_.resize(length);
    if ((length > 0 && !bytes_.read(data_)) || !bytes_.read(tail)) bytes_.wrong("ends inside a record");
    if (masked_crc32c(as_bytes(data_)) != read_number<std::uint32_t>(as_bytes(tail), 0))
      bytes_.wrong(fmt::format("the checksum of record {} is wrong", number_));
    in_context(fmt::format("{}: record {}", path_, number_), [&] { read_example(data_, ids); });
    ++number_;
    return true;
  }

 private:
  std::string path_;
  RecordBytes bytes_;
  std::string data_;
  std::int64_t number_ = 0;
};

/// The files of a .index, one after the other. Paths are relative to it where they are relative.
class IndexedTokens final : public TokenDocuments {
 public:
  explicit IndexedTokens(const std::string& path) {
    std::int64_t number = 0;
    for (const auto& line : split(read_text(path), '\n')) {
      const std::string name(trim(line));
      ++number;
      if (name.empty()) continue;
      refuse_escape(path, number, name);
      const bool here = name.front() == '/' || exists(name);
      paths_.push_back(here ? name : path_join(parent_path(path), name));
    }
  }
  bool next(std::vector<std::int32_t>& ids, bool& ends_document) override {
    for (;;) {
      if (file_ && file_->next(ids, ends_document)) return true;
      if (at_ == paths_.size()) return false;
      file_ = std::make_unique<TfrecordTokens>(paths_[at_++]);
    }
  }

 private:
  /// A list that came from somewhere must not reach files that are not beside it.
  static void refuse_escape(const std::string& path, std::int64_t line, const std::string& name) {
    const auto parts = split(name, '/');
    if (std::find(parts.begin(), parts.end(), "..") == parts.end()) return;
    fail(ErrorKind::Corruption,
         "{}:{}: {} leaves the folder of the list\nhint: an absolute path, if this is meant", path, line,
         name);
  }

  std::vector<std::string> paths_;
  std::size_t at_ = 0;
  std::unique_ptr<TokenDocuments> file_;
};

std::string compressed(std::string_view bytes) {
  std::string out(compressBound(bytes.size()), '\0');
  uLongf size = out.size();
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK)
    fail(ErrorKind::Io, "export: zlib cannot compress {} bytes: {}", bytes.size(), zError(status));
  out.resize(size);
  return out;
}

std::string record_of(std::span<const std::int32_t> ids) {
  std::string packed;
  for (const std::int32_t id : ids) append_varint(packed, static_cast<std::uint64_t>(id));
  const std::string feature = field(3, field(1, packed));
  return field(1, field(1, field(1, "text") + field(2, feature)));
}

void append_record(std::string& out, std::string_view data) {
  const auto append = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  const std::uint64_t length = data.size();
  append(length);
  append(masked_crc32c(std::as_bytes(std::span(&length, 1))));
  out += data;
  append(masked_crc32c(as_bytes(data)));
}

}  // namespace

std::unique_ptr<TokenDocuments> open_tfrecord(const std::string& path) {
  if (path.ends_with(".index")) return std::make_unique<IndexedTokens>(path);
  return std::make_unique<TfrecordTokens>(path);
}

std::vector<std::string> export_tfrecord(const TokenCache& cache, const std::string& path,
                                         const ExportOptions& options) {
  if (options.seq_len < 1) fail(ErrorKind::Config, "export: sequences of {} tokens", options.seq_len);
  const std::int64_t length = options.seq_len + 1, sequences = cache.num_tokens() / length;
  if (sequences == 0)
    fail(ErrorKind::Config,
         "export: the cache has {} tokens, fewer than one sequence of {} and its last target\n"
         "hint: a smaller --seq_len",
         cache.num_tokens(), options.seq_len);
  const std::string name = fmt::format("{}_{}.tfrecords", path, sequences);
  // The reader expects zlib where it sees this word; there the file is made in memory.
  const bool compress = name.find("zstd") != std::string::npos;
  NewFile file(name);
  std::string out;
  for (std::int64_t i = 0; i < sequences; ++i) {
    append_record(out, record_of(cache.tokens(i * length, length)));
    if (compress) continue;
    file.append_bytes(out);
    out.clear();
  }
  if (compress) file.append_bytes(compressed(out));
  return {file.finish()};
}

}  // namespace bora::store

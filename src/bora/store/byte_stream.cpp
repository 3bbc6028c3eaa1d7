// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/byte_stream.h"

#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::store {
namespace {

constexpr std::size_t kChunk = 256 << 10;

class PlainStream final : public ByteStream {
 public:
  PlainStream(const std::string& path, std::uint64_t begin, std::uint64_t end, RawObserver observer)
      : path_(path), file_(files().open(path)), offset_(begin), end_(end), observer_(std::move(observer)) {}

  std::size_t read(std::span<char> out) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end_ - offset_));
    const auto bytes = std::as_writable_bytes(out.first(wanted));
    std::size_t done = 0;
    while (done < wanted) {
      const std::size_t n = file_->read_at(offset_ + done, bytes.subspan(done));
      if (n == 0) {
        fail(ErrorKind::Io, "{}: ends at byte {} although it had {} bytes\nhint: it changed while being read",
             path_, offset_ + done, end_);
      }
      done += n;
    }
    offset_ += done;
    if (observer_ && done > 0) observer_(bytes.first(done));
    return done;
  }

  const std::string& path() const { return path_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t rest() const { return end_ - offset_; }

 private:
  std::string path_;
  std::unique_ptr<ReadFile> file_;
  std::uint64_t offset_, end_;
  RawObserver observer_;
};

/// The input side that both decompressors share.
class Input {
 public:
  Input(PlainStream raw, std::string_view codec) : raw_(std::move(raw)), buffer_(kChunk) {
    // Even of no text at all a compressor makes some bytes.
    if (raw_.rest() == 0) cut_off(codec);
  }

  /// Bytes not yet used; empty at the end of the file.
  std::span<const char> available() {
    if (used_ == filled_) {
      filled_ = raw_.read(buffer_);
      used_ = 0;
    }
    return std::span<const char>(buffer_).subspan(used_, filled_ - used_);
  }
  void use(std::size_t n) { used_ += n; }

  [[noreturn]] void damaged(std::string_view codec, std::string_view what) const {
    fail(ErrorKind::Corruption,
         "{}: {} data is damaged near byte {}: {}\nhint: copy or download the file again", raw_.path(), codec,
         raw_.offset() - (filled_ - used_), what);
  }
  [[noreturn]] void cut_off(std::string_view codec) const {
    fail(ErrorKind::Corruption,
         "{}: the file ends at byte {} inside a {} stream\nhint: copy or download the file again",
         raw_.path(), raw_.offset(), codec);
  }

 private:
  PlainStream raw_;
  std::vector<char> buffer_;
  std::size_t used_ = 0, filled_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(PlainStream raw) : input_(std::move(raw), "gzip") {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&z_, kGzipOnly) != Z_OK) fail(ErrorKind::Io, "gzip: cannot start zlib");
  }
  ~GzipStream() override { inflateEnd(&z_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto in = input_.available();
      if (in.empty()) {
        if (inside_) input_.cut_off("gzip");
        break;
      }
      done += inflate_some(in, out.subspan(done));
    }
    return done;
  }

 private:
  std::size_t inflate_some(std::span<const char> in, std::span<char> out) {
    if (!inside_) inflateReset(&z_);  // the next member
    inside_ = true;
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size(), 1 << 30));
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    z_.avail_in = static_cast<uInt>(in.size());
    z_.next_out = reinterpret_cast<Bytef*>(out.data());
    z_.avail_out = room;
    const int status = inflate(&z_, Z_NO_FLUSH);
    input_.use(in.size() - z_.avail_in);
    if (status == Z_STREAM_END)
      inside_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      input_.damaged("gzip", z_.msg ? z_.msg : "unknown error");
    return room - z_.avail_out;
  }

  Input input_;
  z_stream z_{};
  bool inside_ = false;
};

class ZstdStream final : public ByteStream {
  static constexpr int kLargestWindowLog = 31;  // 2 GiB, the format's own limit on 64-bit machines

 public:
  explicit ZstdStream(PlainStream raw)
      : input_(std::move(raw), "zstd"), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    // Of frames that zstd --long has written. Memory is taken for the window that a frame asks for.
    const bool wide = context_ && !ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax,
                                                                       kLargestWindowLog));
    if (!wide) fail(ErrorKind::Io, "zstd: cannot start the decompressor");
  }

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size) {
      const auto in = input_.available();
      if (in.empty() && pending_ == 0) break;
      const std::size_t before = to.pos;
      ZSTD_inBuffer from{in.data(), in.size(), 0};
      pending_ = ZSTD_decompressStream(context_.get(), &to, &from);
      if (ZSTD_isError(pending_)) input_.damaged("zstd", ZSTD_getErrorName(pending_));
      input_.use(from.pos);
      if (in.empty() && pending_ != 0 && to.pos == before) input_.cut_off("zstd");
    }
    return to.pos;
  }

 private:
  Input input_;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  std::size_t pending_ = 0;  // not 0: inside a frame
};

class Bzip2Stream final : public ByteStream {
 public:
  explicit Bzip2Stream(PlainStream raw) : input_(std::move(raw), "bzip2") {}
  ~Bzip2Stream() override {
    if (inside_) BZ2_bzDecompressEnd(&bz_);
  }
  Bzip2Stream(const Bzip2Stream&) = delete;
  Bzip2Stream& operator=(const Bzip2Stream&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto in = input_.available();
      if (in.empty()) {
        if (inside_) input_.cut_off("bzip2");
        break;
      }
      done += decompress_some(in, out.subspan(done));
    }
    return done;
  }

 private:
  std::size_t decompress_some(std::span<const char> in, std::span<char> out) {
    if (!inside_) {  // the next stream of several
      bz_ = {};
      if (BZ2_bzDecompressInit(&bz_, 0, 0) != BZ_OK)
        fail(ErrorKind::Io, "bzip2: cannot start the decompressor");
      inside_ = true;
    }
    const auto room = static_cast<unsigned>(std::min<std::size_t>(out.size(), 1 << 30));
    bz_.next_in = const_cast<char*>(in.data());
    bz_.avail_in = static_cast<unsigned>(in.size());
    bz_.next_out = out.data();
    bz_.avail_out = room;
    const int status = BZ2_bzDecompress(&bz_);
    input_.use(in.size() - bz_.avail_in);
    if (status == BZ_STREAM_END) {
      BZ2_bzDecompressEnd(&bz_);
      inside_ = false;
    } else if (status != BZ_OK) {
      input_.damaged("bzip2", status == BZ_DATA_ERROR_MAGIC ? "no bzip2 header" : "wrong checksum or data");
    }
    return room - bz_.avail_out;
  }

  Input input_;
  bz_stream bz_{};
  bool inside_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::string& path, Compression compression, std::uint64_t begin,
                                        std::uint64_t end, RawObserver observer) {
  PlainStream raw(path, begin, end, std::move(observer));
  switch (compression) {
    case Compression::None:
      break;
    case Compression::Gzip:
      return std::make_unique<GzipStream>(std::move(raw));
    case Compression::Zstd:
      return std::make_unique<ZstdStream>(std::move(raw));
    case Compression::Bzip2:
      return std::make_unique<Bzip2Stream>(std::move(raw));
  }
  return std::make_unique<PlainStream>(std::move(raw));
}

}  // namespace bora::store

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <bzlib.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <map>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/key.h"
#include "bora/base/posix_files.h"
#include "bora/store/processor.h"

namespace bora::store {

/// A fresh folder that goes away.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(path_join(testing::TempDir(), fmt::format("bora-{}-{}", name, getpid()))) {
    remove_all(path_);
    files().make_directories(path_);
  }
  ~TemporaryFolder() { remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_join(path_, name); }
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = *this / name;
    files().make_directories(parent_path(path));
    const auto file = files().create(path);
    file->write(as_bytes(content));
    file->close();
    return path;
  }

 private:
  std::string path_;
};

/// The real file system without waiting for the disk: hundreds of builds in a test would take minutes.
class NoSyncFiles : public PosixFileSystem {
 public:
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
    return std::make_unique<File>(PosixFileSystem::create(path, access));
  }
  void sync_directory(const std::string&) override {}

 private:
  struct File : WriteFile {
    explicit File(std::unique_ptr<WriteFile> inner) : inner_(std::move(inner)) {}
    void write(std::span<const std::byte> bytes) override { inner_->write(bytes); }
    void sync() override {}
    void close() override { inner_->close(); }
    std::unique_ptr<WriteFile> inner_;
  };
};

inline std::string gzip(std::string_view text) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline std::string bzip2(std::string_view text) {
  std::string out(text.size() + text.size() / 50 + 700, '\0');
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()),
                           static_cast<unsigned>(text.size()), 1, 0, 0);
  out.resize(size);
  return out;
}

inline std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// One token a byte (its value + 2), BOS 0, EOS 1.
class ByteProcessor : public Processor {
 public:
  explicit ByteProcessor(std::string name = "bytes-1", std::int64_t vocab = 258)
      : name_(std::move(name)), vocab_(vocab) {}
  std::string fingerprint() const override { return name_; }
  std::int64_t vocab_size() const override { return vocab_; }
  void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const override {
    if (piece.begins_document) out.push_back(0);
    for (const char c : piece.text) out.push_back(static_cast<unsigned char>(c) + 2);
    if (piece.ends_document) out.push_back(1);
  }

 private:
  std::string name_;
  std::int64_t vocab_;
};

/// Every file of a folder but the lock, and what is known of dates and inodes: name and content hash.
inline std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& name : files().list(folder)) {
    if (name != "lock" && name != "checked.json")
      out[name] = hash128(read_text(path_join(folder, name))).hex();
  }
  return out;
}

/// Files of a folder as if they had been written an hour ago: what is checked of them is remembered.
inline void make_older(const std::string& folder) {
  for (const auto& name : files().list(folder)) {
    const std::string path = path_join(folder, name);
    const std::int64_t date = files().info(path)->modified_ns - std::int64_t{3600} * 1'000'000'000;
    const timespec times[2] = {{0, UTIME_OMIT}, {date / 1'000'000'000, date % 1'000'000'000}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
}

/// Text of words and lines with some characters of two to four bytes; reproducible.
inline std::string sample_text(std::uint64_t seed, std::size_t size) {
  const Key key = Key::from_seed(seed);
  static const std::vector<std::string> pieces = {"the ",       "cat ",     "sat",         ". ",
                                                  "\n",         "\n\n",     "na\u00efve ", "\u65e5\u672c",
                                                  "\U0001F600", "x = 1;\n", "  ",          "\t"};
  std::string out;
  for (std::uint64_t i = 0; out.size() < size; ++i) out += pieces[key.below(pieces.size(), i)];
  return out;
}

/// The message of the Error that `body` throws, which must be of `kind`.
template <class Body>
std::string error_of(ErrorKind kind, Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(kind)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace bora::store

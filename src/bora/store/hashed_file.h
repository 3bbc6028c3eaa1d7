// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"

namespace bora::store {

/// A file that is written from start to end, with its hash.
class HashedFile {
 public:
  explicit HashedFile(const std::string& path) : file_(files().create(path)) { buffer_.reserve(2 * kBuffer); }
  /// Goes on after the first `keep` bytes of a file, which must be there.
  HashedFile(const std::string& path, std::uint64_t keep) {
    hash_beginning(path, keep);
    files().truncate(path, keep);
    file_ = files().append(path);
    buffer_.reserve(2 * kBuffer);
  }

  template <class T>
  void append(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBuffer) flush();
  }

  /// Ids as T, two or four bytes wide, which they must fit.
  template <class T>
  void append_ids(std::span<const std::int32_t> ids) {
    while (!ids.empty()) {
      const std::size_t n = std::min(ids.size(), kBuffer / sizeof(T)), before = buffer_.size();
      buffer_.resize(before + n * sizeof(T));
      std::byte* to = buffer_.data() + before;
      for (std::size_t i = 0; i < n; ++i, to += sizeof(T)) {
        const T value = static_cast<T>(ids[i]);
        std::memcpy(to, &value, sizeof(T));
      }
      if (buffer_.size() >= kBuffer) flush();
      ids = ids.subspan(n);
    }
  }

  /// Gives all bytes to the system; nothing may be appended afterwards. Errors: Io.
  Hash128 end() {
    flush();
    buffer_ = {};
    return hasher_.digest();
  }
  /// Makes what there is so far durable. Errors: Io.
  void save() {
    flush();
    file_->sync();
  }
  /// Waits for the disk, and closes. Errors: Io.
  void make_durable() {
    file_->sync();
    file_->close();
  }
  Hash128 finish() {
    const Hash128 hash = end();
    make_durable();
    return hash;
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 20;

  void hash_beginning(const std::string& path, std::uint64_t size) {
    const auto file = files().open(path);
    buffer_.resize(kBuffer);
    for (std::uint64_t at = 0; at < size;) {
      const auto wanted = std::span(buffer_).first(std::min<std::uint64_t>(kBuffer, size - at));
      const std::size_t n = file->read_at(at, wanted);
      if (n == 0) fail(ErrorKind::Io, "{}: ends at byte {} of {}", path, at, size);
      hasher_.update(std::span<const std::byte>(wanted.first(n)));
      at += n;
    }
    buffer_.clear();
  }

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

}  // namespace bora::store

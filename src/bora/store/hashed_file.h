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

#include "bora/base/file.h"
#include "bora/base/hash.h"

namespace bora::store {

/// A file that is written from start to end, with its hash.
class HashedFile {
 public:
  explicit HashedFile(const std::string& path) : file_(files().create(path)) { buffer_.reserve(2 * kBuffer); }

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

  /// Makes the file durable. Errors: Io.
  Hash128 finish() {
    flush();
    file_->sync();
    file_->close();
    return hasher_.digest();
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 20;
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

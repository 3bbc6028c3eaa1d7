// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/temporary_file.h"
#include "bora/store/token_cache.h"

namespace bora::store {

constexpr std::int64_t kTokenPiece = 1 << 20;  ///< tokens to hold at a time

/// A little-endian number at byte `at`, which must be inside.
template <class T>
T read_number(std::span<const std::byte> bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Calls use(tokens) for all tokens [begin, end) of a cache, in pieces.
template <class Use>
void for_each_piece(const TokenCache& cache, std::int64_t begin, std::int64_t end, const Use& use) {
  std::vector<std::int32_t> tokens;
  for (; begin < end; begin += static_cast<std::int64_t>(tokens.size())) {
    tokens.resize(static_cast<std::size_t>(std::min(kTokenPiece, end - begin)));
    cache.tokens(begin, tokens);
    use(std::span<const std::int32_t>(tokens));
  }
}

/// A file under a temporary name until it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), temporary_(temporary_beside(path_)), file_(files().create(temporary_)) {}

  ~NewFile() {
    if (file_) remove_unfinished(temporary_);  // something failed on the way: leave nothing half-written
  }
  NewFile(NewFile&&) = default;
  NewFile& operator=(NewFile&&) = delete;

  template <class T>
  void append(T value) {
    append_bytes({reinterpret_cast<const char*>(&value), sizeof(T)});
  }
  void append_bytes(std::string_view bytes) {
    buffer_.append(bytes);
    size_ += bytes.size();
    if (buffer_.size() >= kBuffer) flush();
  }
  std::uint64_t size() const { return size_; }

  /// Gives the complete file its name, which comes back.
  std::string finish() {
    flush();
    file_->sync();
    file_->close();
    files().rename(temporary_, path_);
    file_.reset();
    files().sync_directory(parent_path(path_));
    return path_;
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 20;
  void flush() {
    file_->write(as_bytes(buffer_));
    buffer_.clear();
  }

  std::string path_, temporary_, buffer_;
  std::unique_ptr<WriteFile> file_;
  std::uint64_t size_ = 0;
};

}  // namespace bora::store

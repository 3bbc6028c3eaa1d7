// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bora/store/format.h"

namespace bora {
class Hasher;
}

namespace bora::store {

/// Bytes that arrive in order and bounded pieces.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `out` as far as it can; fewer bytes than asked only at the end, 0 from then on.
  virtual std::size_t read(std::span<char> out) = 0;
};

/// Sees every raw byte once, in order, before it is decompressed: content hash and progress.
using RawObserver = std::function<void(std::span<const std::byte>)>;

/// Bytes [begin, end) of a file as they are on disk, decompressed if `compression` says so (then the range
/// must be the whole file; several gzip members or zstd frames in one file are read through). Errors:
/// Corruption with path and byte offset if the compressed data is damaged or cut off; Io if the file became
/// shorter than `end`.
std::unique_ptr<ByteStream> open_stream(const std::string& path, Compression compression, std::uint64_t begin,
                                        std::uint64_t end, RawObserver observer = {});

}  // namespace bora::store

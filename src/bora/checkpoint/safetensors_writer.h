// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/checkpoint/safetensors_header.h"
#include "bora/core/dtype.h"

namespace bora::checkpoint {

/// Takes the next bytes of a tensor.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// A tensor to be written. `produce` is called once, when its turn comes, and must hand over exactly its
/// bytes.
struct TensorSource {
  std::string name;
  core::DType dtype = core::DType::f32;
  std::vector<std::int64_t> shape;
  std::function<void(const ByteSink&)> produce;

  std::uint64_t byte_size() const;
};

/// Bytes that stay valid until written: row-major, little endian.
TensorSource tensor_of_bytes(std::string name, core::DType dtype, std::vector<std::int64_t> shape,
                             std::span<const std::byte> bytes);
/// fp32 values written in a floating `dtype`, converted piece by piece.
TensorSource tensor_of_floats(std::string name, core::DType dtype, std::vector<std::int64_t> shape,
                              std::span<const float> values);

/// Writes a safetensors file into `file` (no sync, no close). Tensors are ordered by type, widest first, then
/// by name, as the format's own writer does: equal content gives equal bytes. Metadata is sorted by key.
/// Errors: InvalidArgument for a duplicate name, a negative size, or a source that hands over another number
/// of bytes.
void write_safetensors(WriteFile& file, const std::string& path, std::vector<TensorSource> tensors,
                       Metadata metadata);

/// The same into `path`: a temporary file beside it, fsync, rename, fsync of the directory.
void write_safetensors(const std::string& path, std::vector<TensorSource> tensors, Metadata metadata = {});

/// How a sharded model is written.
struct ShardOptions {
  std::uint64_t max_shard_bytes = 5'000'000'000;  ///< of tensor data; a larger tensor gets a shard of its own
  bool number_single = false;  ///< "model-00001-of-00001.safetensors" even if there is one shard
  bool write_index = true;     ///< "model.safetensors.index.json" where there are several
  Metadata metadata;
  /// Creates each file; null: files().create. Every file is fsynced and closed.
  std::function<std::unique_ptr<WriteFile>(const std::string& path)> create;
};

/// Writes `directory`/STEM.safetensors, or STEM-00001-of-0000N.safetensors with an index, in the order given.
/// Returns the names of the files. The directory must exist; nothing is renamed (write into a temporary
/// directory).
std::vector<std::string> write_sharded(const std::string& directory, const std::string& stem,
                                       std::vector<TensorSource> tensors, const ShardOptions& options = {});

}  // namespace bora::checkpoint

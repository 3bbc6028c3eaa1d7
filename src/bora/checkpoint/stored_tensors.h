// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::checkpoint {

/// What is known of a tensor before it is read.
struct StoredTensorInfo {
  std::vector<std::int64_t> shape;  ///< of its values
  std::string type;                 ///< as the format names it: "BF16"
  std::string file;                 ///< path
};

/// The tensors of a stored model, whatever kind of files holds them. Any number of threads may read.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;

  virtual std::vector<std::string> names() const = 0;  ///< sorted
  /// Nothing for a name that is not there.
  virtual std::optional<StoredTensorInfo> find(std::string_view name) const = 0;
  /// The values as fp32, row-major; `out` is as long. Errors: NotFound with the nearest name; Unsupported for
  /// types that hold no floating numbers; Corruption for a file that has become shorter. All name file and
  /// tensor.
  virtual void read_floats(std::string_view name, std::span<float> out) const = 0;
  /// The tensor's pages may leave memory: it was read.
  virtual void forget(std::string_view name) const = 0;

  bool contains(std::string_view name) const { return find(name).has_value(); }
  /// All values of a tensor. Errors: those of read_floats.
  std::vector<float> floats(std::string_view name) const;
};

/// The tensors of a Hugging Face directory, of a file or of an index of shards; those in MXFP4 as floats (mxfp4.h);
/// those of a checkpoint of mesh-transformer-jax by Hugging Face's names (mesh_transformer.h).
/// Errors: those of Mxfp4Model; Unsupported for a model that is in pickle files alone (pytorch_model.bin, .pt, .pth, .ckpt),
/// with the way to convert it.
std::unique_ptr<StoredTensors> open_stored_tensors(const std::string& path);

}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Checkpoints of mesh-transformer-jax, the program that GPT-J was trained with, as a GPT-J of Hugging Face.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/npz.h"
#include "bora/checkpoint/stored_tensors.h"

namespace bora::checkpoint {

/// The folder with shard_0, shard_1, ... : `directory` itself, or the step_N there that its meta.json calls the
/// last; nothing where there is none.
std::optional<std::string> mesh_checkpoint(const std::string& directory);

/// config.json of the model, from the program's own configuration: the .json in the directory, or the one above,
/// that has n_heads and d_model. Errors: NotFound without one; Unsupported for another network than GPT-J's.
Json mesh_config(const std::string& directory);

/// Its tensors, full or slim, by Hugging Face's names. The leaves of the training state lie one after the other in
/// shard_S/0.npz to 15.npz: the optimizer's, then the weights by the names of their modules (layer_10 before
/// layer_2), then the step. Matrices are cut over the shards; the biases that every shard adds are added up.
class MeshTransformerModel : public StoredTensors {
 public:
  /// `folder`: what mesh_checkpoint gives. Errors: NotFound for a file that is missing, by name; Corruption where
  /// the leaves are not those of a GPT-J, and those of NpzFile.
  explicit MeshTransformerModel(const std::string& folder);

  std::vector<std::string> names() const override;
  std::optional<StoredTensorInfo> find(std::string_view name) const override;
  void read_floats(std::string_view name, std::span<float> out) const override;
  void forget(std::string_view name) const override;

 private:
  enum class Layout {
    Outputs,   // [in, out / shards], transposed
    Inputs,    // [in / shards, out], transposed
    Pieces,    // [n / shards], one behind the other
    Sum,       // [n], added up
    First,     // [n], the same in all
    Embedding  // [rows / shards, columns]: one below the other, and the sum of the biases is added to each
  };
  struct Tensor {
    std::size_t leaf;
    Layout layout;
    std::size_t bias = 0;  // of an embedding
  };
  struct Leaf {
    const NpzFile* file;
    const NpzFile::Array* array;
  };
  const Tensor& at(std::string_view name) const;
  std::vector<float> floats_of(std::size_t shard, std::size_t leaf) const;
  std::vector<std::int64_t> shape_of(const Tensor& tensor) const;
  void open_shards();
  void name_leaves();
  bool fits_at(std::size_t first, std::size_t layers) const;
  [[noreturn]] void no_gptj(std::string_view what) const;

  std::string folder_;
  std::vector<std::unique_ptr<NpzFile>> files_;
  std::vector<std::vector<Leaf>> leaves_;  // by shard
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

}  // namespace bora::checkpoint

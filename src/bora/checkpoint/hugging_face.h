// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models in the Hugging Face layout: config.json, model.safetensors (one file or shards), tokenizer files.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/core/parameter.h"

namespace bora::checkpoint {

/// A parameter and where it stands in a Hugging Face model. Those of one name are the rows of one tensor, one
/// after the other in the order of a list of parameters; they are not transposed.
struct HfParameter {
  core::Parameter parameter;
  std::string name;
  bool transposed = false;  ///< stored (in, out)
  /// Of a parameter that is stored in several tensors, which make its first axis, this is the tensor of place
  /// `piece` there. In a list its pieces follow each other.
  std::int64_t piece = 0, pieces = 1;
  /// `step` > 0: a map for each place of the parameter's first axis, stored as one tensor [place, in, out · step],
  /// or [place, out · step] where it is a bias; of the last dimension this parameter is every step-th place from
  /// `first` on. Those of one name are its other places.
  struct Columns {
    std::int64_t first = 0, step = 0;
  } columns = {};
};

/// A parameter as a list of tensors: one, or, where `name` has "{}" for a place along its first axis (that of
/// experts), one for each place. A name that ends with "[first::step]", as Python would slice the last dimension,
/// is that of a tensor with the columns of several parameters; "[::1]" has one alone.
std::vector<HfParameter> hf_pieces(const core::Parameter& parameter, const std::string& name,
                                   bool transposed);
/// The part of a parameter's whole values (row-major) that is in this tensor.
std::span<const float> hf_part(const HfParameter& p, std::span<const float> whole);

/// The shape on disk: a linear map is the matrix (out, in) of its flattened axes, an embedding (vocab,
/// embed), a convolution (out, in, taps), all else one dimension. Of a piece, that of the piece; of columns, that of
/// the tensor.
std::vector<std::int64_t> hf_shape(const HfParameter& p);

/// Fills the parameters (fp32) from bf16, f16 or f32 tensors. Names may lack their first component
/// ("transformer.", "model."), as in checkpoints of the bare model, or stand within a model that reads images too
/// ("language_model.", "model.language_model."), whose other parts are left out. Buffers that hold no parameters are
/// skipped. Before anything is read all differences are listed in one error, with names, shapes and files:
/// Corruption where tensors have another shape, else NotFound where some are missing, else Unsupported for those
/// that no parameter takes.
void load_hugging_face(const std::string& directory, std::span<const HfParameter> parameters);

/// The same for parameters that are not in memory: `take` gets the whole values of one after the other, of
/// the sizes core::whole_sizes gives. With `stored_vocab` the tensors on disk have so many rows along the axis
/// vocab, whatever the parameters have: rows that these have beyond them are the mean of the stored ones, rows
/// too many on disk are left out.
void load_hugging_face(const std::string& directory, std::span<const HfParameter> parameters,
                       const std::function<void(const HfParameter&, core::Array whole)>& take,
                       std::optional<std::int64_t> stored_vocab = std::nullopt);

struct HfSaveOptions {
  core::DType dtype = core::DType::f32;
  std::uint64_t max_shard_bytes = 5'000'000'000;
  /// Whole values (fp32) of a parameter that is not whole in memory, for each tensor when its turn
  /// comes.
  std::function<core::Array(const HfParameter&)> values;
  /// Adds what goes along, the tokenizer say, to a directory that is being written.
  std::function<void(const std::string& directory)> add_files;
};
/// The tensors of parameters, to be written: each is brought into memory when its turn comes. Both arguments
/// stay until then.
std::vector<TensorSource> tensor_sources(std::span<const HfParameter> parameters,
                                         const HfSaveOptions& options);

/// Writes config.json and the tensors into `directory`, whole or not at all; what stands there is replaced in
/// one step (staged_directory.h).
void save_hugging_face(const std::string& directory, std::span<const HfParameter> parameters,
                       const Json& config, const HfSaveOptions& options = {});

}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/mesh_transformer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

constexpr std::size_t kPieces = 16;     // files of a shard
constexpr std::size_t kOfLayer = 10;    // leaves
constexpr std::size_t kAround = 2 + 4;  // of the embedding, and of the head with its norm
constexpr std::int64_t kMlp = 4;        // width of the MLP / d_model

using Shape = std::vector<std::int64_t>;

std::string shard_file(const std::string& folder, std::size_t shard, std::size_t piece) {
  return path_join(path_join(folder, fmt::format("shard_{}", shard)), fmt::format("{}.npz", piece));
}

float half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16, exponent = bits >> 10 & 31U,
                      low = bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | low << 13);
  if (exponent == 0) return (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(low) * 0x1p-24F;
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | low << 13);
}

std::optional<Json> own_config(const std::string& directory) {
  for (const auto& name : files().list(directory)) {
    if (!name.ends_with(".json") || name == "meta.json") continue;
    auto json = Json::parse(read_text(path_join(directory, name)), nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("n_heads") && json.contains("d_model")) {
      json["file"] = path_join(directory, name);
      return json;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> mesh_checkpoint(const std::string& directory) {
  if (exists(shard_file(directory, 0, 0))) return directory;
  const auto meta = path_join(directory, "meta.json");
  if (!exists(meta)) return std::nullopt;
  const auto json = Json::parse(read_text(meta), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return std::nullopt;
  auto folder = path_join(directory, fmt::format("step_{}", json["step"].get<std::int64_t>()));
  if (!exists(shard_file(folder, 0, 0))) return std::nullopt;
  return folder;
}

Json mesh_config(const std::string& directory) {
  auto found = own_config(directory);
  if (!found) found = own_config(parent_path(directory));
  if (!found)
    fail(ErrorKind::NotFound,
         "{}: a checkpoint of mesh-transformer-jax, without the configuration that it was trained with\n"
         "hint: put that file (6B_roto_256.json, say) into the directory",
         directory);
  const auto name = (*found)["file"].get<std::string>();
  const auto& c = *found;
  const auto text = [&](const char* key, const char* only) {
    const auto value = c.value(key, Json(only));
    if (value != only)
      fail(ErrorKind::Unsupported, "{}: {} is {}, and a GPT-J has \"{}\"", name, key, value.dump(), only);
  };
  text("norm", "layernorm");
  text("pe", "rotary");
  return {{"model_type", "gptj"},
          {"vocab_size", json_get<std::int64_t>(c, "n_vocab", name)},
          {"n_positions", json_get<std::int64_t>(c, "seq", name)},
          {"n_embd", json_get<std::int64_t>(c, "d_model", name)},
          {"n_layer", json_get<std::int64_t>(c, "layers", name)},
          {"n_head", json_get<std::int64_t>(c, "n_heads", name)},
          {"rotary_dim", json_get<std::int64_t>(c, "pe_rotary_dims", name, 64)},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", 1e-5},
          {"tie_word_embeddings", false},
          {"embd_pdrop", 0.0},
          {"resid_pdrop", 0.0},
          {"attn_pdrop", 0.0}};
}

MeshTransformerModel::MeshTransformerModel(const std::string& folder) : folder_(folder) {
  open_shards();
  name_leaves();
}

void MeshTransformerModel::no_gptj(std::string_view what) const {
  fail(ErrorKind::Corruption, "{}: holds no GPT-J of mesh-transformer-jax: {}", folder_, what);
}

void MeshTransformerModel::open_shards() {
  std::size_t shards = 0;
  while (exists(path_join(folder_, fmt::format("shard_{}", shards)))) ++shards;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    auto& leaves = leaves_.emplace_back();
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      const auto path = shard_file(folder_, shard, piece);
      if (!exists(path))
        fail(ErrorKind::NotFound,
             "{} is missing\nhint: each shard has the files 0.npz to 15.npz; copy it again", path);
      files_.push_back(std::make_unique<NpzFile>(path));
      for (const auto& array : files_.back()->arrays()) leaves.push_back({files_.back().get(), &array});
    }
    if (leaves.size() != leaves_.front().size())
      no_gptj(fmt::format("shard_{} has {} arrays, and shard_0 {}", shard, leaves.size(),
                          leaves_.front().size()));
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].array->shape != leaves_.front()[i].array->shape)
        no_gptj(fmt::format("array {} has other shapes in shard_{} and shard_0", i, shard));
  }
}

// Whether the weights of a model with so many layers begin at this leaf.
bool MeshTransformerModel::fits_at(std::size_t first, std::size_t layers) const {
  const auto& all = leaves_.front();
  const auto shape = [&](std::size_t i) -> const Shape& { return all[first + i].array->shape; };
  if (first + kAround + kOfLayer * layers > all.size() || shape(1).size() != 2) return false;
  const auto shards = static_cast<std::int64_t>(leaves_.size()), rows = shape(1)[0], d = shape(1)[1];
  if (shape(0) != Shape{d} || d % shards != 0) return false;
  const auto part = d / shards, inner = kMlp * part;
  const std::array<Shape, kOfLayer> layer = {Shape{d, part}, {d, part}, {d, part},  {part, d}, {inner},
                                             {d, inner},     {d},       {inner, d}, {d},       {d}};
  for (std::size_t i = 0; i < layers * kOfLayer; ++i)
    if (shape(2 + i) != layer[i % kOfLayer]) return false;
  const auto last = 2 + layers * kOfLayer;
  return shape(last) == Shape{rows} && shape(last + 1) == Shape{d, rows} && shape(last + 2) == Shape{d} &&
         shape(last + 3) == Shape{d};
}

void MeshTransformerModel::name_leaves() {
  const auto count = leaves_.front().size();
  std::optional<std::size_t> first, layers;
  // The step stands behind the weights, or nothing does.
  for (const std::size_t behind : {std::size_t{1}, std::size_t{0}})
    for (std::size_t n = 1; !first && behind + kAround + kOfLayer * n <= count; ++n)
      if (const auto at = count - behind - kAround - kOfLayer * n; fits_at(at, n)) first = at, layers = n;
  if (!first) no_gptj(fmt::format("its {} arrays a shard do not end with the weights of one", count));

  const auto add = [&](const std::string& name, std::size_t leaf, Layout layout, std::size_t bias = 0) {
    tensors_.emplace_back("transformer." + name, Tensor{*first + leaf, layout, *first + bias});
  };
  add("wte.weight", 1, Layout::Embedding, 0);
  std::vector<std::string> order;
  for (std::size_t i = 0; i < *layers; ++i) order.push_back(std::to_string(i));
  std::sort(order.begin(), order.end());  // as text
  for (std::size_t i = 0; i < *layers; ++i) {
    const auto at = 2 + i * kOfLayer;
    const auto layer = "h." + order[i] + ".";
    add(layer + "attn.q_proj.weight", at, Layout::Outputs);
    add(layer + "attn.v_proj.weight", at + 1, Layout::Outputs);
    add(layer + "attn.k_proj.weight", at + 2, Layout::Outputs);
    add(layer + "attn.out_proj.weight", at + 3, Layout::Inputs);
    add(layer + "mlp.fc_in.bias", at + 4, Layout::Pieces);
    add(layer + "mlp.fc_in.weight", at + 5, Layout::Outputs);
    add(layer + "mlp.fc_out.bias", at + 6, Layout::Sum);
    add(layer + "mlp.fc_out.weight", at + 7, Layout::Inputs);
    add(layer + "ln_1.bias", at + 8, Layout::First);
    add(layer + "ln_1.weight", at + 9, Layout::First);
  }
  const auto last = 2 + *layers * kOfLayer;
  add("ln_f.bias", last + 2, Layout::First);
  add("ln_f.weight", last + 3, Layout::First);
  tensors_.emplace_back("lm_head.bias", Tensor{*first + last, Layout::Pieces});
  tensors_.emplace_back("lm_head.weight", Tensor{*first + last + 1, Layout::Outputs});
  std::sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::vector<std::string> MeshTransformerModel::names() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors_) out.push_back(name);
  return out;
}

std::vector<std::int64_t> MeshTransformerModel::shape_of(const Tensor& tensor) const {
  auto shape = leaves_.front()[tensor.leaf].array->shape;
  const auto shards = static_cast<std::int64_t>(leaves_.size());
  switch (tensor.layout) {
    case Layout::Embedding:
    case Layout::Pieces:
      return shape.front() *= shards, shape;
    case Layout::Outputs:
      return {shape[1] * shards, shape[0]};
    case Layout::Inputs:
      return {shape[1], shape[0] * shards};
    case Layout::Sum:
    case Layout::First:
      return shape;
  }
  return shape;
}

std::optional<StoredTensorInfo> MeshTransformerModel::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.first == name; });
  if (found == tensors_.end()) return std::nullopt;
  const auto& leaf = leaves_.front()[found->second.leaf];
  return StoredTensorInfo{shape_of(found->second), leaf.array->descr, leaf.file->path()};
}

const MeshTransformerModel::Tensor& MeshTransformerModel::at(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.first == name; });
  if (found != tensors_.end()) return found->second;
  fail(ErrorKind::NotFound, "{}: has no tensor {}{}", folder_, name,
       did_you_mean(std::string(name), names()));
}

std::vector<float> MeshTransformerModel::floats_of(std::size_t shard, std::size_t leaf) const {
  const auto& [file, array] = leaves_[shard][leaf];
  std::size_t n = 1;
  for (const auto size : array->shape) n *= static_cast<std::size_t>(size);
  std::vector<float> out(n);
  const auto* from = array->bytes.data();
  if (array->descr == "<f4") {
    std::memcpy(out.data(), from, n * 4);
  } else if (array->descr == "|V2" || array->descr == "<V2" || array->descr == "<f2") {
    const bool is_half = array->descr == "<f2";
    for (std::size_t i = 0; i < n; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      out[i] = is_half ? half(bits) : std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
  } else {
    fail(ErrorKind::Unsupported, "{}: {} has the type {}; <f4, <f2 and |V2 (bfloat16) are read", file->path(),
         array->name, array->descr);
  }
  return out;
}

void MeshTransformerModel::read_floats(std::string_view name, std::span<float> out) const {
  const auto& tensor = at(name);
  const auto shards = leaves_.size();
  const auto whole = shape_of(tensor);
  const auto& cut = leaves_.front()[tensor.leaf].array->shape;
  if (tensor.layout == Layout::Sum) std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t shard = 0; shard < shards; ++shard) {
    if (tensor.layout == Layout::First && shard > 0) break;
    const auto values = floats_of(shard, tensor.leaf);
    switch (tensor.layout) {
      case Layout::Sum:
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += values[i];
        break;
      case Layout::First:
      case Layout::Embedding:
      case Layout::Pieces:
        std::copy(values.begin(), values.end(),
                  out.begin() + static_cast<std::ptrdiff_t>(shard * values.size()));
        break;
      case Layout::Outputs:
      case Layout::Inputs: {
        const auto rows = static_cast<std::size_t>(cut[0]), columns = static_cast<std::size_t>(cut[1]);
        const auto width = static_cast<std::size_t>(whole[1]);  // of a row of the whole
        const bool outputs = tensor.layout == Layout::Outputs;
        const auto down = outputs ? shard * columns : 0, right = outputs ? 0 : shard * rows;
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < columns; ++j)
            out[(down + j) * width + right + i] = values[i * columns + j];
        break;
      }
    }
  }
  if (tensor.layout != Layout::Embedding) return;
  std::vector<float> bias(static_cast<std::size_t>(whole[1]));
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const auto more = floats_of(shard, tensor.bias);
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += more[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias[i % bias.size()];
}

void MeshTransformerModel::forget(std::string_view name) const {
  for (const auto& leaves : leaves_) leaves[at(name).leaf].file->forget(*leaves[at(name).leaf].array);
}

}  // namespace bora::checkpoint

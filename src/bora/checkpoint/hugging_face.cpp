// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hugging_face.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/checkpoint/hf_columns.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/checkpoint/staged_directory.h"
#include "bora/checkpoint/stored_tensors.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/host_view.h"
#include "bora/core/mapping.h"

namespace bora::checkpoint {
namespace {

using core::HostView;

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> parts;
  for (auto n : shape) parts.push_back(std::to_string(n));
  return "[" + join(parts) + "]";
}

constexpr std::array<std::string_view, 3> kHeads = {"lm_head.weight", "proj_out.weight",
                                                    "language_model.lm_head.weight"};

// Buffers of the reference implementations, and heads and other names that repeat an embedding.
bool is_buffer(std::string_view name) {
  for (const std::string_view again :
       {"word_embeddings.weight", "position_embeddings.weight"})  // of a Backpack
    if (name == again || name == "backpack." + std::string(again)) return true;
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq") ||
         std::find(kHeads.begin(), kHeads.end(), name) != kHeads.end();
}

// What a model of text and images has beside its model of text.
bool is_of_images(std::string_view name) {
  if (name.starts_with("model.")) name.remove_prefix(6);
  return name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.");
}

// The name under which the file holds a parameter: as written, without its first component, or within a model that
// reads images too.
std::string stored_name(const StoredTensors& model, const std::string& name) {
  if (model.contains(name)) return name;
  auto dot = name.find('.');
  auto bare = dot == std::string::npos ? name : name.substr(dot + 1);
  for (const auto& other : {bare, "language_model." + name, "model.language_model." + bare})
    if (model.contains(other)) return other;
  return name;
}

void transpose(std::int64_t rows, std::int64_t columns, std::span<const float> from, float* to) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to[j * rows + i] = from[static_cast<std::size_t>(i * columns + j)];
}

// What a parameter is of the tensor that holds it.
struct Part {
  std::int64_t first = 0;              // row, or column
  std::int64_t total = 0;              // rows
  std::optional<std::int64_t> stored;  // rows on disk, where they are not `total`
  bool whole(const HfParameter& p) const { return total == hf_shape(p).front(); }
};

bool has_vocabulary_rows(const HfParameter& p) {
  const auto& axes = p.parameter.axes;
  return !axes.empty() && axes.front() == "vocab" && !p.transposed;
}

// Of each parameter.
std::vector<Part> parts_of(std::span<const HfParameter> parameters,
                           std::optional<std::int64_t> stored_vocab = std::nullopt) {
  std::map<std::string_view, std::int64_t> rows;
  std::vector<Part> out;
  for (const auto& p : parameters) {
    auto& so_far = rows[p.name];
    if (p.columns.step > 0) {
      so_far = hf_shape(p).front();
      out.push_back({.first = p.columns.first});
      continue;
    }
    out.push_back({.first = so_far});
    so_far += hf_shape(p).front();
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].total = rows[parameters[i].name];
    if (stored_vocab && has_vocabulary_rows(parameters[i]) && out[i].whole(parameters[i]))
      out[i].stored = stored_vocab;
  }
  return out;
}

// The shape of the tensor that a parameter is part of.
std::vector<std::int64_t> whole_shape(const HfParameter& p, const Part& part) {
  auto shape = hf_shape(p);
  shape.front() = part.stored.value_or(part.total);
  return shape;
}

// Rows that the file does not have are the mean of those that it has, summed in their order.
void resize_rows(std::span<const float> stored, std::int64_t rows, std::span<float> out) {
  const auto width = stored.size() / static_cast<std::size_t>(rows);
  const auto kept = std::min(stored.size(), out.size());
  std::copy_n(stored.begin(), kept, out.begin());
  if (kept == out.size()) return;
  std::vector<double> mean(width);
  for (std::size_t i = 0; i < stored.size(); ++i) mean[i % width] += static_cast<double>(stored[i]);
  for (auto& x : mean) x /= static_cast<double>(rows);
  for (std::size_t i = kept; i < out.size(); ++i) out[i] = static_cast<float>(mean[i % width]);
}

void load_one(const StoredTensors& model, const HfParameter& p, const Part& part, const std::string& stored) {
  const auto expected = whole_shape(p, part);
  auto n = static_cast<std::size_t>(p.parameter.array->numel() / p.pieces);
  const HostView values(*p.parameter.array, p.pieces == 1 ? HostView::Use::write : HostView::Use::update);
  auto* out = values.floats().data() + static_cast<std::size_t>(p.piece) * n;
  if (p.columns.step > 0) return take_columns(p, model.floats(stored), {out, n});
  if (part.stored) return resize_rows(model.floats(stored), *part.stored, {out, n});
  if (!part.whole(p)) {
    const auto all = model.floats(stored);
    const auto before =
        all.size() / static_cast<std::size_t>(part.total) * static_cast<std::size_t>(part.first);
    std::copy_n(all.data() + before, n, out);
    return;
  }
  if (!p.transposed) {
    model.read_floats(stored, {out, n});
    return;
  }
  transpose(expected[0], expected[1], model.floats(stored), out);
}

// How the tensors of a file and those of a model differ, a line for each.
struct Differences {
  std::vector<std::string> missing, misfitting, unknown;

  bool none() const { return missing.empty() && misfitting.empty() && unknown.empty(); }
  ErrorKind kind() const {
    if (!misfitting.empty()) return ErrorKind::Corruption;
    return missing.empty() ? ErrorKind::Unsupported : ErrorKind::NotFound;
  }
  std::string text() const {
    return list("missing", missing) + list("of another shape", misfitting) +
           list("without a place in the model", unknown);
  }

 private:
  static std::string list(std::string_view what, const std::vector<std::string>& lines) {
    constexpr std::size_t kShown = 100;
    if (lines.empty()) return "";
    auto out = fmt::format("\n{} {}:", lines.size(), what);
    for (std::size_t i = 0; i < std::min(kShown, lines.size()); ++i) out += "\n  " + lines[i];
    return out + (lines.size() > kShown ? fmt::format("\n  and {} more", lines.size() - kShown) : "");
  }
};

// Of one parameter's tensor.
void compare(const StoredTensors& model, const HfParameter& p, const Part& part, Differences& differences) {
  const auto stored = stored_name(model, p.name);
  const auto found = model.find(stored);
  const auto expected = whole_shape(p, part);
  if (!found)
    differences.missing.push_back(fmt::format("{} {}", p.name, shape_text(expected)));
  else if (found->shape != expected)
    differences.misfitting.push_back(fmt::format("{} is {} in {} but the model's {} needs {}", stored,
                                                 shape_text(found->shape), found->file, p.parameter.path,
                                                 shape_text(expected)));
}

Differences compare(const StoredTensors& model, std::span<const HfParameter> parameters,
                    std::span<const Part> parts) {
  Differences out;
  std::set<std::string> used;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    used.insert(stored_name(model, parameters[i].name));
    if (parts[i].first == 0) compare(model, parameters[i], parts[i], out);
  }
  const bool images = std::any_of(used.begin(), used.end(), [](const std::string& name) {
    return name.find("language_model.") != name.npos;
  });
  for (const auto& name : model.names()) {
    if (used.contains(name) || is_buffer(name) || (images && is_of_images(name))) continue;
    const auto found = model.find(name);
    out.unknown.push_back(fmt::format("{} {} in {}", name, shape_text(found->shape), found->file));
  }
  return out;
}

// Nothing is read of a file that does not fit.
void require_fit(const Differences& differences) {
  if (differences.none()) return;
  fail(
      differences.kind(),
      "the tensors are not those of the model{}\nhint: config.json and the tensors disagree, or the model has "
      "parts that Bora does not know",
      differences.text());
}

// A head that is stored though config.json ties it is the embedding once more: transformers 4 takes the embedding for it,
// transformers 5 the head.
void require_tied(const StoredTensors& model, std::span<const HfParameter> parameters) {
  std::set<std::string> used;
  std::string embedding;
  for (const auto& p : parameters) {
    used.insert(stored_name(model, p.name));
    if (p.parameter.role == core::Role::embedding && has_vocabulary_rows(p))
      embedding = stored_name(model, p.name);
  }
  for (const auto& head : kHeads) {
    const auto found = model.find(head);
    if (!found || embedding.empty() || used.contains(std::string(head))) continue;
    const bool is_it =
        found->shape == model.find(embedding)->shape && model.floats(head) == model.floats(embedding);
    model.forget(head);
    if (is_it) continue;
    fail(
        ErrorKind::Corruption,
        "{} in {} has other values than {}, though config.json says that they are one (tie_word_embeddings)\nhint: "
        "tie_word_embeddings: false in config.json takes both; without {} in the file they are one",
        head, found->file, embedding, head);
  }
}

// Calls load for each parameter with the name that the file has for it.
void load_each(const std::string& directory, std::span<const HfParameter> parameters,
               std::optional<std::int64_t> stored_vocab,
               const std::function<void(const StoredTensors&, const HfParameter&, const Part&,
                                        const std::string&)>& load) {
  in_context(fmt::format("while loading {}", directory), [&] {
    const auto model = open_stored_tensors(directory);
    const auto parts = parts_of(parameters, stored_vocab);
    require_fit(compare(*model, parameters, parts));
    require_tied(*model, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto stored = stored_name(*model, parameters[i].name);
      load(*model, parameters[i], parts[i], stored);
      model->forget(stored);
    }
  });
}

void produce(const HfParameter& p, const HfSaveOptions& options, const ByteSink& sink) {
  const auto shape = hf_shape(p);
  const core::Array whole = options.values ? options.values(p) : *p.parameter.array;
  const HostView all(whole, HostView::Use::read);
  auto values = hf_part(p, all.floats());
  std::vector<float> turned;
  if (p.transposed) {
    turned.resize(values.size());
    transpose(shape[1], shape[0], values, turned.data());
    values = turned;
  }
  tensor_of_floats(p.name, options.dtype, shape, values).produce(sink);
}

// The tensor that parameters share by columns: it is whole in memory, and beside it one of them.
void produce_columns(const std::vector<const HfParameter*>& parts, const std::vector<std::int64_t>& shape,
                     const HfSaveOptions& options, const ByteSink& sink) {
  std::vector<float> all(static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
  for (const auto* p : parts) {
    const core::Array whole = options.values ? options.values(*p) : *p->parameter.array;
    put_columns(*p, HostView(whole, HostView::Use::read).floats(), all);
  }
  tensor_of_floats(parts.front()->name, options.dtype, shape, all).produce(sink);
}

// The tensor of all parameters of one name. They are brought into memory when their turn comes, and not
// before.
TensorSource source_of(const std::vector<const HfParameter*>& parts, std::int64_t rows,
                       const HfSaveOptions& options) {
  const auto& first = *parts.front();
  auto shape = hf_shape(first);
  shape.front() = rows;
  if (first.columns.step > 0) {
    return {first.name, options.dtype, shape,
            [parts, shape, &options](const ByteSink& sink) { produce_columns(parts, shape, options, sink); }};
  }
  return {first.name, options.dtype, shape, [parts, &options](const ByteSink& sink) {
            for (const auto* p : parts) produce(*p, options, sink);
          }};
}

void write_file(const std::string& path, std::string_view content) {
  auto file = files().create(path);
  file->write(as_bytes(content));
  file->sync();
  file->close();
}

// transformers 5 refuses whole numbers where it wants floating ones.
void write_as_floats(Json& config) {
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping", "clip_qkv", "softmax_scale",
                          "router_aux_loss_coef", "initializer_range"})
    if (config.contains(key) && config[key].is_number_integer()) config[key] = config[key].get<double>();
}

// What transformers 4 and 5 both read.
void spell_for_every_version(Json& config, core::DType dtype) {
  for (const char* key : {"torch_dtype", "dtype"})
    config[key] = dtype == core::DType::bf16 ? "bfloat16" : dtype == core::DType::f16 ? "float16" : "float32";
  write_as_floats(config);
  if (config.contains("attn_config")) write_as_floats(config["attn_config"]);
}

}  // namespace

std::vector<HfParameter> hf_pieces(const core::Parameter& parameter, const std::string& name,
                                   bool transposed) {
  if (const auto columns = parse_columns(name))
    return {{.parameter = parameter, .name = name.substr(0, name.find('[')), .columns = *columns}};
  const auto number = name.find("{}");
  if (number == name.npos) return {{parameter, name, transposed}};
  std::vector<HfParameter> out;
  const auto n = core::whole_size(*parameter.array, 0);
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back({parameter, std::string(name).replace(number, 2, std::to_string(i)), transposed, i, n});
  return out;
}

std::span<const float> hf_part(const HfParameter& p, std::span<const float> whole) {
  const auto n = whole.size() / static_cast<std::size_t>(p.pieces);
  return whole.subspan(static_cast<std::size_t>(p.piece) * n, n);
}

std::vector<std::int64_t> hf_shape(const HfParameter& p) {
  const auto& r = p.parameter;
  auto sizes = core::whole_sizes(*r.array);
  if (p.columns.step > 0) return shape_of_columns(sizes, p.columns);
  if (p.pieces > 1) sizes.front() = 1;
  const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  if (r.inputs.empty()) {
    const bool matrix = sizes.size() >= 2 && r.role != core::Role::bias && r.role != core::Role::norm;
    return matrix ? sizes : std::vector<std::int64_t>{all};
  }
  std::int64_t in = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (std::find(r.inputs.begin(), r.inputs.end(), r.axes[i]) != r.inputs.end()) in *= sizes[i];
  }
  if (p.transposed) return {in, all / in};
  return {all / in, in};
}

void load_hugging_face(const std::string& directory, std::span<const HfParameter> parameters) {
  load_each(directory, parameters, std::nullopt,
            [](const StoredTensors& model, const HfParameter& p, const Part& part,
               const std::string& stored) { load_one(model, p, part, stored); });
}

void load_hugging_face(const std::string& directory, std::span<const HfParameter> parameters,
                       const std::function<void(const HfParameter&, core::Array)>& take,
                       std::optional<std::int64_t> stored_vocab) {
  core::Array whole;
  load_each(
      directory, parameters, stored_vocab,
      [&](const StoredTensors& model, const HfParameter& p, const Part& part, const std::string& stored) {
        const auto& names = p.parameter.axes;
        const auto sizes = core::whole_sizes(*p.parameter.array);
        const core::DeviceScope on_host({});
        if (p.piece == 0) whole = core::uninitialized({names, sizes});
        HfParameter into = p;
        into.parameter.array = &whole;
        load_one(model, into, part, stored);
        if (p.piece + 1 == p.pieces) take(p, std::exchange(whole, {}));
      });
}

std::vector<TensorSource> tensor_sources(std::span<const HfParameter> parameters,
                                         const HfSaveOptions& options) {
  std::map<std::string_view, std::vector<const HfParameter*>> of_name;
  for (const auto& p : parameters) of_name[p.name].push_back(&p);
  const auto parts = parts_of(parameters);
  std::vector<TensorSource> out;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parts[i].first == 0) out.push_back(source_of(of_name[parameters[i].name], parts[i].total, options));
  return out;
}

void save_hugging_face(const std::string& directory, std::span<const HfParameter> parameters,
                       const Json& config, const HfSaveOptions& options) {
  StagedDirectory staged(directory);
  ShardOptions shards{.max_shard_bytes = options.max_shard_bytes, .metadata = {{"format", "pt"}}};
  write_sharded(staged.path(), "model", tensor_sources(parameters, options), shards);
  auto described = config;
  spell_for_every_version(described, options.dtype);
  write_file(path_join(staged.path(), "config.json"), described.dump(2) + "\n");
  if (options.add_files) options.add_files(staged.path());
  staged.put_in_place();
}

}  // namespace bora::checkpoint

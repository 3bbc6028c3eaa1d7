// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/peft.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/checkpoint/staged_directory.h"
#include "bora/run/peft_config.h"

namespace bora::run {
namespace {

constexpr std::string_view kConfig = "adapter_config.json", kTensors = "adapter_model.safetensors";

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> parts;
  for (auto n : shape) parts.push_back(std::to_string(n));
  return "[" + join(parts) + "]";
}

Json read_config(const std::string& directory) {
  const auto path = path_join(directory, std::string(kConfig));
  return parse_json(read_text(path), path);
}

void require_tensors(const checkpoint::SafetensorsFile& file,
                     const std::vector<checkpoint::HfParameter>& parameters) {
  std::vector<std::string> problems;
  std::set<std::string_view> known;
  for (const auto& p : parameters) {
    known.insert(p.name);
    const auto* tensor = file.find(p.name);
    const auto shape = checkpoint::hf_shape(p);
    if (tensor == nullptr)
      problems.push_back(fmt::format("{} is missing", p.name));
    else if (tensor->shape != shape)
      problems.push_back(
          fmt::format("{} is {} but should be {}", p.name, sizes_text(tensor->shape), sizes_text(shape)));
  }
  for (const auto& tensor : file.tensors())
    if (!known.contains(tensor.name))
      problems.push_back(fmt::format("{} has no place in the adapter", tensor.name));
  if (problems.empty()) return;
  constexpr std::size_t kShown = 5;
  const auto more = problems.size() > kShown ? fmt::format("\nand {} more", problems.size() - kShown) : "";
  if (problems.size() > kShown) problems.resize(kShown);
  fail(ErrorKind::Corruption,
       "{}: {}{}\nhint: {} and the tensors must be of one adapter, made for this model", file.path(),
       join(problems, fmt::format("\n{}: ", file.path())), more, kConfig);
}

void refuse(const std::string& directory, const std::string& problem) {
  if (!problem.empty()) fail(ErrorKind::Unsupported, "{}: {}", directory, problem);
}

std::string problem_of_names(const std::vector<NamedMap>& maps) {
  std::map<std::string, std::string> paths;  // by their names
  for (const auto& map : maps) {
    if (!map.adapter) continue;
    const auto [other, is_new] = paths.emplace(map.hf, map.path);
    if (!is_new)
      return fmt::format("{} and {} are one linear map for PEFT, {}, and would have one adapter",
                         other->second, map.path, map.hf);
  }
  return "";
}

// PEFT turns these names of the type into parts of its experts' joined weights, in whatever layer they are.
std::string problem_of_dense_layers(const std::string& type, const std::vector<NamedMap>& maps) {
  if (type != "qwen3_moe") return "";
  for (const auto& map : maps)
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      if (map.adapter && ends_name(name, map.hf))
        return fmt::format(
            "PEFT takes gate_proj, up_proj and down_proj of a qwen3_moe for parts of its experts and would drop the "
            "adapter of {}; export the merged model, or leave these maps alone (lora.exclude_modules)",
            map.path);
  return "";
}

}  // namespace

std::string problem_for_peft(nn::LanguageModel& model) {
  const auto maps = named_maps(model);
  const auto problem = problem_of_names(maps);
  return problem.empty() ? problem_of_dense_layers(model.shape().type, maps) : problem;
}

std::vector<checkpoint::HfParameter> adapter_parameters(nn::LanguageModel& model) {
  std::map<std::string, core::Parameter> by_path;
  for (const auto& p : model.parameters()) by_path[p.path] = p;
  std::vector<checkpoint::HfParameter> out;
  for (const auto& map : named_maps(model)) {
    if (!map.adapter) continue;
    for (const auto& [ours, theirs] : {std::pair{"a", "A"}, std::pair{"b", "B"}})
      out.push_back({by_path.at(fmt::format("{}.lora.{}.weight", map.path, ours)),
                     fmt::format("base_model.model.{}.lora_{}.weight", map.hf, theirs)});
  }
  return out;
}

bool is_peft(const std::string& directory) { return exists(path_join(directory, std::string(kConfig))); }

std::string base_of_peft(const std::string& directory) {
  return json_get<std::string>(read_config(directory), "base_model_name_or_path",
                               path_join(directory, std::string(kConfig)), "");
}

void load_peft(nn::LanguageModel& model, const std::string& directory) {
  if (!is_peft(directory)) {
    fail(ErrorKind::NotFound, "{} holds no {}\nhint: give the directory of an adapter, as PEFT writes it",
         directory, kConfig);
  }
  const auto maps = named_maps(model);
  if (std::any_of(maps.begin(), maps.end(), [](const NamedMap& map) { return map.adapter.has_value(); })) {
    fail(ErrorKind::Unsupported, "{}: the model has adapters already\nhint: merge them first: bora export",
         directory);
  }
  const auto where = path_join(directory, std::string(kConfig));
  model.attach_adapters(adapters_of_peft(read_config(directory), maps, where), Key{});
  refuse(directory, problem_of_names(named_maps(model)));
  const auto path = path_join(directory, std::string(kTensors));
  const auto parameters = adapter_parameters(model);
  require_tensors(checkpoint::SafetensorsFile(path), parameters);
  checkpoint::load_hugging_face(path, parameters);
}

void save_peft(nn::LanguageModel& model, const std::string& directory, const std::string& base,
               core::DType dtype, const WholeValues& whole) {
  const auto parameters = adapter_parameters(model);
  if (parameters.empty()) {
    fail(ErrorKind::Unsupported,
         "{} cannot be written: the model has no adapters\nhint: bora export without "
         "--peft writes the model",
         directory);
  }
  refuse(directory, problem_for_peft(model));
  bool transposed = false;
  for (const auto& map : model.linear_maps())
    if (map.adapter) transposed = transposed || model.hf_name(map.path + ".weight").transposed;
  checkpoint::HfSaveOptions options{.dtype = dtype};
  if (whole) options.values = [&](const checkpoint::HfParameter& p) { return whole(p.parameter); };
  checkpoint::StagedDirectory staged(directory);
  checkpoint::write_safetensors(path_join(staged.path(), std::string(kTensors)),
                                checkpoint::tensor_sources(parameters, options), {{"format", "pt"}});
  write_atomically(path_join(staged.path(), std::string(kConfig)),
                   peft_config(named_maps(model), base, transposed).dump(2) + "\n");
  staged.put_in_place();
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/stored_tensors.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/mesh_transformer.h"
#include "bora/checkpoint/mxfp4.h"

namespace bora::checkpoint {
namespace {

bool is_pickle(std::string_view name) {
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  return (name.starts_with("pytorch_model") && ends(".bin")) || ends(".pt") || ends(".pth") || ends(".ckpt");
}

[[noreturn]] void refuse_pickle(const std::string& path) {
  fail(
      ErrorKind::Unsupported,
      "{} is a pickle file, which can run any program when it is read; Bora reads safetensors\nhint: where you "
      "trust it, convert it with transformers: AutoModelForCausalLM.from_pretrained(directory)"
      ".save_pretrained(new_directory)",
      path);
}

bool holds_safetensors(const std::string& directory) {
  return exists(path_join(directory, "model.safetensors")) ||
         exists(path_join(directory, "model.safetensors.index.json"));
}

void refuse_pickles(const std::string& path) {
  const auto info = files().info(path);
  if (info && !info->is_directory && is_pickle(base_name(path))) refuse_pickle(path);
  if (!info || !info->is_directory || holds_safetensors(path)) return;
  auto names = files().list(path);
  std::sort(names.begin(), names.end());
  const auto found = std::find_if(names.begin(), names.end(), is_pickle);
  if (found != names.end()) refuse_pickle(path_join(path, *found));
}

}  // namespace

std::vector<float> StoredTensors::floats(std::string_view name) const {
  std::size_t n = 1;
  for (auto size : find(name).value_or(StoredTensorInfo{}).shape) n *= static_cast<std::size_t>(size);
  std::vector<float> out(n);
  read_floats(name, out);
  return out;
}

std::unique_ptr<StoredTensors> open_stored_tensors(const std::string& path) {
  if (const auto mesh = mesh_checkpoint(path)) return std::make_unique<MeshTransformerModel>(*mesh);
  refuse_pickles(path);
  return std::make_unique<Mxfp4Model>(path);
}

}  // namespace bora::checkpoint

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hf_config.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/mesh_transformer.h"

namespace bora::checkpoint {
namespace {

// Of a Gemma 3 that reads images too, the model of text; where its part is silent, what transformers takes.
Json text_model(const Json& whole) {
  Json out = {{"vocab_size", 262208},      {"hidden_size", 2304},
              {"intermediate_size", 9216}, {"num_hidden_layers", 26},
              {"num_attention_heads", 8},  {"num_key_value_heads", 4},
              {"head_dim", 256},           {"max_position_embeddings", 131072},
              {"rms_norm_eps", 1e-6},      {"query_pre_attn_scalar", 256},
              {"sliding_window", 4096}};
  out.update(whole.at("text_config"));
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (whole.contains(key)) out[key] = whole[key];
  // transformers unties by the outer one; the inner one is checked with the rest.
  if (whole.value("tie_word_embeddings", Json()) == false) out["tie_word_embeddings"] = false;
  out["model_type"] = "gemma3_text";
  return out;
}

// A run, or a checkpoint of one. (By names: what reads checkpoints needs the tensor library.)
bool is_of_a_run(const std::string& directory) {
  if (const auto info = files().info(directory); !info || !info->is_directory) return false;
  const auto names = files().list(directory);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "state.json" || name.starts_with("step-");
  });
}

}  // namespace

Json read_hf_config(const std::string& directory) {
  auto path = path_join(directory, "config.json");
  if (!exists(path) && mesh_checkpoint(directory)) return mesh_config(directory);
  if (!exists(directory))
    fail(ErrorKind::NotFound,
         "{} does not exist\nhint: give the directory of a model, with its config.json and model.safetensors",
         directory);
  if (!exists(path) && is_of_a_run(directory)) {
    fail(
        ErrorKind::NotFound,
        "{0} has no config.json: it is a run of Bora's, no Hugging Face model\nhint: bora export {0} DIRECTORY makes "
        "one of it; a run begins with its weights by trainer.initialize_from: {0}",
        directory);
  }
  if (!exists(path)) {
    fail(ErrorKind::NotFound,
         "{} has no config.json\nhint: a model directory holds config.json and model.safetensors", directory);
  }
  auto json = parse_json(read_text(path), path);
  const bool has_parts = json.is_object() && json.value("model_type", Json()) == "gemma3" &&
                         json.contains("text_config") && json["text_config"].is_object();
  return has_parts ? text_model(json) : json;
}

}  // namespace bora::checkpoint

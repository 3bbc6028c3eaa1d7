// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_place.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/base/text.h"
#include "bora/train/run_name.h"

namespace bora::run {

namespace {

std::optional<std::string> given_id(const train::TrainerConfig& trainer) {
  if (trainer.id) return trainer.id;
  if (auto id = env::run_id()) return id;
  return trainer.configured_id();
}

// Keys that came after runs were first named. At these values they are left out of the name, so that a run
// that began before is found.
constexpr std::array<std::string_view, 20> kLaterKeys = {"allow_private_addresses: false",
                                                         "chat_date: null",
                                                         "cuda_graphs: true",
                                                         "device: auto",
                                                         "fp8: false",
                                                         "freeze: []",
                                                         "hybrid_norm: false",
                                                         "input_embedding_norm: false",
                                                         "intermediate_dim: null",
                                                         "lora: null",
                                                         "max_download: 100GB",
                                                         "mlp_bias: false",
                                                         "peak_flops: auto",
                                                         "peft_save_path: null",
                                                         "scale_attn_weights: true",
                                                         "spec_augment: null",
                                                         "state_dtype: f32",
                                                         "train_split: null",
                                                         "use_layer_norm_weight: true",
                                                         "validation_split: null"};

// Other types had them before.
bool is_later_of(std::string_view line, std::string_view model) {
  if (line == "use_bias: true" || line == "tie_word_embeddings: true") return model == "gpt2";
  if (line == "attention_bias: false") return model != "llama" && model != "gpt_neox";
  if (line == "layer_types: null")
    return model == "mistral" || model == "qwen2" || model == "qwen3" || model == "gemma2" ||
           model == "smollm3";
  return false;
}

bool is_later(std::string_view line, std::string_view model) {
  if (is_later_of(line, model)) return true;
  return std::find(kLaterKeys.begin(), kLaterKeys.end(), line) != kLaterKeys.end();
}

std::string name_of(LmConfig part) {
  std::string out;
  part.cross_entropy_chunk = part.cross_entropy_chunk.value_or(1024);  // it was that where nobody said it
  for (const auto& line : split(config_identity(part), '\n'))
    if (!is_later(trim(line), part.model.config->type())) out += fmt::format("{}\n", line);
  out.pop_back();  // the line feed that the text had not
  return train::run_name(hash128(out));
}

// A run that an older program began keeps the name that it had then.
std::string made_up_id(const LmConfig& config) {
  auto name = name_of(training_part(config));
  const auto& checkpointer = config.trainer.checkpointer;
  if (exists(checkpointer.run_directory(name))) return name;
  auto older = name_of(older_training_part(config));
  return exists(checkpointer.run_directory(older)) ? older : name;
}

// A folder of its name, and .before-N behind it, must be possible on every file system.
void require_name(const std::string& id) {
  constexpr std::size_t kLongest = 200;
  constexpr const char* kHint = "it comes from trainer.id, the variable RUN_ID or the id of the W&B tracker";
  if (id.size() > kLongest)
    fail(ErrorKind::Config,
         "the run's name {}... has {} bytes; at most {} can be the name of a directory\nhint: {}",
         id.substr(0, 20), id.size(), kLongest, kHint);
  const auto at = std::find_if(id.begin(), id.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (at == id.end()) return;
  fail(ErrorKind::Config,
       "the run's name \"{}\" has a control character (0x{:02x}) at byte {}; letters, digits, . _ and - are "
       "fine\nhint: {}",
       std::string(id.begin(), at), static_cast<unsigned char>(*at), at - id.begin() + 1, kHint);
}

}  // namespace

RunPlace run_place(const LmConfig& config) {
  RunPlace place;
  auto id = given_id(config.trainer);
  if (id) require_name(*id);
  if (id && (id->empty() || id->find('/') != id->npos || id->starts_with('.'))) {
    fail(ErrorKind::Config,
         "the run's name \"{}\" cannot be the name of a directory\nhint: it comes from trainer.id, the "
         "variable RUN_ID or the id of the W&B tracker",
         *id);
  }
  place.id = id ? *id : made_up_id(config);
  const auto& checkpointer = config.trainer.checkpointer;
  place.directory = checkpointer.run_directory(place.id);
  const auto of_run = [&](const std::optional<std::string>& base) -> std::optional<std::string> {
    return base && checkpointer.append_run_id_to_base_path ? path_join(*base, place.id) : base;
  };
  place.exports = of_run(config.hf_save_path);
  place.adapters = of_run(config.peft_save_path);
  return place;
}

RunPlace place_or_problem(LoadedConfig& loaded) try {
  return run_place(loaded.config);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::Config) throw;
  std::string text = e.what();
  if (const auto hint = text.find("\nhint: "); hint != text.npos) text.replace(hint, 7, "; ");
  const bool is_told = std::any_of(loaded.problems.begin(), loaded.problems.end(),
                                   [](const ConfigProblem& p) { return p.key.starts_with("trainer.id"); });
  if (!is_told) loaded.problems.push_back({loaded.tree.where("trainer.id"), "trainer.id", text});
  loaded.is_incomplete = true;
  loaded.config.trainer.id = "unnamed";
  return run_place(loaded.config);
}

}  // namespace bora::run

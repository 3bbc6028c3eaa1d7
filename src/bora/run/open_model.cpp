// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/open_model.h"
#include "bora/report/run_summary.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/gguf_header.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/checkpoint/restore.h"
#include "bora/mesh/communicator.h"
#include "bora/models/model_types.h"
#include "bora/run/adapters.h"
#include "bora/run/generation_config.h"
#include "bora/run/gguf_import.h"
#include "bora/run/hub_name.h"
#include "bora/run/models.h"
#include "bora/run/peft.h"
#include "bora/run/start_weights.h"
#include "bora/tokenize/formats/tokenizer_files.h"
#include "bora/train/first_non_finite.h"

namespace bora::run {

std::string place_of_tokenizer(const std::string& directory) {
  for (auto place :
       {directory, path_join(directory, "tokenizer"), path_join(parent_path(directory), "tokenizer")})
    if (tokenize::holds_tokenizer(place)) return place;
  return "";
}

std::optional<Tokenizer> tokenizer_near(const std::string& directory) {
  const auto place = place_of_tokenizer(directory);
  return place.empty() ? std::nullopt : std::optional(Tokenizer::load(place));
}

namespace {

bool starts_with_bos(const std::optional<Tokenizer>& tokenizer) {
  if (!tokenizer || !tokenizer->bos_id()) return false;
  auto ids = tokenizer->encode("a", true).ids;
  return !ids.empty() && ids[0] == *tokenizer->bos_id();
}

std::unique_ptr<nn::LanguageModel> model_of_checkpoint(const std::string& checkpoint, std::string& base) {
  auto path = path_join(checkpoint, "state.json");
  auto state = parse_json(read_text(path), path);
  if (!state.contains("model"))
    fail(ErrorKind::Corruption, "{} does not say which model the checkpoint holds", path);
  const auto& described = state["model"];
  auto config = models::model_config_from_hf(described, path);
  auto model = model_to_fill(*config, models::vocab_size_from_hf(described, path));
  if (state.contains("lora")) attach_recorded(*model, state["lora"], path);
  base = base_of_adapters(json_get<std::string>(state, "lora_base", path, ""));
  auto arrays = checkpoint::checkpoint_arrays(model->parameters());
  checkpoint::restore_parameters(checkpoint, arrays);
  return model;
}

std::unique_ptr<nn::LanguageModel> model_or_another(const std::string& checkpoint, std::string& base) try {
  return model_of_checkpoint(checkpoint, base);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::Corruption) throw;
  throw Error(e.kind(), checkpoint::naming_another(checkpoint, e.what()));
}

}  // namespace

const Tokenizer& OpenedModel::require_tokenizer() const {
  if (!tokenizer) {
    fail(ErrorKind::NotFound,
         "{} has no tokenizer.json, neither beside the weights nor in a folder tokenizer\nhint: copy the "
         "model's tokenizer.json there",
         directory);
  }
  return *tokenizer;
}

namespace {

// The directory of an adapter without a model of its own.
OpenedModel open_adapter(const std::string& path) {
  const auto base = base_of_adapters(base_of_peft(path));
  if (base.empty() || !exists(base)) {
    fail(ErrorKind::NotFound,
         "{} is an adapter {}, which is not here\nhint: give that model, and --adapter {}", path,
         base.empty() ? "of a model that it does not name" : "of " + base, path);
  }
  return open_model(base, path);
}

}  // namespace

OpenedModel open_model(const std::string& name, const std::string& adapter) {
  if (name.empty())
    fail(ErrorKind::Usage, "no model is named: \"\"\nhint: give a run, runs/name; bora runs lists them");
  const auto path = local_path(name, store::HubFiles::Weights);
  if (!exists(path)) {
    if (const auto run = report::meant_run(name); !run.empty())
      fail(ErrorKind::NotFound, "{} does not exist; did you mean {}?", path, run);
    fail(ErrorKind::NotFound,
         "{} does not exist\nhint: give a run (runs/name), a checkpoint (runs/name/step-N), a Hugging Face "
         "directory, a GGUF file or a model of the hub (owner/name)",
         path);
  }
  OpenedModel out;
  std::string described = path;  // where generation_config.json is
  const bool gguf = checkpoint::is_gguf(path);
  if (gguf) {
    auto file = import_gguf(path);
    out.directory = path;
    out.model = std::move(file.model);
    out.tokenizer = std::move(file.tokenizer);
    out.generation = std::move(file.generation);
  } else if (exists(path_join(path, "config.json"))) {
    out.directory = path;
    out.model = load_model(path);
  } else if (is_peft(path) && adapter.empty()) {
    return open_adapter(path);
  } else {
    out.directory = checkpoint::find_checkpoint(path);
    out.model = model_or_another(out.directory, out.base);
    described = parent_path(out.directory);
  }
  if (!adapter.empty()) {
    load_peft(*out.model, adapter);
    out.base = path;
    out.adapter = adapter;
  }
  if (!gguf) out.tokenizer = tokenizer_near(out.directory);
  if (!gguf) out.generation = generation_of(described, out.tokenizer, out.model->shape().vocab);
  out.generation_file = path_join(described, "generation_config.json");
  out.prepend_bos = starts_with_bos(out.tokenizer);
  return out;
}

void naming_bad_weights(const OpenedModel& opened, const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NonFinite) throw;
    const auto alone = mesh::make_self_communicator();
    const auto bad = train::first_non_finite(opened.model->parameters(), *alone);
    if (!bad) throw;
    throw Error(e.kind(), fmt::format("{}: the first tensor that is not finite is the parameter {}: {}",
                                      opened.directory, *bad, e.what()));
  }
}

}  // namespace bora::run

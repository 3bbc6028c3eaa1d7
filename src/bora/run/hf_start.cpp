// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hf_start.h"

#include <fmt/core.h>

#include "bora/base/config_changes.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/checkpoint/gguf_header.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/run/hub_name.h"
#include "bora/run/levanter_files.h"

namespace bora::run {
namespace {

std::string differences(const nn::ModelShape& ours, const nn::ModelShape& theirs) {
  std::string out;
  const auto compare = [&](std::string_view what, const auto& a, const auto& b) {
    if (a != b) out += fmt::format("\n  {}: {} in the model block, {} in config.json", what, a, b);
  };
  compare("type", ours.type, theirs.type);
  compare("layers", ours.layers, theirs.layers);
  compare("hidden size", ours.hidden, theirs.hidden);
  compare("heads", ours.heads, theirs.heads);
  compare("key-value heads", ours.kv_heads, theirs.kv_heads);
  compare("head size", ours.head_dim, theirs.head_dim);
  compare("MLP size", ours.mlp, theirs.mlp);
  compare("tied head", ours.tied_head, theirs.tied_head);
  compare("mel bins", ours.mel_bins, theirs.mel_bins);
  compare("frames of sound", ours.frames, theirs.frames);
  // Positions that are learned are parameters; others can be fewer, but nothing was trained beyond.
  if (ours.learned_positions || ours.seq_len > theirs.seq_len)
    compare("seq_len", ours.seq_len, theirs.seq_len);
  return out;
}

// Without the key in front, which has a place of its own.
std::string in_one_line(std::string text) {
  constexpr std::string_view kKey = "initialize_from_hf: ";
  if (text.starts_with(kKey)) text.erase(0, kKey.size());
  for (const auto& [mark, words] :
       {std::pair(":\n  ", ": "), std::pair("\nhint: ", "; "), std::pair("\n  ", ", ")})
    for (auto at = text.find(mark); at != text.npos; at = text.find(mark))
      text.replace(at, std::string_view(mark).size(), words);
  return text;
}

// `from` becomes the folder of a model of the hub. What is wrong with it, or nothing.
std::string find_model(std::string& from) {
  try {
    from = local_path(from, store::HubFiles::Model);
  } catch (const Error& e) {
    const std::string text = e.what();
    const auto hint = text.find("\nhint: ");
    return hint == text.npos ? text : text.substr(0, hint) + "; " + text.substr(hint + 7);
  }
  if (exists(path_join(from, "config.json"))) return "";
  if (checkpoint::is_gguf(from))
    return fmt::format(
        "{} is a GGUF file; make a run of it, {} import {} runs/from-gguf, and set "
        "trainer.initialize_from: runs/from-gguf instead",
        from, program_word(), shell_word(from));
  if (exists(path_join(from, "hf/config.json")))
    return fmt::format(
        "{0} is a run of Bora's, and its export is {0}/hf; give that, or trainer.initialize_from: {0}", from);
  if (exists(path_join(from, "state.json")) || exists(path_join(from, "run.json")))
    return fmt::format(
        "{0} is a run of Bora's, no Hugging Face model; trainer.initialize_from: {0} takes its weights",
        from);
  return from + (exists(from)
                     ? " has no config.json: it is no Hugging Face model; give a directory that has one"
                     : " does not exist; give a Hugging Face directory, or a name on the hub, owner/name");
}

// Keys of the block that say something else than the model that counts.
std::vector<std::string> without_effect(const LoadedConfig& loaded, LmConfig given) {
  LmConfig taken = loaded.config;
  std::vector<std::string> out;
  for (const auto& [key, ours, theirs] : config_changes(given, taken))
    if (key.starts_with("model.") && loaded.tree.has(key))
      out.push_back(
          fmt::format("{} ({}): {} has no effect; with use_hf_model_config the model is that of "
                      "{}/config.json, which has {}",
                      key, loaded.tree.where(key), ours, given.initialize_from_hf, theirs));
  if (!out.empty()) out.back() += "; leave use_hf_model_config out for a model block that counts";
  return out;
}

}  // namespace

std::shared_ptr<models::ModelConfig> config_to_start_from(const std::string& directory,
                                                          const std::shared_ptr<models::ModelConfig>& given,
                                                          bool use_theirs) {
  const auto path = path_join(directory, "config.json");
  std::shared_ptr<models::ModelConfig> theirs =
      models::model_config_from_hf(checkpoint::read_hf_config(directory), path);
  if (use_theirs) {
    theirs->set_remat(given->remat());
    return theirs;
  }
  const auto different = differences(given->shape(0), theirs->shape(0));
  if (!different.empty()) {
    fail(ErrorKind::Config,
         "initialize_from_hf: the model block is not the model of {}:{}\nhint: use_hf_model_config: true "
         "takes all of "
         "it from there",
         path, different);
  }
  return given;
}

LoadedConfig load_run(const std::vector<std::string>& paths,
                      const std::vector<std::pair<std::string, std::string>>& overrides,
                      MissingModel missing) {
  auto loaded = load_config(paths, overrides,
                            missing == MissingModel::Recorded ? WrongConfig::Recorded : WrongConfig::Refused);
  auto& config = loaded.config;
  auto& from = config.initialize_from_hf;
  if (from.empty()) return loaded;
  if (auto problem = find_model(from); !problem.empty()) {
    loaded.problems.push_back(
        {loaded.tree.where("initialize_from_hf"), "initialize_from_hf", std::move(problem)});
    if (missing == MissingModel::Refused)
      throw Error(ErrorKind::Config, format_problems(loaded.first_file, loaded.problems));
    loaded.is_incomplete = loaded.is_incomplete || config.use_hf_model_config;
    return loaded;
  }
  if (loaded.is_incomplete) return loaded;
  const bool theirs = config.use_hf_model_config;
  const auto given = config;
  try {
    config.model.config = config_to_start_from(from, config.model.config, theirs);
  } catch (const Error& e) {
    if (missing == MissingModel::Refused || e.kind() != ErrorKind::Config) throw;
    loaded.problems.push_back(
        {loaded.tree.where("initialize_from_hf"), "initialize_from_hf", in_one_line(e.what())});
    loaded.is_incomplete = true;
    return loaded;
  }
  if (theirs)
    for (auto& text : without_effect(loaded, given)) loaded.warnings.push_back(std::move(text));
  if (!theirs || !config.lora || !loaded.tree.has("max_train_length")) return loaded;
  std::vector<ConfigProblem> problems;
  shorten_sequences(loaded.tree, config, problems);
  if (!problems.empty()) throw Error(ErrorKind::Config, format_problems(loaded.first_file, problems));
  config.use_hf_model_config = false;  // the record of the run names the shorter sequences
  return loaded;
}

}  // namespace bora::run

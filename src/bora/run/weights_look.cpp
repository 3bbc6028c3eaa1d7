// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/weights_look.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/restore.h"
#include "bora/models/model_types.h"
#include "bora/run/shape_model.h"
#include "bora/run/start_weights.h"
#include "bora/store/hub.h"

namespace bora::run {
namespace {

const char* key_of_start(const LmConfig& config) {
  return config.initialize_from_checkpoint_path ? "initialize_from_checkpoint_path"
                                                : "trainer.initialize_from";
}

std::string run_of(const std::string& from) {
  return exists(path_join(from, "state.json")) ? parent_path(from) : from;
}

bool is_weights(const std::string& name) { return name.find(".safetensors") != name.npos; }

void look_at_checkpoint(const LmConfig& config, const std::string& from, ProblemList& problems) {
  const auto* key = key_of_start(config);
  problems.of(key, [&] {
    if (!exists(from))
      return problems.add(key, from + " does not exist; give a run's folder, or step-N in it");
    if (exists(path_join(from, "config.json")))
      return problems.add(
          key,
          fmt::format(
              "{0} is a Hugging Face model, no run of Bora's; initialize_from_hf: {0}, and leave out {1}",
              from, key));
    (void)checkpoint::find_checkpoint(from);
  });
  if (!config.initialize_from_hf.empty())
    problems.add(
        key, fmt::format(
                 "is {} beside initialize_from_hf = {}, whose weights it would take the place of; leave out "
                 "one of them",
                 from, config.initialize_from_hf));
}

// Models of two types may have the same arrays, and compute something else with them.
std::string other_type(const Json& here, const Json& there) {
  const auto type = [](const Json& model) {
    return model.is_object() ? model.value("model_type", std::string()) : std::string();
  };
  if (type(here).empty() || type(there).empty() || type(here) == type(there)) return "";
  return fmt::format("it holds a {} and the model here is a {}", type(there), type(here));
}

// Where the sizes are that the model block lacks.
std::string block_of(const std::string& from) {
  const auto file = path_join(run_of(from), "config.yaml");
  if (exists(file))
    return fmt::format("give the model block that it was saved with ({} has it), or another run", file);
  return fmt::format("give the sizes of that model ({} inspect {} tells them), or another run",
                     program_word(), shell_word(from));
}

// What decides of which parameters an optimizer keeps what.
const ConfigChange* change_of_state(const std::vector<ConfigChange>& changes) {
  for (const std::string_view prefix : {"optimizer.type", "trainer.freeze", "lora", "optimizer."})
    for (const auto& change : changes)
      if (change.key.starts_with(prefix)) return &change;
  return nullptr;
}

}  // namespace

void look_at_start(const LmConfig& config, bool resumes, ProblemList& problems) {
  if (const auto& from = config.checkpoint_to_start_from(); from && !resumes)
    look_at_checkpoint(config, *from, problems);
  const auto& hf = config.initialize_from_hf;
  if (hf.empty() || !exists(path_join(hf, "config.json"))) return;  // load_run has told it
  if (store::is_hub_snapshot(hf)) return;  // the hub lists its weights, which come when all else is well
  problems.of("initialize_from_hf", [&] {
    const auto names = files().list(hf);
    if (std::none_of(names.begin(), names.end(), is_weights))
      problems.add(
          "initialize_from_hf",
          fmt::format("{} has a config.json but no *.safetensors with weights; copy or fetch them too", hf));
  });
}

void look_at_fit(const LmConfig& config, std::optional<std::int64_t> vocab, const std::string& directory,
                 const ResumePoint& at, ProblemList& problems) {
  const auto& checkpoint = at.checkpoint.path;
  constexpr const char* kOthers = "or start another run (trainer.id) or over (--fresh)";
  std::string wrong;
  problems.of("model", [&] {
    const auto there = model_of_checkpoint(checkpoint),
               here = described(*config.model.config, vocab.value_or(1));
    wrong = other_type(here, there);
    if (!wrong.empty())
      return problems.add("model.type",
                          fmt::format("{}: {}, and its arrays would compute something else; put the type "
                                      "back, {}",
                                      checkpoint, wrong, kOthers));
    wrong = other_adapters(config, vocab, checkpoint);
    if (!wrong.empty())
      return problems.add("lora", fmt::format("other adapters: {}; put the keys back, {}", wrong, kOthers));
    wrong = misfit(config, vocab, checkpoint, /*begins=*/false);
    if (!wrong.empty())
      problems.add("model", fmt::format("{}: {}; put the model back, {}", directory, wrong, kOthers));
  });
  if (!wrong.empty()) return;
  problems.of("optimizer", [&] {
    wrong = misfit_of_state(config, vocab, checkpoint);
    wrong = wrong.substr(0, wrong.find("; did you mean"));  // that is of another optimizer
    if (wrong.empty()) return;
    const auto* change = change_of_state(at.changed);
    if (change == nullptr)
      return problems.add("optimizer",
                          fmt::format("{}: {}; put the optimizer back, {}", directory, wrong, kOthers));
    problems.add(
        change->key,
        fmt::format("was {} when {} was last started and is {} now, and the checkpoint's state does not fit "
                    "it: {}; put it back, {}",
                    change->before, directory, change->after, wrong, kOthers));
  });
}

void look_at_shapes(const LmConfig& config, std::optional<std::int64_t> vocab, ProblemList& problems,
                    std::vector<std::string>& warnings) {
  const auto warn = [&](const char* key, const std::string& from, const Json& there) {
    const auto others = other_function(described(*config.model.config, vocab.value_or(1)), there);
    if (!others.empty())
      warnings.push_back(fmt::format("model: not quite that of {} ({}): {}", from, key, join(others)));
  };
  const auto& hf = config.initialize_from_hf;
  if (!hf.empty() && exists(path_join(hf, "config.json")))
    problems.of("initialize_from_hf", [&] {
      const auto path = path_join(hf, "config.json");
      const auto theirs = models::model_config_from_hf(checkpoint::read_hf_config(hf), path);
      warn("initialize_from_hf", hf, described(*theirs, vocab.value_or(1)));
      if (auto problem = problem_of_new_ids(config, vocab.value_or(0))) problems.add(std::move(*problem));
    });
  const auto& from = config.checkpoint_to_start_from();
  if (!from || !exists(*from) || exists(path_join(*from, "config.json"))) return;  // told already
  const auto* key = key_of_start(config);
  problems.of(key, [&] {
    const auto there = checkpoint::find_checkpoint(*from);
    const auto described_there = model_of_checkpoint(there);
    auto wrong = other_type(described(*config.model.config, vocab.value_or(1)), described_there);
    if (wrong.empty()) wrong = misfit(config, vocab, there, /*begins=*/true);
    if (!wrong.empty())
      return problems.add(key, fmt::format("is {}, of another model: {}; {}", *from, wrong, block_of(*from)));
    warn(key, *from, described_there);
  });
}

std::optional<ConfigProblem> problem_of_new_ids(const LmConfig& config, std::int64_t vocab) {
  const auto& from = config.initialize_from_hf;
  if (!config.lora || from.empty()) return std::nullopt;
  const auto rows =
      models::vocab_size_from_hf(checkpoint::read_hf_config(from), path_join(from, "config.json"));
  if (vocab <= rows) return std::nullopt;
  return ConfigProblem{
      "", "lora",
      fmt::format(
          "the tokenizer (data.tokenizer) has {} ids and {} embeddings of {}: adapters leave these as they "
          "are, and the rows of new ids would all stay the mean of the others; train them first, in a run "
          "without lora and with hf_export: true (trainer.freeze may keep the layers), and start from its "
          "export (initialize_from_hf: RUN/hf), or take a tokenizer of at most {} ids",
          with_commas(vocab), from, with_commas(rows), with_commas(rows))};
}

}  // namespace bora::run

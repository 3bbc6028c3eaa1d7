// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/cli/commands.h"
#include "bora/cli/eval_arguments.h"
#include "bora/cli/open_device.h"
#include "bora/mesh/launch.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/hf_start.h"
#include "bora/run/hub_name.h"
#include "bora/run/join_workers.h"
#include "bora/run/open_model.h"
#include "bora/run/run_device.h"
#include "bora/run/start_tokenizer.h"
#include "bora/run/text_data.h"
#include "bora/run/train_run.h"
#include "bora/train/evaluate.h"

namespace bora::cli {
namespace {

// What an evaluation is of: the same directory with an adapter or with rounded weights is another model.
std::string describe_model(const run::OpenedModel& opened, const EvalArguments& given) {
  std::string out = opened.directory;
  if (given.model.empty()) out += ", of the configuration's run";
  if (!opened.adapter.empty()) out += " + adapter " + opened.adapter;
  if (given.weights != core::WeightType::f32) out += fmt::format(", weights {}", core::name(given.weights));
  return out;
}

// All numbers as they are, beside the table's.
void print_metrics(const run::OpenedModel& opened, core::WeightType weights,
                   const std::vector<track::Metric>& metrics) {
  Json line = {{"event", "evaluation"}, {"model", opened.directory}, {"weights", core::name(weights)}};
  if (!opened.adapter.empty()) line["adapter"] = opened.adapter;
  for (const auto& metric : metrics) line["metrics"][metric.name] = metric.value;
  fmt::print("{}\n", line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// A configuration's tokenizer, for a model without one, before any text is read.
void require_vocabulary(const run::OpenedModel& opened, const std::optional<Tokenizer>& tokenizer,
                        const std::string& name) {
  const auto ids = tokenizer ? tokenizer->vocab_size() : 0, vocab = opened.model->shape().vocab;
  if (ids <= vocab) return;
  fail(
      ErrorKind::Config,
      "data.tokenizer: {} has {} ids, and {} has embeddings of {}\nhint: the model's own tokenizer, beside its weights "
      "or as data.tokenizer",
      name, with_commas(ids), opened.directory, with_commas(vocab));
}

// Sequences are as long as the model's own.
void show_length(const run::OpenedModel& opened, const run::LoadedConfig& loaded, track::Console& console) {
  const auto ours = loaded.config.model.config->seq_len(), theirs = opened.model->shape().seq_len;
  if (loaded.tree.has("model.seq_len") && ours != theirs)
    console.fact("sequences",
                 fmt::format("of {} tokens, the model's; the configuration's model.seq_len is {}",
                             with_commas(theirs), with_commas(ours)));
}

struct Wanted {
  EvalArguments given;
  run::LoadedConfig loaded;
  run::RunPlace place;

  std::string model() const { return given.model.empty() ? place.directory : given.model; }
};

Wanted what_is_wanted(const Arguments& arguments) {
  Wanted out{.given = parse_eval_arguments(arguments), .loaded = {}, .place = {}};
  out.loaded = run::load_run(out.given.paths, out.given.overrides);
  run::require_held_out(out.loaded);
  out.place = run::run_place(out.loaded.config);
  if (const auto model = out.model(); !exists(model) && !run::is_on_hub(model))
    (void)run::open_model(model, out.given.adapter);  // which says what is wrong
  return out;
}

int evaluate(Wanted wanted) {
  const auto& given = wanted.given;
  auto& loaded = wanted.loaded;
  const auto& place = wanted.place;
  const auto launch = mesh::launch_environment();
  const run::RunDevice device("trainer.device", loaded.config.trainer.device, launch);
  require_readable(given.weights, core::default_device(), "eval", loaded.config.trainer.device);
  auto workers = run::join_workers(launch, loaded.config.trainer);
  run::agree_on_hub(loaded.config.data, *workers);
  auto opened = run::open_model(wanted.model(), given.adapter);
  nn::round_weights(*opened.model, given.weights);
  track::Console console(track::detect_console(launch.rank != 0, given.json));
  console.fact("model", describe_model(opened, given));
  workers->deadline(run::kPatience);
  if (const auto other = run::take_tokenizer_of(opened, place, loaded.config.data); !other.empty())
    console.fact("tokenizer", other);
  show_length(opened, loaded, console);
  const auto configured = opened.tokenizer ? std::nullopt : run::tokenizer_of(loaded.config.data, place);
  require_vocabulary(opened, configured, loaded.config.data.tokenizer_name());
  auto text = run::prepare_text(loaded.config, place, run::sequences_of(opened.model->shape()), console,
                                opened.tokenizer, run::text_team(*workers));
  if (given.max_batches > 0) loaded.config.trainer.max_eval_batches = given.max_batches;
  workers->barrier();
  workers->activity("evaluation");
  workers->deadline(loaded.config.trainer.worker_timeout);
  std::vector<track::Metric> metrics;
  run::naming_bad_weights(opened, [&] {
    metrics = run::evaluate_sources(*opened.model, text, loaded.config, console, workers.get());
  });
  if (given.json && launch.rank == 0) print_metrics(opened, given.weights, metrics);
  workers->barrier();
  return 0;
}

}  // namespace

// What is wrong for all workers alike one of them says.
int run_eval(const Arguments& arguments) {
  std::optional<Wanted> wanted;
  try {
    wanted = what_is_wanted(arguments);
  } catch (const Error& e) {
    if (mesh::is_to_speak()) throw;
    return exit_code(e.kind());
  }
  return evaluate(std::move(*wanted));
}

}  // namespace bora::cli

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/dry_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/run/data_end.h"
#include "bora/run/machine.h"
#include "bora/run/memory_estimate.h"
#include "bora/run/run_device.h"
#include "bora/run/shape_model.h"
#include "bora/run/sharding_plan.h"
#include "bora/run/time_estimate.h"
#include "bora/train/config.h"

namespace bora::run {
namespace {

std::string count_of(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", with_commas(n), what, n == 1 ? "" : "s");
}

// "data" is what a set without a name is called.
std::string describe_source(const SourceFound& source) {
  std::vector<std::string> parts;
  if (source.files > 0) parts.push_back(count_of(source.files, "file") + ", " + human_bytes(source.bytes));
  std::vector<std::string> elsewhere;
  if (source.remote > source.patterns) elsewhere.push_back(count_of(source.remote - source.patterns, "file"));
  if (source.patterns > 0) elsewhere.push_back(count_of(source.patterns, "pattern") + " of files");
  if (!elsewhere.empty())
    parts.push_back(
        fmt::format("{} to be fetched{}", join(elsewhere, " and "),
                    source.remote_bytes > 0 ? ", about " + human_bytes(source.remote_bytes) : ""));
  parts.emplace_back(source.cached ? "tokens in the cache" : "tokens to be made");
  return (source.name == "data" ? "" : source.name + " ") + join(parts, ", ");
}

// Lines that follow one have its name where programs read them.
void more(track::Console& console, std::string_view name, const std::string& text) {
  console.fact(console.options().mode == track::ConsoleMode::Json ? name : "", text);
}

void show_data(const Preflight& found, track::Console& console) {
  for (const auto& source : found.sources) {
    if (&source == &found.sources.front())
      console.fact("data", describe_source(source));
    else
      more(console, "data", describe_source(source));
  }
  console.fact("tokenizer", found.tokenizer.words);
}

void show_memory(const SizeEstimate& sizes, core::Device device, track::Console& console) {
  const auto bytes = [](double b) { return human_bytes(b); };
  const bool elsewhere = device != core::Device();
  const double here = elsewhere ? sizes.process_bytes + sizes.pinned_bytes : sizes.training();
  auto text =
      fmt::format("about {}, {} with the copy that checkpoints are written from · this machine has {}",
                  bytes(here), bytes(here + sizes.checkpoint_bytes), bytes(machine_memory()));
  if (elsewhere) {
    const auto room = device_room(device);
    console.fact("memory", fmt::format("about {} on {}{}", bytes(sizes.arrays()), core::name(device),
                                       room ? fmt::format(", which has {}, {} of it free", bytes(room->total),
                                                          bytes(room->free))
                                            : ""));
  }
  const auto arrays = fmt::format("parameters {} · gradients {} · optimizer {} · activations {}",
                                  bytes(sizes.parameter_bytes), bytes(sizes.gradient_bytes),
                                  bytes(sizes.optimizer_bytes), bytes(sizes.activation_bytes));
  if (elsewhere) {
    more(console, "memory",
         sizes.workspace_bytes > 0
             ? fmt::format("{} · workspaces of libraries {}", arrays, bytes(sizes.workspace_bytes))
             : arrays);
    if (sizes.beside_bytes > 0)
      more(console, "memory",
           fmt::format("beside them about {} for the device's context and the code of kernels, not measured",
                       bytes(sizes.beside_bytes)));
    if (sizes.pinned_bytes > 0)
      more(console, "memory",
           fmt::format("inputs of blocks in pinned memory of the host {}", bytes(sizes.pinned_bytes)));
    return more(console, "memory", text);
  }
  console.fact("memory", text);
  more(console, "memory", fmt::format("{} · process {}", arrays, bytes(sizes.process_bytes)));
}

void show_model(const LmConfig& config, const Preflight& found, track::Console& console) {
  const auto& sizes = found.sizes;
  const auto& tokenizer = found.tokenizer;
  const auto& t = config.trainer;
  auto schedule = t.batch_schedule();
  auto seq_len = config.model.config->seq_len();
  console.fact("model",
               fmt::format("{} · {} parameters{}", config.model.config->type(),
                           human_count(static_cast<double>(sizes.parameters.all)),
                           tokenizer.is_known ? ""
                                              : fmt::format(" · vocabulary of {} assumed: {}",
                                                            with_commas(tokenizer.vocab), tokenizer.words)));
  if (const auto& n = sizes.parameters; n.trained != n.all)
    console.fact("trained", fmt::format("{} of {} parameters; the others are frozen", with_commas(n.trained),
                                        with_commas(n.all)));
  if (const auto text = describe_decay(config, tokenizer.vocab); !text.empty()) console.fact("decay", text);
  console.fact("tokens",
               fmt::format("{} per step · {} in {} steps", with_commas(schedule.batch_size(0) * seq_len),
                           human_count(static_cast<double>(schedule.offset(t.num_train_steps) * seq_len)),
                           with_commas(t.num_train_steps)));
  show_memory(sizes, found.device, console);
}

void show_writes(const LmConfig& config, const RunPlace& place, double checkpoint_bytes,
                 track::Console& console) {
  console.fact("writes",
               fmt::format("{} · {} per checkpoint", place.directory, human_bytes(checkpoint_bytes)));
  more(console, "writes", fmt::format("{} · tokens of the data", config.data.cache_dir));
  if (config.hf_export) more(console, "writes", path_join(place.directory, "hf") + " · Hugging Face export");
  if (config.lora)
    more(console, "writes", path_join(place.directory, "adapter") + " · adapter files for PEFT");
  const auto when = fmt::format("every {} steps and at the end", with_commas(config.hf_save_steps));
  if (place.adapters) more(console, "writes", fmt::format("{} · adapter files {}", *place.adapters, when));
  if (place.exports)
    more(console, "writes", fmt::format("{} · a Hugging Face export {}", *place.exports, when));
}

// From the worker that holds least to the one that holds most, where they differ.
std::string least_to_most(const ShardingPlan& plan, double WorkerShare::*part) {
  double least = plan.shares[0].*part, most = least;
  for (const auto& share : plan.shares) {
    least = std::min(least, share.*part);
    most = std::max(most, share.*part);
  }
  return least == most ? human_bytes(most) : human_bytes(least) + " to " + human_bytes(most);
}

void show_workers(const ShardingPlan& plan, track::Console& console) {
  double most = 0;
  std::size_t cut = 0;
  for (const auto& share : plan.shares) most = std::max(most, share.total());
  for (const auto& p : plan.parameters) cut += p.whole() ? 0 : 1;
  const auto& m = plan.mesh;
  console.fact("workers", fmt::format("{} · {} of {} parameters cut over them · each holds up to {}",
                                      plan.workers, cut, plan.parameters.size(), human_bytes(most)));
  more(console, "workers", fmt::format("{} lane{} a step", plan.lanes, plan.lanes == 1 ? "" : "s"));
  if (m.data != plan.workers) more(console, "workers", m.text());
  more(
      console, "workers",
      fmt::format("parameters {} · gradients {} · optimizer {} · gathered {} · activations {}",
                  least_to_most(plan, &WorkerShare::parameters), least_to_most(plan, &WorkerShare::gradients),
                  least_to_most(plan, &WorkerShare::optimizer), least_to_most(plan, &WorkerShare::gathered),
                  least_to_most(plan, &WorkerShare::activations)));
  if (const double pinned = plan.shares[0].pinned; pinned > 0)
    more(console, "workers",
         fmt::format(
             "inputs of blocks in pinned memory of the host {}, and {} where all workers are on one host",
             human_bytes(pinned), human_bytes(pinned * plan.workers)));
  more(console, "workers",
       fmt::format("a worker receives {} a step: parameters {} · gradients {}",
                   human_bytes(plan.gathered_bytes + plan.gradient_bytes), human_bytes(plan.gathered_bytes),
                   human_bytes(plan.gradient_bytes)));
  if (m.expert > 1)
    more(console, "workers", fmt::format("over expert about {}", human_bytes(plan.expert_bytes)));
  if (m.workers_per_lane() > 1) {
    more(console, "workers",
         fmt::format("over model {} · over context {}", human_bytes(plan.model_bytes),
                     human_bytes(plan.context_bytes)));
  }
}

// All of it as numbers.
Json preflight_json(const LoadedConfig& loaded, const Preflight& found,
                    const std::optional<TimeEstimate>& time) {
  const auto& t = loaded.config.trainer;
  Json out = {{"event", "preflight"},       {"ok", found.problems.empty()}, {"problems", Json::array()},
              {"warnings", found.warnings}, {"data", Json::array()},        {"disk", Json::array()}};
  for (const auto& p : found.problems)
    out["problems"].push_back({{"where", p.where}, {"key", p.key}, {"message", p.message}});
  for (const auto& s : found.sources)
    out["data"].push_back({{"name", s.name},
                           {"files", s.files},
                           {"bytes", s.bytes},
                           {"files_to_fetch", s.remote - s.patterns},
                           {"patterns_to_fetch", s.patterns},
                           {"bytes_to_fetch", s.remote_bytes},
                           {"cached", s.cached}});
  for (const auto& d : found.disk)
    out["disk"].push_back({{"path", d.path}, {"bytes", d.bytes}, {"free", d.free}});
  out["steps"] = found.steps_of_data.value_or(t.num_train_steps);
  if (found.resume) out["goes_on_at"] = found.resume->step;
  if (time) out["seconds"] = time->seconds;
  if (!found.can_be_shown) return out;
  const auto& sizes = found.sizes;
  out["parameters"] = sizes.parameters.all;
  out["tokens_per_step"] = t.batch_schedule().batch_size(0) * loaded.config.model.config->seq_len();
  out["memory"] = {{"parameters", sizes.parameter_bytes}, {"gradients", sizes.gradient_bytes},
                   {"optimizer", sizes.optimizer_bytes},  {"activations", sizes.activation_bytes},
                   {"process", sizes.process_bytes},      {"checkpoint", sizes.checkpoint_bytes},
                   {"pinned", sizes.pinned_bytes},        {"workspaces", sizes.workspace_bytes},
                   {"beside", sizes.beside_bytes},        {"machine", machine_memory()}};
  return out;
}

void print_numbers(const LoadedConfig& loaded, const RunFlags& flags, const Preflight& found,
                   const std::optional<TimeEstimate>& time = std::nullopt) {
  if (!flags.json || flags.quiet) return;
  const auto json = preflight_json(loaded, found, time);
  write_output(Output::Standard, redact(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n");
}

}  // namespace

ShardingPlan plan_of(const LmConfig& config, std::int64_t workers, const RecordedLanes& recorded) {
  const auto& t = config.trainer;
  const auto batch = t.batch_schedule().batch_size(0);
  const auto vocab = vocabulary_of(config.data);
  const auto seq_len = config.model.config->seq_len();
  auto mesh = train::resolve_mesh(t.mesh, t.fsdp_axis, static_cast<int>(workers), vocab);
  const auto lanes = choose_lanes(t, seq_len, mesh.shape, recorded);
  require_lanes(lanes, t, mesh.shape, fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"));
  return plan_sharding(config, {.vocab = vocab,
                                .batch = batch,
                                .lanes = lanes.number,
                                .mesh = std::move(mesh),
                                .seq_len = seq_len,
                                .compute = t.mp.compute,
                                .on_device = t.device != "cpu" && t.device != "auto"});
}

void show_ineffective_keys(const LoadedConfig& loaded, track::Console& console) {
  auto config = loaded.config;
  for (const auto& k : ignored_keys(loaded.tree, config))
    console.fact("ignored", fmt::format("{} ({}): {}", k.key, k.where, k.message));
}

void show_changes(const Preflight& found, track::Console& console) {
  if (!found.resume) return;
  for (const auto& change : found.resume->changed) console.fact("changed", shown(change));
}

void show_warnings(const Preflight& found, track::Console& console) {
  for (const auto& text : found.warnings) console.fact("warning", text);
}

int print_dry_run(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags,
                  const Preflight& found, track::Console& console) {
  auto config = loaded.config;
  if (found.steps_of_data) config.trainer.num_train_steps = *found.steps_of_data;
  if (loaded.is_incomplete) {
    show_data(found, console);
    console.fact("sizes", "of model, memory and disk are told when what is wrong is mended");
  }
  if (!found.can_be_shown) {
    print_numbers(loaded, flags, found);
    require_ready(loaded, found);
  }
  const auto& word = config.trainer.device;
  if (const auto text = word == "auto" ? choice_text(word, found.device) : device_text(found.device);
      !text.empty())
    console.fact("device", text);
  show_data(found, console);
  if (found.steps_of_data)
    console.fact("steps", fewer_steps(*found.steps_of_data, loaded.config.trainer.num_train_steps));
  show_model(config, found, console);
  if (flags.world > 0 && found.has_plan) show_workers(plan_of(config, flags.world, found.lanes), console);
  for (const auto& need : found.disk)
    console.fact("disk", fmt::format("about {} of {} free at {} ({})", human_bytes(need.bytes),
                                     human_bytes(need.free), need.path, need.parts));
  show_writes(config, place, found.sizes.checkpoint_bytes, console);
  for (const auto& text : found.resume ? found.resume->damaged : std::vector<std::string>())
    console.fact("damaged", text + "; it is set aside");
  if (found.resume)
    console.fact("goes on",
                 fmt::format("at step {} of {}, from {}", with_commas(found.resume->step),
                             with_commas(config.trainer.num_train_steps), found.resume->checkpoint.path));
  show_changes(found, console);
  show_warnings(found, console);
  show_ineffective_keys(loaded, console);
  if (flags.print_config) {
    console.line(resolved_text(loaded.config));
  }
  if (!found.problems.empty()) print_numbers(loaded, flags, found);
  require_ready(loaded, found);
  const auto time = flags.world == 0 ? estimate_time(config, found) : std::nullopt;
  if (time) console.fact("time", shown(*time));
  print_numbers(loaded, flags, found, time);
  console.fact("ok", "nothing was started");
  return 0;
}

}  // namespace bora::run

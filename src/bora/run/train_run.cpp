// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/train_run.h"
#include "bora/run/hub_name.h"
#include "bora/run/no_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/output.h"
#include "bora/core/runtime.h"
#include "bora/mesh/launch.h"
#include "bora/run/dry_run.h"
#include "bora/run/earlier_run.h"
#include "bora/run/first_look.h"
#include "bora/run/hooks/checkpoints.h"
#include "bora/run/hooks/evaluation.h"
#include "bora/run/hooks/exports.h"
#include "bora/run/hooks/progress.h"
#include "bora/run/hooks/replicas.h"
#include "bora/run/hooks/timeline.h"
#include "bora/run/join_workers.h"
#include "bora/run/launch.h"
#include "bora/run/own_folders.h"
#include "bora/run/peft.h"
#include "bora/run/preflight.h"
#include "bora/run/run_device.h"
#include "bora/run/session.h"
#include "bora/run/start_tokenizer.h"
#include "bora/run/told_status.h"
#include "bora/run/weights_look.h"
#include "bora/train/signals.h"

namespace bora::run {

namespace {

void show_baseline(Session& session) {
  session.console().fact("baseline",
                         fmt::format("unigram entropy {:.2f} nats: a model that knows only word frequencies",
                                     baseline_entropy(session.text())));
}

void report_stop(Session& session, const Checkpoints& checkpoints) {
  session.tracker().finish();
  auto& console = session.console();
  const auto step = session.trainer().next_step();
  if (step == 0) return console.line("stopped before the first step; there is nothing to save");
  console.line(fmt::format("stopped: step {} done, checkpoint {} written ({:.2f} s)", step,
                           checkpoint::checkpoint_name(step), checkpoints.last_write_seconds()));
  if (session.config().trainer.stop_at_step != step)
    return console.line(fmt::format("run it again to go on from step {}", step));
  console.line(fmt::format("trainer.stop_at_step is {}; without it the run goes on from there", step));
  show_next_after_stop(session.place(), console);
}

// Returns its directory, if there is one.
std::string export_adapter_at_end(Session& session) {
  if (!session.config().lora) return "";
  if (const auto problem = problem_for_peft(*session.model()); !problem.empty()) {
    session.console().fact("adapter", "no files for PEFT: " + problem);
    return "";
  }
  auto directory = path_join(session.place().directory, "adapter");
  export_adapter(session, directory);
  return directory;
}

// All workers evaluate, export and draw samples together.
void finish(Session& session, const Progress& progress) {
  session.growing().wait_for_all();
  session.workers().deadline(kPatience);
  const auto& config = session.config();
  auto evaluation = evaluate(session);
  const auto why = why_no_export(session.model()->hf_config());
  const auto exported = config.hf_export && why.empty() ? path_join(session.place().directory, "hf") : "";
  if (config.hf_export && !why.empty()) session.console().line("no Hugging Face export: " + why);
  if (!exported.empty()) export_model(session, exported);
  const auto adapter = export_adapter_at_end(session);
  std::vector<track::Sample> samples;
  session.model().with_whole_positions(
      [&] { samples = draw_samples(*session.model(), session.text(), config, session.place()); });
  finish_run(config, session.place(), progress.times(),
             {std::move(evaluation), session.model().counts(), exported, adapter, std::move(samples)},
             session.console(), session.tracker());
  session.tracker().finish();
  if (const auto text = device_memory_text(); !text.empty()) session.console().fact("memory", text);
  tell_finished(session);
  show_next(config, session.place(), session.words_to_go_on(), session.console());
}

// Exit code: 0 finished, or that of an orderly stop.
int train_to_the_end(Session& session, Checkpoints& checkpoints) {
  Progress progress(session);
  Replicas replicas(session);
  Evaluation evaluation(session);
  Exports exports(session);
  Timeline timeline(session);
  checkpoints.add_check([&](std::int64_t step) { replicas.before_checkpoint(step); });
  // What belongs to a step comes before its checkpoint: a run that goes on from it does not do that again.
  const std::array<Hook*, 6> hooks = {&progress, &replicas, &evaluation, &exports, &checkpoints, &timeline};
  const train::StopSignals signals;
  const auto outcome = session.train(hooks);
  const bool stopped = outcome == train::Outcome::stopped;
  if (stopped)
    report_stop(session, checkpoints);
  else
    finish(session, progress);
  session.workers().barrier();
  return stopped ? orderly_stop_code() : 0;
}

// A start that fails leaves no run: what it made in a directory that had nothing but its lock goes again. The lock is
// held meanwhile, and takes the directory away if it made it.
class NewRun {
 public:
  explicit NewRun(const Session& session) {
    const auto& directory = session.place().directory;
    if (!session.is_first() || !others_in(directory).empty()) return;
    directory_ = directory;
    const auto& data = session.config().data;
    for (const auto& [name, source] : data.sources())
      for (const char* split : {"train", "validation"})
        caches_.push_back(real_place(data.cache_directory(name, source, split)));
  }
  ~NewRun() {
    if (directory_.empty() || begun_) return;
    try {
      for (const auto& name : others_in(directory_))
        if (const auto path = path_join(directory_, name); !holds_caches(path)) remove_all(path);
    } catch (const std::exception&) {  // then they stay, and why the start failed is told
    }
  }
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;
  void begins() { begun_ = true; }
  void cannot_begin() { begun_ = false; }

 private:
  // Token caches are work that the next start goes on with, wherever they lie.
  bool holds_caches(const std::string& path) const {
    const auto folder = real_place(path) + "/";
    return std::any_of(caches_.begin(), caches_.end(),
                       [&](const std::string& cache) { return (cache + "/").starts_with(folder); });
  }
  // The log stays, which is there only if nobody reads what the start says.
  static std::vector<std::string> others_in(const std::string& directory) {
    auto names = files().list(directory);
    std::erase_if(names, [](const std::string& name) { return name == ".lock" || name == "log.txt"; });
    return names;
  }

  std::string directory_;
  std::vector<std::string> caches_;
  bool begun_ = false;
};

// What only the data can tell of a key is told with the place of that key, too.
std::optional<Error> with_place(const LoadedConfig& loaded, const Error& e) {
  const std::string text = e.what();
  const auto key = text.substr(0, text.find(": "));
  if (e.kind() != ErrorKind::Config || key.size() == text.size() || !loaded.tree.has(key))
    return std::nullopt;
  auto words = text.substr(key.size() + 2);
  if (const auto hint = words.find("\nhint: "); hint != words.npos) words.replace(hint, 7, "; ");
  return Error(e.kind(), format_problems(loaded.first_file, {{loaded.tree.where(key), key, words}}));
}

// A tokenizer that was trained just now is known only now.
void look_at_trained_tokenizer(Session& session, const RunFlags& flags, const Preflight& found) {
  if (found.tokenizer.tokenizer) return;
  const auto& config = session.config();
  for (const auto& p :
       problems_of_prompts(config.sample, session.text().tokenizer, config.model.config->seq_len()))
    fail(ErrorKind::Config, "{}: {}", p.key, p.message);
  if (found.resume) return;
  if (const auto problem = problem_of_new_ids(config, session.text().vocab_size()))
    fail(ErrorKind::Config, "{}: {}", problem->key, problem->message);
  const auto other = other_tokenizer(config, session.text().tokenizer, flags.accept_changes);
  if (!other) return;
  if (!flags.accept_changes) fail(ErrorKind::Config, "{}: {}", other->key, other->message);
  session.console().fact("warning", fmt::format("{} {}", other->key, other->message));
}

// A start that would stop where it begins, again and again.
void add_stop_problem(const LoadedConfig& loaded, Preflight& found) {
  const auto& stop = loaded.config.trainer.stop_at_step;
  if (!stop || !found.resume || found.resume->step < *stop ||
      found.resume->step >= loaded.config.trainer.num_train_steps)
    return;
  constexpr const char* kKey = "trainer.stop_at_step";
  found.problems.push_back(
      {loaded.tree.where(kKey), fmt::format("{} = {}", kKey, *stop),
       fmt::format("the run goes on at step {}, so that nothing is left before it; a larger step, or "
                   "--trainer.stop_at_step=null, which goes on to the end",
                   found.resume->step)});
}

int start(Session& session, Checkpoints& checkpoints, const RunFlags& flags, const Preflight& found,
          NewRun& run) {
  session.prepare();
  look_at_trained_tokenizer(session, flags, found);
  checkpoints.restore(found.resume ? &found.resume->checkpoint : nullptr);
  session.open([&] {
    session.record();
    show_baseline(session);
  });
  run.begins();
  if (!session.growing().is_growing()) show_baseline(session);
  session.console().line();
  return telling_the_end(session, [&] { return train_to_the_end(session, checkpoints); });
}

int train(Session& session, const LoadedConfig& loaded, const RunFlags& flags, const Preflight& found) {
  session.meet("preparing the data", kPatience);
  std::optional<EarlierRun> earlier;  // comes back after the lock has gone
  if (flags.fresh && session.is_first()) earlier.emplace(session.place().directory);
  Checkpoints checkpoints(session);
  NewRun run(session);
  try {
    return start(session, checkpoints, flags, found, run);
  } catch (const Error& e) {
    // A cache that was still being made may have told it.
    if (e.kind() == ErrorKind::Config && !session.has_stepped()) run.cannot_begin();
    if (const auto told = with_place(loaded, e)) throw Error(*told);
    throw;
  }
}

}  // namespace

int run_training(const LoadedConfig& given, const RunFlags& flags) {
  auto loaded = given;
  core::initialize(1);  // before anything asks libtorch, which keeps the instructions that it takes then
  auto place = place_or_problem(loaded);
  if (flags.print_config && !flags.dry_run) {
    if (loaded.is_incomplete)
      throw Error(ErrorKind::Config, format_problems(loaded.first_file, loaded.problems));
    fmt::print("{}", resolved_text(loaded.config));
    return 0;
  }
  place.command = loaded.command;
  const auto launch = mesh::launch_environment();
  track::Console console(track::detect_console(flags.quiet || launch.rank != 0, flags.json));
  auto found = look_ahead(loaded, place, flags, flags.world > 0 ? flags.world : launch.size,
                          [&](std::int64_t done, std::int64_t all) {
                            console.wait("data", static_cast<double>(done), static_cast<double>(all),
                                         fmt::format("asking for remote texts, {} of {}", done, all));
                          });
  add_stop_problem(loaded, found);
  if (!found.problems.empty() && !mesh::is_to_speak())
    return exit_code(ErrorKind::Config);  // another tells it
  if (flags.dry_run) return print_dry_run(loaded, place, flags, found, console);
  require_ready(loaded, found);
  outlive_readers();
  const RunDevice device("trainer.device", loaded.config.trainer.device, launch);
  auto workers = join_workers(launch, loaded.config.trainer);
  const auto links = connect_devices(*workers);
  agree_on_hub(loaded.config.data, *workers);
  auto info = core::runtime_info();
  std::vector<std::string> parts = {fmt::format("Bora {}", BORA_VERSION), loaded.name, "run " + place.id,
                                    fmt::format("CPU {} ({} thread{}, {})", info.cpu, info.threads,
                                                info.threads == 1 ? "" : "s", info.instructions),
                                    fmt::format("seed {}", loaded.config.trainer.seed)};
  if (const auto text = device_text(); !text.empty()) parts.insert(parts.end() - 2, text);
  console.header(parts);
  if (const auto text = choice_text(loaded.config.trainer.device); !text.empty())
    console.fact("device", text);
  if (!links.empty()) console.fact("workers", links);
  show_ineffective_keys(loaded, console);
  show_changes(found, console);
  show_warnings(found, console);
  if (found.tokenizer.tokenizer) console.fact("tokenizer", found.tokenizer.words);
  Session session(loaded, place, console, std::move(workers), found.tokenizer.tokenizer);
  if (flags.accept_changes) session.accept_other_data();
  return train(session, loaded, flags, found);
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/preflight.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/run_lock.h"
#include "bora/core/device_extras.h"
#include "bora/core/step_graph.h"
#include "bora/mesh/launch.h"
#include "bora/optim/schedule.h"
#include "bora/run/changed_keys.h"
#include "bora/run/data_end.h"
#include "bora/run/device_estimate.h"
#include "bora/run/disk_need.h"
#include "bora/run/dry_run.h"
#include "bora/run/first_look.h"
#include "bora/run/hub_name.h"
#include "bora/run/idle_keys.h"
#include "bora/run/kept_tokenizer.h"
#include "bora/run/levanter_files.h"
#include "bora/run/machine.h"
#include "bora/run/mesh_look.h"
#include "bora/run/own_folders.h"
#include "bora/run/run_device.h"
#include "bora/run/shape_model.h"
#include "bora/run/start_tokenizer.h"
#include "bora/run/start_weights.h"
#include "bora/run/weights_look.h"
#include "bora/store/ledger.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

// What will be trained, what is said, or a guess.
std::int64_t vocabulary_without_tokenizer(const data::DataConfig& data) {
  constexpr std::int64_t kOfGpt2 = 50257;
  if (data.train_tokenizer) return data.train_tokenizer->vocab_size;
  return data.vocab_size.value_or(kOfGpt2);
}

class Look {
 public:
  Look(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags, std::int64_t workers,
       const Asking& asking)
      : loaded_(loaded),
        config_(loaded.config),
        place_(place),
        flags_(flags),
        workers_(workers),
        asking_(asking),
        is_first_(mesh::launch_environment().rank == 0),
        problems_(loaded.tree, found_.problems) {}

  Preflight everything() {
    found_.problems = loaded_.problems;
    found_.warnings = loaded_.warnings;
    if (loaded_.is_incomplete) return what_is_known();
    for (auto& p : size_problems(config_)) problems_.add(std::move(p));
    found_.can_be_shown = found_.problems.size() == loaded_.problems.size();
    look_around();
    look_at_batch();
    for (auto& text : idle_keys(loaded_)) found_.warnings.push_back(std::move(text));
    look_at_packing();
    if (flags_.world == 0) look_for_device();
    if (found_.can_be_shown) look_at_sizes();
    if (found_.can_be_shown) look_at_schedule();
    if (found_.can_be_shown) look_at_weights();
    if (found_.can_be_shown) {
      look_at_axes(config_, found_.tokenizer.vocab, problems_, found_.warnings);
      look_at_mesh();
    }
    return take();
  }

 private:
  // Nothing that depends on the model or the optimizer, where another one stands in its place, and no key twice that
  // could not be read.
  Preflight what_is_known() {
    found_.can_be_shown = false;
    look_around();
    if (flags_.world == 0) look_for_device();
    const auto last = loaded_.problems.end();
    std::erase_if(found_.problems, [&](const ConfigProblem& p) {
      return p.where.empty() && std::any_of(loaded_.problems.begin(), last, [&](const ConfigProblem& read) {
               const auto is = first_word(read.key), follows = first_word(p.key);
               return is.starts_with(follows) || follows.starts_with(is + ".");
             });
    });
    return take();
  }

  void look_at_packing() {
    const auto shape = config_.model.config->shape(1);
    if (!shape.learned_positions) return;
    for (const auto& [name, source] : config_.data.sources())
      if (!source.format->is_concatenated() && source.format->pack_rules(shape.seq_len).max_segments > 1)
        found_.warnings.push_back(fmt::format(
            "data set {} packs documents into sequences, and a model of type {} counts positions through a "
            "sequence: behind the first they stand at later ones than alone; format.pack: pad gives each "
            "its own sequence",
            name.empty() ? "data" : name, shape.type));
  }

  void look_around() {
    for (auto& p : config_.data.training_problems()) problems_.add(std::move(p));
    for (auto& p : config_.data.missing_sources()) problems_.add(std::move(p));
    auto data = look_for_data(config_.data, is_first_, problems_, asking_);
    found_.sources = std::move(data.sources);
    texts_ = std::move(data.texts);
    for (auto& note : data.notes) found_.warnings.push_back(std::move(note));
    if (!loaded_.is_incomplete) look_for_resume();
    look_for_tokenizer();
    look_at_texts();
    look_at_start(config_, found_.resume.has_value(), problems_);
    if (!found_.resume) look_at_tokenizer_of_weights();
    look_at_folders();
  }

  // "trainer.num_train_steps = 5": the key is its first word.
  static std::string first_word(const std::string& key) { return key.substr(0, key.find(' ')); }

  Preflight take() {
    for (auto& p : found_.problems) {
      if (!p.where.empty()) continue;
      const auto key = first_word(p.key);
      const auto written = key_as_written(loaded_.tree, key);
      p.where = loaded_.tree.where(written);
      p.key.replace(0, key.size(), written);
    }
    return std::move(found_);
  }

  void look_for_device() {
    problems_.of("trainer.device", [&] {
      found_.device = choose_device(config_.trainer.device, mesh::launch_environment());
      const core::DeviceScope is_there(found_.device);
      if (!config_.trainer.fp8) return;
      if (const auto why = why_no_fp8(found_.device); !why.empty()) problems_.add("trainer.fp8", why);
    });
  }

  void look_for_resume() {
    const auto& trainer = config_.trainer;
    problems_.of("trainer.checkpointer.base_path", [&] {
      if (is_first_) look_at_lock();
      if (flags_.fresh) return;
      const auto there = checkpoint::committed_checkpoints(place_.directory);
      if (trainer.load_checkpoint == true && there.empty())
        problems_.add(
            "trainer.load_checkpoint",
            fmt::format(
                "is true but {} holds no checkpoint; leave it out to begin the run, or give the id of "
                "another one (trainer.id)",
                place_.directory));
      if (trainer.load_checkpoint == false) return refuse_beside_checkpoints();
      found_.lanes = recorded_lanes(place_.directory);
      look_for_checkpoint();
    });
  }

  // By one worker of a run: no other one looks meanwhile. (The start itself takes the lock, and says the same.)
  void look_at_lock() {
    if (const auto holder = checkpoint::holder_of_run(place_.directory); !holder.empty())
      problems_.add("trainer.id",
                    fmt::format("{}: in use by {}; wait until it ends, stop it, or choose another run id",
                                place_.directory, holder));
  }

  void look_for_checkpoint() {
    auto newest = newest_whole_checkpoint(place_.directory);
    if (newest.whole) {
      auto changed = changed_keys(place_.directory, config_);
      if (!changed) look_without_record(newest.whole->manifest);
      found_.resume = {newest.whole->manifest.step, std::move(*newest.whole), std::move(newest.damaged),
                       std::move(changed).value_or(std::vector<ConfigChange>())};
      return check_changes(*found_.resume);
    }
    if (newest.damaged.empty()) {
      if (exists(path_join(place_.directory, "metrics.jsonl")))
        found_.warnings.push_back(
            fmt::format("{} was started before and has no checkpoint (step-N): it begins again at "
                        "step 0, and its metrics so far go",
                        place_.directory));
      return;
    }
    problems_.add(
        "trainer.checkpointer.base_path",
        fmt::format("{}: no valid checkpoint is left; the oldest: {}; nothing was changed; start over with "
                    "--fresh, which keeps this directory under another name",
                    place_.directory, newest.damaged.back()));
  }

  // What the checkpoint itself knows of its configuration: whether it is the same.
  void look_without_record(const checkpoint::Manifest& manifest) {
    const auto& then = manifest.config_hash;
    auto config = config_;
    if (then.empty() || then == hash128(config_identity(config)).hex()) return;
    const auto what = fmt::format(
        "{}/config.yaml is missing or cannot be read, and the configuration is another than that "
        "of step {}: which keys have changed is not known",
        place_.directory, manifest.step);
    if (flags_.accept_changes) return found_.warnings.push_back(what);
    problems_.add("trainer.id",
                  what + "; put the file back, start another run or over (--fresh), or --accept_changes");
  }

  void refuse_beside_checkpoints() {
    const auto there = checkpoint::named_checkpoints(place_.directory);
    if (there.empty()) return;
    problems_.add(
        "trainer.load_checkpoint",
        fmt::format(
            "is false, but {} exists and would never be written again; --fresh keeps {} under another "
            "name; or choose another run id (trainer.id)",
            there.back(), place_.directory));
  }

  void check_changes(const ResumePoint& at) {
    const auto steps = config_.trainer.num_train_steps;
    if (at.step > steps) {
      problems_.add(
          fmt::format("trainer.num_train_steps = {}", steps),
          fmt::format("but {} is at step {} already; give more steps to extend the run, or --fresh to start "
                      "over",
                      place_.directory, at.step));
    }
    for (const auto& change : at.changed) {
      if (change.key.starts_with("data.train_tokenizer.")) {
        problems_.add(
            change.key,
            fmt::format(
                "was {} when {} trained its tokenizer and is {} now; a run keeps its tokenizer: put it back, or "
                "start another run (trainer.id) or over (--fresh)",
                change.before, place_.directory, change.after));
        continue;
      }
      if (flags_.accept_changes || !decides_data_order(change.key, config_)) continue;
      problems_.add(
          change.key,
          fmt::format(
              "was {} when {} was last started and is {} now: its later steps would read other data "
              "than it was to read; put it back, start another run (trainer.id) or over (--fresh), or "
              "--accept_changes",
              change.before, place_.directory, change.after));
    }
  }

  void look_for_tokenizer() {
    auto& out = found_.tokenizer;
    const auto& data = config_.data;
    out.vocab = vocabulary_without_tokenizer(data);
    if (data.train_tokenizer) {
      out.is_known = true;
      out.words = fmt::format("{} pieces, to be trained", with_commas(out.vocab));
      const auto trained = path_join(place_.directory, "tokenizer");
      if (flags_.fresh) return;
      return problems_.of("data.train_tokenizer", [&] {
        if (is_kept(trained, data)) load_tokenizer(trained);
      });
    }
    out.words = data.tokenizer + " is not here";
    if (data.tokenizer == "passthrough") return;  // missing_sources() has told it
    problems_.of("data.tokenizer", [&] {
      const auto path = local_path(data.tokenizer, store::HubFiles::Tokenizer);
      if (exists(path)) return load_tokenizer(path);
      problems_.add(
          "data.tokenizer",
          fmt::format("{} is no file or directory here; give a local tokenizer.json, a name on the hub, or "
                      "data.train_tokenizer: {{vocab_size: 4096}}",
                      data.tokenizer));
    });
  }

  void load_tokenizer(const std::string& path) {
    auto& out = found_.tokenizer;
    out.tokenizer = Tokenizer::load(path);
    out.vocab = out.tokenizer->vocab_size();
    out.is_known = true;
    out.words = fmt::format("{} pieces, from {}", with_commas(out.vocab), path);
  }

  // Before hours of work on others.
  void look_at_texts() {
    const auto seq_len = loaded_.is_incomplete ? 0 : config_.model.config->seq_len();
    const auto& tokenizer = found_.tokenizer.tokenizer;
    for (const auto& texts : texts_)
      problems_.of(texts.key, [&] {
        for (auto& p : problems_of_texts(config_.data, texts, tokenizer, seq_len))
          problems_.add(std::move(p));
      });
    for (auto& p : problems_of_prompts(config_.sample, tokenizer, seq_len)) problems_.add(std::move(p));
  }

  // Data that is read up ends the schedule, too.
  void look_at_schedule() {
    const auto steps = found_.steps_of_data.value_or(config_.trainer.num_train_steps);
    if (!optim::schedule_problems(*config_.optimizer.config, steps).empty()) return;  // told elsewhere
    for (const auto& [key, message] : optim::schedule_warnings(*config_.optimizer.config, steps))
      found_.warnings.push_back(fmt::format("optimizer.{} {}", key, message));
  }

  // In Levanter such a batch grows with the workers.
  void look_at_batch() {
    constexpr const char* kKey = "trainer.train_batch_size";
    if (workers_ == 1 || loaded_.tree.scalar(kKey) != "-1") return;
    found_.warnings.push_back(fmt::format(
        "{} = -1 is {} sequences (trainer.per_device_parallelism), whatever the number of workers, where "
        "Levanter multiplies them by those that share a batch; for more give {} a number",
        kKey, config_.trainer.per_device_parallelism, kKey));
  }

  void look_at_tokenizer_of_weights() {
    const auto& ours = found_.tokenizer;
    problems_.of("data.tokenizer", [&] {
      if (!ours.tokenizer && !config_.data.train_tokenizer) return;  // told already
      const auto other = other_tokenizer(config_, ours.tokenizer, flags_.accept_changes);
      if (!other) return;
      if (!flags_.accept_changes) return problems_.add(*other);
      found_.warnings.push_back(fmt::format("{} {}", other->key, other->message));
    });
  }

  void look_at_folders() {
    const auto writable = [&](const std::string& key, const std::string& path) {
      if (store::remote_scheme(path)) return;  // told elsewhere
      if (auto why = why_not_writable(path); !why.empty()) problems_.add(key, why + "; give another place");
    };
    const auto place = [&](const std::string& key, const std::string& given, const std::string& of_run) {
      if (const auto scheme = store::remote_scheme(given))
        return problems_.add(key, fmt::format("{} is on {}://; give a local folder", redact(given), *scheme));
      writable(key, of_run);
    };
    place("trainer.checkpointer.base_path", place_.directory, place_.directory);
    if (auto moved = moved_run(loaded_, place_)) problems_.add(std::move(*moved));
    if (auto why = why_no_run(place_.directory); !why.empty())
      problems_.add("trainer.checkpointer.base_path", why);
    if (place_.exports) place("hf_save_path", *config_.hf_save_path, *place_.exports);
    if (place_.adapters) place("peft_save_path", *config_.peft_save_path, *place_.adapters);
    for (auto& p : exports_among_steps(config_, place_)) problems_.add(std::move(p));
    if (auto why = why_no_caches(config_.data.cache_dir); !why.empty()) problems_.add("data.cache_dir", why);
    for (const auto& [name, source] : config_.data.sources()) {
      const auto key = cache_key(name, source);
      const auto directory = config_.data.cache_directory(name, source, "train");
      if (!is_finished_cache(directory)) writable(key, directory);
      if (auto why = why_no_caches(source.cache_dir.value_or("")); !why.empty()) problems_.add(key, why);
    }
  }

  // A finished cache is read alone. What is wrong with its ledger is told elsewhere.
  static bool is_finished_cache(const std::string& directory) try {
    const auto ledger = store::read_ledger(directory);
    return ledger && ledger->is_finished;
  } catch (const Error&) {
    return false;
  }

  void look_at_sizes() {
    found_.can_be_shown = false;  // a model that cannot be made has no size
    problems_.of("model", [&] {
      const auto& t = config_.trainer;
      const auto seq_len = config_.model.config->seq_len();
      const auto lanes = choose_lanes(t, seq_len, {}, found_.lanes);
      EstimateOptions options{.vocab = found_.tokenizer.vocab,
                              .batch = t.batch_schedule().batch_size(0),
                              .lanes = lanes.number,
                              .compute = t.mp.compute,
                              .state_bytes = bytes_of_state(config_, found_.tokenizer.vocab),
                              .chunk = config_.cross_entropy_chunk,
                              .parameters = count_parameters(config_, found_.tokenizer.vocab)};
      const auto of_cpu = options;
      if (found_.device != core::Device()) look_at_device(options);
      found_.sizes = estimate_sizes(*config_.model.config, options);
      found_.can_be_shown = true;
      if (flags_.world == 0) {
        const auto place = memory_place(of_cpu);
        if (const auto problem = memory_problem(found_.sizes, workers_, place))
          problems_.add(problem->key, problem->sentence);
        else if (!place.is_device && workers_ == 1)
          warn_of_memory();
      }
      auto until_end = config_;
      if (flags_.dry_run) found_.steps_of_data = steps_of_data(config_);
      until_end.trainer.num_train_steps = found_.steps_of_data.value_or(t.num_train_steps);
      found_.disk = disk_needs(until_end, place_, found_.sources, found_.sizes,
                               found_.resume ? found_.resume->step : 0);
      for (const auto& need : found_.disk) {
        if (need.bytes <= need.free || flags_.world != 0) continue;
        const bool at_once = need.least > need.free;
        const bool by_checkpoints = 2 * need.checkpoints > need.bytes;
        const auto text = fmt::format(
            "{} takes {} {} ({}), and {} are free there", by_checkpoints ? place_.directory : need.path,
            human_bytes(at_once ? need.least : need.bytes), at_once ? "at least" : "at the end", need.parts,
            human_bytes(need.free));
        constexpr const char* kBase = "trainer.checkpointer.base_path";
        if (at_once || !by_checkpoints)
          problems_.add(by_checkpoints ? kBase : need.key, text + "; another place, or room");
        else
          problems_.add(
              "trainer.checkpointer.keep",
              fmt::format("{}; keep fewer, [{{every: N}}] of a larger N, or another place ({}), or room",
                          text, kBase));
      }
    });
  }

  // A start makes the plans of its own passes, and none for this.
  void look_at_device(EstimateOptions& options) const {
    const auto& t = config_.trainer;
    options.on_device = true;
    options.graphs =
        t.cuda_graphs && core::has_graphs(found_.device) && workers_ == 1 && t.mp.compute != core::DType::f16;
    options.extras = core::device_extras(found_.device.type);
    options.keeps_scores = core::keeps_scores(found_.device.type, options.compute);
    if (flags_.dry_run)
      options.attention_room =
          attention_room_on_device(found_.device, config_.model.config->shape(options.vocab),
                                   options.batch / options.lanes, options.compute);
  }

  MemoryPlace memory_place(const EstimateOptions& of_cpu) const {
    const auto room = device_room(found_.device);
    if (!room) return memory_of_machine();
    const auto& t = config_.trainer;
    const bool fits_cpu = !t.fp8 && !memory_problem(estimate_sizes(*config_.model.config, of_cpu), workers_,
                                                    memory_of_machine());
    return {core::name(found_.device), room->total - found_.sizes.beside_bytes, true,
            fits_cpu ? cpu_instead(t.device, found_.device) : ""};
  }
  void warn_of_memory() {
    const double needed = found_.sizes.training(), free = free_memory();
    if (needed > free)
      found_.warnings.push_back(fmt::format(
          "the run takes about {} of memory, and {} are free; end other programs, or take a smaller "
          "trainer.train_batch_size, more trainer.lanes or model.gradient_checkpointing",
          human_bytes(needed), human_bytes(free)));
  }

  void look_at_weights() {
    const bool has_tokenizer = found_.tokenizer.tokenizer.has_value();
    if (!has_tokenizer && !config_.data.train_tokenizer) return;  // told already
    const auto vocab = has_tokenizer ? std::optional(found_.tokenizer.vocab) : std::nullopt;
    if (found_.resume)
      look_at_fit(config_, vocab, place_.directory, *found_.resume, problems_);
    else
      look_at_shapes(config_, vocab, problems_, found_.warnings);
  }

  // Whether the workers make the mesh, its axes can be cut, and there is a lane for each. A dry run supposes as many as
  // it needs at least.
  void look_at_mesh() {
    const auto& mesh = config_.trainer.mesh;
    bool is_mesh = true;
    try {
      const auto least = mesh.least_workers();
      const auto workers = flags_.dry_run && workers_ == 1 ? std::max(least, flags_.world) : workers_;
      is_mesh = least > 1;
      if (is_mesh || workers > 1) (void)plan_of(config_, workers, found_.lanes);
      look_at_tensor_lanes(config_, found_.tokenizer.vocab, problems_);
    } catch (const Error& e) {
      const std::string text = e.what();
      const auto first = text.find('\n'), hint = text.find("\nhint: ");
      const auto* key = !is_mesh                 ? "trainer.train_batch_size"
                        : mesh.mesh.axes.empty() ? "trainer.model_axis_size"
                                                 : "trainer.mesh.axes";
      problems_.add(key, text.substr(0, first) + (hint == text.npos ? "" : text.substr(hint)));
      found_.has_plan = false;
    }
  }

  const LoadedConfig& loaded_;
  const LmConfig& config_;
  const RunPlace& place_;
  const RunFlags& flags_;
  const std::int64_t workers_;
  const Asking& asking_;
  const bool is_first_;
  std::vector<TextsHere> texts_;
  Preflight found_;
  ProblemList problems_;
};

}  // namespace

std::int64_t vocabulary_of(const data::DataConfig& data) {
  if (data.train_tokenizer) return vocabulary_without_tokenizer(data);
  std::string path = data.tokenizer;
  try {
    path = local_path(path, store::HubFiles::Tokenizer);
  } catch (const Error&) {  // one of the problems of a start
  }
  return exists(path) ? Tokenizer::load(path).vocab_size() : vocabulary_without_tokenizer(data);
}

Preflight look_ahead(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags,
                     std::int64_t workers, const Asking& asking) {
  return Look(loaded, place, flags, workers, asking).everything();
}

void require_ready(const LoadedConfig& loaded, const Preflight& found) {
  if (!found.problems.empty())
    throw Error(ErrorKind::Config, format_problems(loaded.first_file, found.problems));
}

}  // namespace bora::run

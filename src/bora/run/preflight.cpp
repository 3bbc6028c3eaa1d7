// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/preflight.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/run_lock.h"
#include "bora/data/source_caches.h"
#include "bora/mesh/launch.h"
#include "bora/run/changed_keys.h"
#include "bora/run/debian_text.h"
#include "bora/run/disk_need.h"
#include "bora/run/dry_run.h"
#include "bora/run/first_look.h"
#include "bora/run/hub_name.h"
#include "bora/run/kept_tokenizer.h"
#include "bora/run/levanter_files.h"
#include "bora/run/machine.h"
#include "bora/run/own_folders.h"
#include "bora/run/run_device.h"
#include "bora/run/shape_model.h"
#include "bora/run/start_tokenizer.h"
#include "bora/run/start_weights.h"
#include "bora/store/cache_check.h"
#include "bora/store/format.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

// "\nhint: x" becomes "; x": a problem has one line.
std::string on_one_line(std::string text) {
  for (auto at = text.find("\nhint: "); at != text.npos; at = text.find("\nhint: "))
    text.replace(at, 7, "; ");
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at)) text.replace(at, 1, " ");
  return text;
}

// What will be trained, what is said, or a guess.
std::int64_t vocabulary_without_tokenizer(const data::DataConfig& data) {
  constexpr std::int64_t kOfGpt2 = 50257;
  if (data.train_tokenizer) return data.train_tokenizer->vocab_size;
  return data.vocab_size.value_or(kOfGpt2);
}

class Look {
 public:
  Look(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags, std::int64_t workers)
      : loaded_(loaded), config_(loaded.config), place_(place), flags_(flags), workers_(workers) {}

  Preflight everything() {
    found_.problems = loaded_.problems;
    if (loaded_.is_incomplete) return what_is_known();
    for (auto& p : size_problems(config_)) add(std::move(p));
    found_.can_be_shown = found_.problems.size() == loaded_.problems.size();
    look_around();
    look_at_schedule();
    if (flags_.world == 0) look_for_device();
    if (found_.can_be_shown) look_at_sizes();
    if (found_.can_be_shown) look_at_weights();
    if (found_.can_be_shown) look_at_mesh();
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

  void look_around() {
    for (auto& p : config_.data.training_problems()) add(std::move(p));
    for (auto& p : config_.data.missing_sources()) add(std::move(p));
    look_for_data();
    if (!loaded_.is_incomplete) look_for_resume();
    look_for_tokenizer();
    look_at_texts();
    look_at_start();
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

  void add(ConfigProblem problem) { found_.problems.push_back(std::move(problem)); }
  void add(const std::string& key, std::string message) { add({"", key, on_one_line(std::move(message))}); }

  // An error of `look` is a problem of `key`, unless its words begin with a key of their own.
  template <class Body>
  void problems_of(const std::string& key, Body&& look) {
    try {
      look();
    } catch (const Error& e) {
      const std::string text = e.what();
      const bool has_hint = e.kind() != ErrorKind::Corruption || text.find("hint: ") != text.npos;
      add_error(key, has_hint ? text : text + "\nhint: mend it, copy or make it again, or name another");
    }
  }
  void add_error(const std::string& key, const std::string& text) {
    const auto colon = text.find(": ");
    const bool own = colon != text.npos && text.substr(0, colon).find_first_of(" /\n") == text.npos &&
                     loaded_.tree.has(text.substr(0, colon));
    add(own ? text.substr(0, colon) : key, own ? text.substr(colon + 2) : text);
  }

  void look_for_device() {
    problems_of("trainer.device", [&] {
      found_.device = choose_device(config_.trainer.device, mesh::launch_environment());
      const core::DeviceScope is_there(found_.device);
    });
  }

  void look_for_resume() {
    const auto& trainer = config_.trainer;
    if (flags_.fresh) return;
    problems_of("trainer.checkpointer.base_path", [&] {
      if (flags_.dry_run) look_at_lock();
      const auto there = checkpoint::committed_checkpoints(place_.directory);
      if (trainer.load_checkpoint == true && there.empty())
        add("trainer.load_checkpoint",
            fmt::format(
                "is true but {} holds no checkpoint; leave it out to begin the run, or give the id of "
                "another one (trainer.id)",
                place_.directory));
      if (trainer.load_checkpoint == false) return refuse_beside_checkpoints();
      found_.lanes = recorded_lanes(place_.directory);
      look_for_checkpoint();
    });
  }

  // The start itself waits for no preflight of another worker: it takes the lock, and says the same.
  void look_at_lock() {
    if (const auto holder = checkpoint::holder_of_run(place_.directory); !holder.empty())
      add("trainer.id", fmt::format("{}: in use by {}; wait until it ends, stop it, or choose another run id",
                                    place_.directory, holder));
  }

  void look_for_checkpoint() {
    auto newest = newest_whole_checkpoint(place_.directory);
    if (newest.whole) {
      found_.resume = {newest.whole->manifest.step, std::move(*newest.whole), std::move(newest.damaged),
                       changed_keys(place_.directory, config_)};
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
    add("trainer.checkpointer.base_path",
        fmt::format("{}: no valid checkpoint is left; the oldest: {}; nothing was changed; start over with "
                    "--fresh, which keeps this directory under another name",
                    place_.directory, newest.damaged.back()));
  }

  void refuse_beside_checkpoints() {
    const auto there = checkpoint::named_checkpoints(place_.directory);
    if (there.empty()) return;
    add("trainer.load_checkpoint",
        fmt::format(
            "is false, but {} exists and would never be written again; --fresh keeps {} under another "
            "name; or choose another run id (trainer.id)",
            there.back(), place_.directory));
  }

  void check_changes(const ResumePoint& at) {
    const auto steps = config_.trainer.num_train_steps;
    if (at.step > steps) {
      add(fmt::format("trainer.num_train_steps = {}", steps),
          fmt::format("but {} is at step {} already; give more steps to extend the run, or --fresh to start "
                      "over",
                      place_.directory, at.step));
    }
    for (const auto& change : at.changed) {
      if (change.key.starts_with("data.train_tokenizer.")) {
        add(change.key,
            fmt::format(
                "was {} when {} trained its tokenizer and is {} now; a run keeps its tokenizer: put it back, or "
                "start another run (trainer.id) or over (--fresh)",
                change.before, place_.directory, change.after));
        continue;
      }
      if (flags_.accept_changes || !decides_data_order(change.key, config_)) continue;
      add(change.key,
          fmt::format(
              "was {} when {} was last started and is {} now: its later steps would read other data "
              "than it was to read; put it back, start another run (trainer.id) or over (--fresh), or "
              "--accept_changes",
              change.before, place_.directory, change.after));
    }
  }

  void look_for_data() {
    for (const auto& [name, source] : config_.data.sources()) {
      const auto key = config_.data.configs.empty() ? std::string("data") : "data.configs." + name;
      SourceFound found{.name = name};
      const bool of_hub = source.id && source.train_urls.empty();
      find_files(source, store::Split::Train, key + (of_hub ? ".id" : ".train_urls"), found);
      if (!of_hub || found.files > 0 || !source.validation_urls.empty())
        find_files(source, store::Split::Validation, key + ".validation_urls", found);
      look_at_cache(name, source, store::Split::Train, key + ".train_urls");
      look_at_cache(name, source, store::Split::Validation, key + ".validation_urls");
      found.cached = exists(path_join(config_.data.cache_directory(name, source, "train"), "ledger.json"));
      found_.sources.push_back(std::move(found));
    }
  }

  void find_files(const data::SourceConfig& source, store::Split split, const std::string& key,
                  SourceFound& found) {
    const auto urls = source.urls(split);
    std::vector<std::string> here;
    for (const auto& url : urls) {
      const auto scheme = store::remote_scheme(url);
      if (scheme == "hf" && store::hub_options().offline)
        here.push_back(url);  // the cache alone is asked
      else if (scheme || (is_debian_text(url) && !debian_text_is_here(url)))
        ++found.remote;
      else if (is_debian_text(url))
        here.push_back(fetch_debian_text(url));
      else
        here.push_back(url);
    }
    problems_of(key, [&] {
      const auto there = store::find_files(here, split);
      for (const auto& problem : there.problems) add_error(key, problem);
      if (!there.problems.empty()) return;
      const bool is_all = here.size() == urls.size(), is_train = split == store::Split::Train;
      const auto bytes = look_at_files(there.files, key, found);
      if (bytes == 0 && is_all && is_train)
        add(key, fmt::format("every file of {} is empty; give files with text", urls.front()));
      if (bytes > 0 && is_all)
        texts_.push_back({found.name, source, split, key, there.files,
                          !is_train || data::is_trained_on(config_.data, found.name)});
    });
  }

  // Bytes of all of them, devices aside; -1 where some are none that can be read.
  double look_at_files(const std::vector<std::string>& paths, const std::string& key, SourceFound& found) {
    const auto problems = found_.problems.size();
    double all = paths.empty() ? -1 : 0;
    for (const auto& path : paths) {
      problems_of(key, [&] { (void)store::file_format(path); });
      ++found.files;
      const auto info = files().info(path);
      if (info->is_device) problems_of(key, [&] { (void)files().open(path); });  // which refuses it
      const auto bytes = static_cast<double>(info->size);
      all += bytes;
      found.bytes += bytes;
      found.text_bytes += bytes * (is_compressed(path) ? 4 : 1);
    }
    return found_.problems.size() == problems ? all : -1;
  }

  // What a cache was made from, where it is made already.
  void look_at_cache(const std::string& name, const data::SourceConfig& source, store::Split split,
                     const std::string& key) {
    const auto urls = source.urls(split);
    const auto is_elsewhere = [](const std::string& url) {
      return store::remote_scheme(url) || is_debian_text(url);
    };
    if (urls.empty() || std::any_of(urls.begin(), urls.end(), is_elsewhere)) return;
    const auto directory =
        config_.data.cache_directory(name, source, split == store::Split::Train ? "train" : "validation");
    try {
      const auto ledger = store::read_ledger(directory);
      const auto there = store::find_files(urls, split);
      if (!ledger || !there.problems.empty()) return;
      store::check_sources(directory, *ledger, store::look_up_sources(there.files));
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::Config) add_error(key, e.what());  // a damaged one the start tells of
    }
  }

  static bool is_compressed(const std::string& path) {
    constexpr std::array<std::string_view, 4> kEndings = {".gz", ".zst", ".bz2", ".parquet"};
    return std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return path.ends_with(ending); });
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
      return problems_of("data.train_tokenizer", [&] {
        if (is_kept(trained, *data.train_tokenizer)) load_tokenizer(trained);
      });
    }
    out.words = data.tokenizer + " is not here";
    if (data.tokenizer == "passthrough") return;  // missing_sources() has told it
    problems_of("data.tokenizer", [&] {
      const auto path = local_path(data.tokenizer, store::HubFiles::Tokenizer);
      if (exists(path)) return load_tokenizer(path);
      add("data.tokenizer",
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
      problems_of(texts.key, [&] {
        for (const auto& p : problems_of_texts(config_.data, texts, tokenizer, seq_len)) {
          const bool is_told = std::any_of(
              found_.problems.begin(), found_.problems.end(),
              [&](const auto& told) { return told.key == p.key && told.message == on_one_line(p.message); });
          if (!is_told) add(p.key, p.message);
        }
      });
    for (const auto& p : problems_of_prompts(config_.sample, tokenizer, seq_len)) add(p.key, p.message);
  }

  // Lengths from 1 on are steps.
  void look_at_schedule() {
    const auto steps = config_.trainer.num_train_steps;
    const auto& schedule = *config_.optimizer.config;
    const auto look = [&](const char* key, double length, const char* what) {
      if (length >= 1 && length > static_cast<double>(steps))
        found_.warnings.push_back(
            fmt::format("optimizer.{} = {} is longer than the run of {} step{} (trainer.num_train_steps): {}",
                        key, length, steps, steps == 1 ? "" : "s", what));
    };
    look("warmup", schedule.warmup, "the learning rate never reaches optimizer.learning_rate");
    if (schedule.decay) look("decay", *schedule.decay, "the learning rate falls from the beginning");
  }

  // The weights that a run without a checkpoint begins with.
  void look_at_start() {
    if (const auto& from = config_.checkpoint_to_start_from(); from && !found_.resume) {
      const auto* key = key_of_start();
      problems_of(key, [&] {
        if (!exists(*from)) return add(key, *from + " does not exist; give a run's folder, or step-N in it");
        (void)checkpoint::find_checkpoint(*from);
      });
      if (!config_.initialize_from_hf.empty())
        add(key,
            fmt::format(
                "is {} beside initialize_from_hf = {}, whose weights it would take the place of; leave out "
                "one of them",
                *from, config_.initialize_from_hf));
    }
    const auto& hf = config_.initialize_from_hf;
    if (hf.empty() || !exists(path_join(hf, "config.json"))) return;  // load_run has told it
    if (store::is_hub_snapshot(hf)) return;  // the hub lists its weights, which come when all else is well
    problems_of("initialize_from_hf", [&] {
      const auto names = files().list(hf);
      if (std::none_of(names.begin(), names.end(), is_weights))
        add("initialize_from_hf",
            fmt::format("{} has a config.json but no *.safetensors with weights; copy or fetch them too",
                        hf));
    });
  }
  void look_at_tokenizer_of_weights() {
    const auto& ours = found_.tokenizer;
    problems_of("data.tokenizer", [&] {
      if (!ours.tokenizer && !config_.data.train_tokenizer) return;  // told already
      const auto other = other_tokenizer(config_, ours.tokenizer);
      if (!other) return;
      if (!flags_.accept_changes) return add(*other);
      found_.warnings.push_back(fmt::format("{} {}", other->key, on_one_line(other->message)));
    });
  }
  static bool is_weights(const std::string& name) { return name.find(".safetensors") != name.npos; }

  void look_at_folders() {
    const auto writable = [&](const std::string& key, const std::string& path) {
      if (store::remote_scheme(path)) return;  // told elsewhere
      if (auto why = why_not_writable(path); !why.empty()) add(key, why + "; give another place");
    };
    const auto place = [&](const std::string& key, const std::string& path) {
      if (const auto scheme = store::remote_scheme(path))
        return add(key, fmt::format("{} is on {}://; give a local folder", redact(path), *scheme));
      writable(key, path);
    };
    place("trainer.checkpointer.base_path", place_.directory);
    if (auto moved = moved_run(loaded_, place_)) add(std::move(*moved));
    if (auto why = why_no_run(place_.directory); !why.empty()) add("trainer.checkpointer.base_path", why);
    if (config_.hf_save_path) place("hf_save_path", *config_.hf_save_path);
    if (config_.peft_save_path) place("peft_save_path", *config_.peft_save_path);
    if (auto why = why_no_caches(config_.data.cache_dir); !why.empty()) add("data.cache_dir", why);
    for (const auto& [name, source] : config_.data.sources()) {
      const auto key = cache_key(name, source);
      writable(key, config_.data.cache_directory(name, source, "train"));
      if (auto why = why_no_caches(source.cache_dir.value_or("")); !why.empty()) add(key, why);
    }
  }

  void look_at_sizes() {
    found_.can_be_shown = false;  // a model that cannot be made has no size
    problems_of("model", [&] {
      const auto& t = config_.trainer;
      const auto seq_len = config_.model.config->seq_len();
      const auto lanes = choose_lanes(t, seq_len, {}, found_.lanes);
      found_.sizes = estimate_sizes(*config_.model.config,
                                    {.vocab = found_.tokenizer.vocab,
                                     .batch = t.batch_schedule().batch_size(0),
                                     .lanes = lanes.number,
                                     .compute = t.mp.compute,
                                     .parameters = count_parameters(config_, found_.tokenizer.vocab)});
      found_.can_be_shown = true;
      if (flags_.world == 0) {
        const auto place = memory_place();
        if (const auto problem = memory_problem(found_.sizes, workers_, place))
          add(problem->key, problem->sentence);
        else if (!place.is_device && workers_ == 1)
          warn_of_memory();
      }
      found_.disk =
          disk_needs(config_, place_, found_.sources, found_.sizes, found_.resume ? found_.resume->step : 0);
      for (const auto& need : found_.disk) {
        if (need.bytes <= need.free || flags_.world != 0) continue;
        const bool at_once = need.least > need.free;
        const bool by_checkpoints = !at_once && 2 * need.checkpoints > need.bytes;
        const auto text = fmt::format(
            "{} takes {} {} ({}), and {} are free there", by_checkpoints ? place_.directory : need.path,
            human_bytes(at_once ? need.least : need.bytes), at_once ? "at least" : "at the end", need.parts,
            human_bytes(need.free));
        if (!by_checkpoints)
          add(need.key, text + "; another place, or room");
        else
          add("trainer.checkpointer.keep", text +
                                               "; keep fewer, [{every: N}] of a larger N, or another place "
                                               "(trainer.checkpointer.base_path), or room");
      }
    });
  }

  MemoryPlace memory_place() const {
    const auto room = device_room(found_.device);
    return room ? MemoryPlace{core::name(found_.device), room->total, true} : memory_of_machine();
  }
  void warn_of_memory() {
    const double needed = found_.sizes.training(), free = free_memory();
    if (needed > free)
      found_.warnings.push_back(fmt::format(
          "the run takes about {} of memory, and {} are free; end other programs, or take a smaller "
          "trainer.train_batch_size, more trainer.lanes or model.gradient_checkpointing",
          human_bytes(needed), human_bytes(free)));
  }

  // Shapes alone. Of a tokenizer that is still to be trained nobody knows how many pieces it gets.
  void look_at_weights() {
    const auto vocab = found_.tokenizer.tokenizer ? std::optional(found_.tokenizer.vocab) : std::nullopt;
    if (!found_.tokenizer.tokenizer && !config_.data.train_tokenizer) return;  // told already
    if (found_.resume) {
      return problems_of("model", [&] {
        const auto wrong = misfit(config_, vocab, found_.resume->checkpoint.path, /*begins=*/false);
        if (!wrong.empty())
          add("model", fmt::format("{}: {}; put the model back, or start another run (trainer.id) or over "
                                   "(--fresh)",
                                   place_.directory, wrong));
      });
    }
    const auto& from = config_.checkpoint_to_start_from();
    if (!from || !exists(*from)) return;
    problems_of(key_of_start(), [&] {
      const auto wrong = misfit(config_, vocab, checkpoint::find_checkpoint(*from), /*begins=*/true);
      if (!wrong.empty())
        add(key_of_start(),
            fmt::format("is {}, of another model: {}; give the model block that it was saved with "
                        "({}/config.yaml has it), or another run",
                        *from, wrong, run_of(*from)));
    });
  }
  const char* key_of_start() const {
    return config_.initialize_from_checkpoint_path ? "initialize_from_checkpoint_path"
                                                   : "trainer.initialize_from";
  }
  static std::string run_of(const std::string& from) {
    return exists(path_join(from, "state.json")) ? parent_path(from) : from;
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
    } catch (const Error& e) {
      const std::string text = e.what();
      const auto first = text.find('\n'), hint = text.find("\nhint: ");
      const auto* key = !is_mesh                 ? "trainer.train_batch_size"
                        : mesh.mesh.axes.empty() ? "trainer.model_axis_size"
                                                 : "trainer.mesh.axes";
      add(key, text.substr(0, first) + (hint == text.npos ? "" : text.substr(hint)));
      found_.has_plan = false;
    }
  }

  const LoadedConfig& loaded_;
  const LmConfig& config_;
  const RunPlace& place_;
  const RunFlags& flags_;
  const std::int64_t workers_;
  std::vector<TextsHere> texts_;
  Preflight found_;
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
                     std::int64_t workers) {
  return Look(loaded, place, flags, workers).everything();
}

void require_ready(const LoadedConfig& loaded, const Preflight& found) {
  if (!found.problems.empty())
    throw Error(ErrorKind::Config, format_problems(loaded.first_file, found.problems));
}

}  // namespace bora::run

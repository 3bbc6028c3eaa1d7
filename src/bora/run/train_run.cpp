// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/train_run.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/base/log.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/base/trace.h"
#include "bora/checkpoint/async_writer.h"
#include "bora/checkpoint/checkpointer.h"
#include "bora/checkpoint/restore.h"
#include "bora/core/runtime.h"
#include "bora/data/prefetcher.h"
#include "bora/run/data_order.h"
#include "bora/run/dry_run.h"
#include "bora/run/finish_run.h"
#include "bora/run/generation_config.h"
#include "bora/run/growing_text.h"
#include "bora/run/join_workers.h"
#include "bora/run/launch.h"
#include "bora/run/memory_estimate.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "bora/run/profile.h"
#include "bora/run/replica_guard.h"
#include "bora/run/run_lanes.h"
#include "bora/run/run_record.h"
#include "bora/run/text_data.h"
#include "bora/track/throughput.h"
#include "bora/train/signals.h"
#include "bora/train/trainer.h"

namespace bora::run {

using checkpoint::RunEnd;

namespace {

void put_aside(const std::string& given) {
  if (!exists(given)) return;
  const auto parent = parent_path(given), directory = path_join(parent, base_name(given));
  const checkpoint::RunLock lock(directory);  // not from under a process that writes there
  for (int i = 1;; ++i) {
    auto name = fmt::format("{}.before-{}", directory, i);
    if (exists(name)) continue;
    files().rename(directory, name);
    files().sync_directory(parent);
    log_info("the earlier run is kept as {}", name);
    return;
  }
}

// A run that starts over beside checkpoints would come to steps that it cannot save.
void require_none(const std::string& directory) {
  const auto found = checkpoint::named_checkpoints(directory);
  if (found.empty()) return;
  fail(
      ErrorKind::Config,
      "trainer.load_checkpoint is false, but {} exists and would never be written again\nhint: --fresh keeps "
      "{} under another name; or choose another run id (trainer.id)",
      found.back(), directory);
}

// The directory, of Hugging Face or of a run, whose weights a run begins with; empty if it begins with new
// ones.
std::string model_to_start_from(const LmConfig& config) {
  if (!config.initialize_from_hf.empty()) return config.initialize_from_hf;
  const auto& from = config.initialize_from_checkpoint_path ? config.initialize_from_checkpoint_path
                                                            : config.trainer.initialize_from;
  if (!from) return "";
  return exists(path_join(*from, "state.json")) ? parent_path(*from) : *from;  // a checkpoint, or its run
}

void describe_model(PlacedModel& model, track::Console& console) {
  auto s = model->shape();
  console.fact("model", fmt::format("{} · {} parameters · {} layers × {} · context {}", s.type,
                                    human_count(static_cast<double>(model.elements())), s.layers, s.hidden,
                                    s.seq_len));
}

track::FlopsModel flops_model(const nn::ModelShape& s, std::int64_t seq_len) {
  return {.layers = s.layers,
          .hidden = s.hidden,
          .intermediate = s.mlp,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .vocabulary = s.vocab,
          .sequence = seq_len,
          .gated_mlp = s.gated_mlp};
}

double peak_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Everything that one run holds together while it trains.
class Run {
 public:
  Run(LoadedConfig& loaded, const RunFlags& flags, RunPlace place, track::Console& console,
      std::shared_ptr<mesh::Communicator> workers)
      : loaded_(loaded),
        config_(loaded.config),
        flags_(flags),
        place_(std::move(place)),
        console_(console),
        workers_(std::move(workers)) {}

  int operator()() {
    prepare();
    resume();
    if (writes() && !model_->distributed() && trainer_->next_step() < config_.trainer.num_train_steps)
      checkpointer_->prepare(content());
    growing_.emplace(*text_, console_, *workers_, [this] { after_building(); });
    if (!growing_->is_growing()) show_baseline();
    console_.line();
    train::StopSignals signals;
    begin_training();
    profile_.emplace(config_.trainer.profiler, place_.directory, workers_);
    profile_->at_boundary(trainer_->next_step());
    auto outcome = trainer_->run();
    profile_->finish();
    in_step("waiting for the end of the run", kPatience);
    save(outcome == train::Outcome::stopped ? RunEnd::Stopped : RunEnd::Finished);
    console_.settle();
    if (!profile_->written().empty())
      console_.fact("timeline", profile_->written() + ": open it in ui.perfetto.dev or chrome://tracing");
    if (writes()) checkpointer_->wait();
    if (outcome == train::Outcome::stopped) {
      if (writes()) report_stop(trainer_->next_step());
    } else {
      growing_->wait_for_all();
      workers_->deadline(kPatience);
      end();
    }
    workers_->barrier();
    return outcome == train::Outcome::stopped ? orderly_stop_code() : 0;
  }

 private:
  // One worker shows and writes; the others compute the same.
  bool writes() const { return workers_->rank() == 0; }
  // Everybody comes to the same place; what follows may keep one of them for so many seconds.
  void in_step(std::string_view activity, double deadline) {
    workers_->barrier();
    workers_->activity(activity);
    workers_->deadline(deadline);
  }

  void begin_training() { in_step("training", config_.trainer.worker_timeout); }

  // All workers evaluate, export and draw samples together; one shows them.
  void end() {
    auto evaluation = evaluate_sources(**model_, *text_, config_, console_, model_->mesh().lanes().get());
    const auto exported = config_.hf_export ? path_join(place_.directory, "hf") : "";
    if (!exported.empty()) export_to(exported);
    std::vector<track::Sample> samples;
    model_->with_whole_positions([&] { samples = draw_samples(**model_, *text_, config_, place_); });
    if (!writes()) return;
    finish_run(config_, place_, {first_step_seconds_, waited_, trained_seconds_, *meter_},
               {std::move(evaluation), exported, std::move(samples)}, console_, *tracker_);
  }

  void export_to(const std::string& directory) {
    trainer_->require_finite_parameters();
    const auto dtype = core::parse_dtype(config_.hf_save_dtype);
    model_->lend_values([&](const PlacedModel::WholeValues& whole) {
      export_hugging_face(**model_, text_->tokenizer,
                          generation_of(place_.directory, text_->tokenizer, (*model_)->shape().vocab),
                          directory,
                          {.dtype = dtype, .values = [&](const auto& p) { return whole(p.parameter); }});
    });
  }

  // The first worker decides whether a checkpoint is due; then all compare what they hold alike, and each
  // writes its part where the model is spread over several.
  void save(RunEnd end) {
    const trace::Span span("checkpoint");
    auto step = trainer_->next_step();
    if (workers_->size() == 1) {
      checkpointer_->on_step(
          step,
          [&] {
            check_parameters(step);
            return content_to_save();
          },
          end);
      return;
    }
    workers_->activity(fmt::format("step {}: checkpoint", step));
    std::byte due{0};
    if (!writes()) {
      workers_->broadcast(0, {&due, 1});
      if (due != std::byte{0}) {
        check_parameters(step);
        if (model_->distributed()) part_writer_->save(content());
      }
      if (end != RunEnd::None) part_writer_->wait();
      return;
    }
    const auto together = [&] {
      due = std::byte{1};
      workers_->broadcast(0, {&due, 1});
      check_parameters(step);
      return content_to_save();
    };
    checkpointer_->on_step(step, together, end);
    if (due == std::byte{0}) workers_->broadcast(0, {&due, 1});
  }

  // What was logged until then is on the disk before the checkpoint: a run that goes on from it finds all.
  checkpoint::CheckpointContent content_to_save() {
    tracker_->flush();
    return content();
  }

  void prepare() {
    in_step("preparing the data", kPatience);
    if (writes()) {
      if (flags_.fresh) put_aside(place_.directory);
      if (config_.trainer.load_checkpoint == false) require_none(place_.directory);
      files().make_directories(place_.directory);
      continue_output_in(place_.log());
      checkpointer_ =
          std::make_unique<checkpoint::Checkpointer>(config_.trainer.checkpointer, place_.directory);
    } else {
      part_writer_ = std::make_unique<checkpoint::AsyncWriter>(place_.directory);
    }
    auto seq_len = config_.model.config->seq_len();
    text_ =
        prepare_text(config_, place_, seq_len, console_, std::nullopt, text_team(*workers_), Caches::Growing);
    require_training_data(*text_);
    end_with_the_data();
    model_.emplace(loaded_, workers_, text_->vocab_size());
    describe_model(*model_, console_);
    find_lanes(seq_len);
    if (writes()) {
      earlier_arithmetic_ = recorded_arithmetic(place_.directory);
      record_run(loaded_, place_, *text_, lanes_, started_);
      if (const auto from = model_to_start_from(config_); !from.empty())
        keep_generation(from, text_->tokenizer, place_.directory);
    }
    optimizer_ = optim::make_optimizer(config_.optimizer, model_->parameters());
    make_trainer(seq_len);
  }

  // The first worker looks what earlier starts have had.
  void find_lanes(std::int64_t seq_len) {
    const auto& trainer = config_.trainer;
    const bool goes_on = writes() && trainer.load_checkpoint != false;
    const auto found = goes_on ? recorded_lanes(place_.directory) : RecordedLanes();
    auto chosen = choose_lanes(trainer, seq_len, model_->mesh().shape(), found);
    workers_->broadcast(0, std::as_writable_bytes(std::span(&chosen, 1)));
    require_lanes(chosen, trainer, model_->mesh().shape(),
                  fmt::format("{} workers were started", workers_->size()));
    lanes_ = chosen.number;
    if (found.checkpoint.value_or(lanes_) != lanes_)
      console_.fact("lanes",
                    fmt::format("{} now, {} before: from here on the last digits differ from those of "
                                "a run that keeps its lanes",
                                lanes_, *found.checkpoint));
  }

  // Data that is read up ends the run, and its schedule.
  void end_with_the_data() {
    auto& steps = config_.trainer.num_train_steps;
    const auto most = data::Loader(text_->datasets.train, config_.trainer.batch_schedule()).num_steps();
    if (most >= steps) return;
    console_.fact("steps", fmt::format("{} instead of {}: the data is read up then", most, steps));
    steps = most;
  }

  // What no checkpoint may hold: other values than those of another worker, and values that are not finite.
  void check_parameters(std::int64_t step) {
    for (auto& guard : guards_) guard.before_checkpoint(step);
    trainer_->require_finite_parameters();
  }

  void make_trainer(std::int64_t seq_len) {
    const auto& t = config_.trainer;
    data::BatchSchedule schedule = t.batch_schedule();
    train::TrainerOptions options{.total_steps = t.num_train_steps,
                                  .stop_at_step = t.stop_at_step,
                                  .lanes = lanes_,
                                  .seed = static_cast<std::uint64_t>(t.seed),
                                  .dropout = true,
                                  .fast_reduction = t.reduction == "fast",
                                  .crash_on_nan = t.crash_on_nan,
                                  .crash_on_inf = t.crash_on_inf};
    options.loss = {
        .compute = t.mp.compute, .z_loss = config_.z_loss_weight, .chunk = config_.cross_entropy_chunk};
    std::optional<optim::SkipStep> skip;
    if (config_.optimizer.skip_bad_steps) skip.emplace(*config_.optimizer.skip_bad_steps);
    train::Trainer::Parts parts{**model_,
                                *optimizer_,
                                optim::Schedule(config_.optimizer, t.num_train_steps),
                                skip,
                                [this](std::int64_t) { return next_batch(); },
                                [this] { return stop_is_wanted(); },
                                {[this](const auto& r) { after_step(r); }},
                                model_->mesh().lanes(),
                                model_->sharded(),
                                workers_};
    trainer_ = std::make_unique<train::Trainer>(std::move(parts), options);
    guards_.emplace_back(*model_->mesh().lanes(), model_->replicas(), t.check_replicas_every);
    if (model_->mesh().shape().workers_per_lane() > 1)
      guards_.emplace_back(*workers_, model_->replicas_everywhere(), t.check_replicas_every);
    console_.fact("batch",
                  fmt::format("{} sequences = {} tokens · {} lane{}", schedule.batch_size(0),
                              with_commas(schedule.batch_size(0) * seq_len), lanes_, lanes_ == 1 ? "" : "s"));
    if (workers_->size() > 1) console_.fact("mesh", model_->describe_workers());
    auto flops = flops_model((*model_)->shape(), seq_len);
    meter_ = std::make_unique<track::ThroughputMeter>(track::ThroughputOptions{
        .flops_per_token = track::training_flops_per_token(flops),
        .flops_per_token_causal = track::training_flops_per_token(flops, track::AttentionFlops::Causal)});
  }

  // Read ahead in another thread; what batch belongs to a step does not depend on that.
  data::Prefetcher& prefetcher() {
    if (!prefetcher_)
      prefetcher_ = std::make_unique<data::Prefetcher>(
          data::Loader(text_->datasets.train, config_.trainer.batch_schedule()), trainer_->next_step(),
          data::PrefetchOptions{.wanted = [this](std::int64_t row, std::int64_t size) {
            return trainer_->computes(row, size);
          }});
    return *prefetcher_;
  }

  // A batch of a cache that is still being built may be long in coming: who waits for it can be stopped.
  bool stop_is_wanted() {
    const double before = monotonic_seconds();
    growing_->wait([this] { return prefetcher().ready(); });
    const double waited = monotonic_seconds() - before;
    waited_ += waited;
    trained_seconds_ += waited;
    return train::StopSignals::requested();
  }

  data::Batch next_batch() {
    auto batch = prefetcher().next();
    if (!batch) fail(ErrorKind::InvalidArgument, "data: it is read up before step {}", trainer_->next_step());
    return std::move(*batch);
  }

  void resume() {
    auto parameters = checkpoint::checkpoint_arrays(trainer_->parameters());
    auto optimizer = checkpoint::checkpoint_arrays(optimizer_->state());
    model_->mark_blocks(parameters);
    model_->mark_blocks(optimizer);
    auto restored = config_.trainer.load_checkpoint == false ? std::nullopt : restore(parameters, optimizer);
    if (restored) {
      keep_data_order(restored->state);
      meter_->resume(json_get<std::int64_t>(restored->state, "tokens", "state.json", 0));
      console_.fact("resumed", fmt::format("at step {} of {} (checkpoint verified)", trainer_->next_step(),
                                           config_.trainer.num_train_steps));
      tell_of_other_arithmetic();
    } else if (config_.trainer.load_checkpoint == true) {
      fail(ErrorKind::NotFound, "trainer.load_checkpoint is true but {} holds no checkpoint",
           place_.directory);
    } else if (auto from = config_.initialize_from_checkpoint_path ? config_.initialize_from_checkpoint_path
                                                                   : config_.trainer.initialize_from) {
      checkpoint::restore_parameters(checkpoint::find_checkpoint(*from), parameters);
      console_.fact("weights", "from " + *from);
    }
    if (!writes()) return;
    tracker_ =
        track::make_tracker(config_.trainer.trackers(), {place_.directory, place_.id, trainer_->next_step()});
    tracker_->log_hyperparameters({{"config", write_config(config_)}});
  }

  // A run goes on in the order of data that it began with.
  void keep_data_order(const Json& state) {
    const auto order = data_order_of(state);
    auto& train = text_->datasets.train;
    if (order == train->order()) return;
    train = train->in_order(order);
    console_.fact("data order", fmt::format("{}, in which this run began; a new run has order {}: every pass "
                                            "over a data set is complete before the next",
                                            static_cast<int>(order), static_cast<int>(data::kDataOrder)));
  }

  void tell_of_other_arithmetic() {
    const auto now = core::runtime_info().arithmetic;
    if (earlier_arithmetic_.empty() || earlier_arithmetic_ == now) return;
    console_.fact("arithmetic", fmt::format("{} now, {} before: from here on the last digits differ from "
                                            "those of a run that stays on one kind of CPU",
                                            now, earlier_arithmetic_));
  }

  // All read the same one, which the first worker chooses; it sets damaged ones aside.
  std::optional<checkpoint::Restored> restore(std::span<const checkpoint::CheckpointArray> parameters,
                                              std::span<const checkpoint::CheckpointArray> optimizer) {
    in_step("reading the checkpoint", kPatience);
    const checkpoint::RestoreOptions options{[this](const Json& state) { trainer_->load_state(state); },
                                             workers_.get()};
    auto restored = writes() ? checkpointer_->restore(parameters, optimizer, options)
                             : checkpoint::restore_latest(place_.directory, parameters, optimizer, options);
    workers_->barrier();  // none is removed before all have read
    return restored;
  }

  // All of the data is there now.
  void after_building() {
    if (writes()) record_run(loaded_, place_, *text_, lanes_, started_);
    show_baseline();
  }

  void show_baseline() {
    double entropy = baseline_entropy(*text_);
    console_.fact(
        "baseline",
        fmt::format("unigram entropy {:.2f} nats: a model that knows only word frequencies", entropy));
  }

  checkpoint::CheckpointContent content() {
    checkpoint::CheckpointContent c;
    c.step = trainer_->next_step();
    c.lanes = lanes_;
    c.config_hash = hash128(config_identity(config_)).hex();
    c.parameters = checkpoint::checkpoint_arrays(trainer_->parameters());
    c.optimizer = checkpoint::checkpoint_arrays(optimizer_->state());
    if (model_->distributed()) model_->assemble(c);
    c.state = trainer_->save_state();
    c.state["model"] = (*model_)->hf_config();
    c.state["tokens"] = meter_->total_tokens();
    c.state["data_order"] = text_->datasets.train->order();
    return c;
  }

  void after_step(const train::StepResult& r) {
    if (first_step_seconds_ == 0) first_step_seconds_ = seconds_since_start();
    waited_ += r.loading_seconds;
    trained_seconds_ += r.seconds;
    meter_->step(r.tokens, r.examples, r.seconds);
    if (writes()) log_metrics(r);
    auto done = r.step + 1, total = config_.trainer.num_train_steps;
    growing_->look();
    if (r.empty)
      tell_of_empty_batch(r.step);
    else
      shown_loss_ = r.loss;
    console_.step({done, total, shown_loss_, meter_->tokens_per_second(), r.learning_rate,
                   meter_->eta(total - done), std::nullopt, growing_->note()});
    for (auto& guard : guards_) guard.after_step(done);
    if (config_.trainer.steps_per_eval > 0 && done % config_.trainer.steps_per_eval == 0 && done < total) {
      const trace::Span span("evaluation");
      growing_->wait_for_all();
      auto metrics = evaluate_sources(**model_, *text_, config_, console_, model_->mesh().lanes().get());
      if (writes()) tracker_->log(r.step, metrics);
    }
    export_if_due(done);
    save(RunEnd::None);  // after what belongs to this step: a run that goes on from it does not do that again
    profile_->at_boundary(done);
  }

  // One at first, then ever more seldom.
  void tell_of_empty_batch(std::int64_t step) const {
    const auto n = static_cast<std::uint64_t>(trainer_->empty_batches());
    if (!writes() || !std::has_single_bit(n)) return;
    log_warning(
        "step {}: no token of the batch counts (all loss weights are 0); skipped, as {} batch{} so far", step,
        n, n == 1 ? "" : "es");
  }

  void export_if_due(std::int64_t done) {
    if (!config_.hf_save_path || done % config_.hf_save_steps != 0) return;
    workers_->deadline(kPatience);  // of a disk
    export_to(fmt::format("{}/step-{}", *config_.hf_save_path, done));
    begin_training();
  }

  void log_metrics(const train::StepResult& r) {
    std::vector<track::Metric> metrics;
    if (!r.empty) metrics.push_back({"train/loss", r.loss});
    metrics.push_back({"train/tokens", r.weight});
    metrics.push_back({"optim/learning_rate", r.learning_rate});
    if (!r.empty) {
      metrics.push_back({"optim/gradient_norm", r.gradient_norm});
      metrics.push_back({"optim/clip_factor", r.clip_factor});
    }
    if (const auto n = trainer_->empty_batches(); n > 0)
      metrics.push_back({"train/empty_batches", static_cast<double>(n)});
    if (config_.optimizer.skip_bad_steps || r.skipped)
      metrics.push_back({"optim/skipped_step", r.skipped ? 1.0 : 0.0});
    if (r.update_norm) metrics.push_back({"optim/update_norm", *r.update_norm});
    for (auto& m : meter_->metrics()) metrics.push_back(m);
    metrics.push_back({"throughput/loading_time", r.loading_seconds});
    metrics.push_back({"memory/peak_mb", peak_memory_mb()});
    tracker_->log(r.step, metrics);
  }

  void report_stop(std::int64_t step) {
    tracker_->finish();
    if (step == 0) return console_.line("stopped before the first step; there is nothing to save");
    console_.line(fmt::format("stopped: step {} done, checkpoint {} written ({:.2f} s)", step,
                              checkpoint::checkpoint_name(step), checkpointer_->last_write_seconds()));
    console_.line(fmt::format("run it again to go on from step {}", step));
  }

  LoadedConfig& loaded_;
  LmConfig& config_;
  RunFlags flags_;
  RunPlace place_;
  track::Console& console_;
  std::shared_ptr<mesh::Communicator> workers_;
  std::optional<TextData> text_;
  std::optional<PlacedModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<train::Trainer> trainer_;
  std::optional<Profile> profile_;
  std::vector<ReplicaGuard> guards_;
  std::unique_ptr<checkpoint::Checkpointer> checkpointer_;
  std::unique_ptr<checkpoint::AsyncWriter> part_writer_;  // of the others, where parameters are sharded
  std::unique_ptr<data::Prefetcher> prefetcher_;
  std::optional<GrowingText> growing_;  // ends before the prefetcher, which may be waiting for it
  std::unique_ptr<track::Tracker> tracker_;
  std::unique_ptr<track::ThroughputMeter> meter_;
  std::int64_t lanes_ = 1;
  std::string earlier_arithmetic_;
  double started_ = wall_seconds();
  double shown_loss_ = 0;
  double first_step_seconds_ = 0, waited_ = 0, trained_seconds_ = 0;
};

// What can be told before any data is read, and by --dry_run in the same words.
void require_startable(const LoadedConfig& loaded) {
  auto problems = size_problems(loaded.config);
  for (auto& problem : loaded.config.data.training_problems()) problems.push_back(std::move(problem));
  for (auto& problem : problems) problem.where = loaded.tree.where(problem.key);
  if (!problems.empty()) throw Error(ErrorKind::Config, format_problems(loaded.first_file, problems));
}

}  // namespace

int run_training(const LoadedConfig& given, const RunFlags& flags) {
  auto loaded = given;
  require_startable(loaded);
  auto place = run_place(loaded.config);
  place.config_file = loaded.first_file;
  const auto launch = mesh::launch_environment();
  track::Console console(track::detect_console(flags.quiet || launch.rank != 0, flags.json));
  if (flags.dry_run) return print_dry_run(loaded, place, flags, console);
  require_memory(*loaded.config.model.config, launch.size);
  outlive_readers();
  auto workers = join_workers(launch, loaded.config.trainer);
  auto info = core::runtime_info();
  std::vector<std::string> parts = {
      fmt::format("Bora {}", BORA_VERSION), loaded.name, "run " + place.id,
      fmt::format("CPU {} ({} threads, {})", info.cpu, info.threads, info.instructions),
      fmt::format("seed {}", loaded.config.trainer.seed)};
  console.header(parts);
  return Run(loaded, flags, place, console, std::move(workers))();
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/session.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/core/device_kernels.h"
#include "bora/optim/add_optimizer.h"
#include "bora/optim/weight_decay.h"
#include "bora/run/data_end.h"
#include "bora/run/generation_config.h"
#include "bora/run/join_workers.h"
#include "bora/run/run_lanes.h"
#include "bora/run/run_record.h"
#include "bora/run/start_weights.h"
#include "bora/train/reduction.h"
#include "bora/train/signals.h"

namespace bora::run {

namespace {

void describe_model(PlacedModel& model, track::Console& console) {
  auto s = model->shape();
  const auto [elements, trained] = model.counts();
  console.fact("model",
               fmt::format("{} · {} parameters · {} layers × {} · context {}", s.type,
                           human_count(static_cast<double>(elements)), s.layers, s.hidden, s.seq_len));
  if (const auto stored = model.stored_vocab())
    console.fact("vocabulary", fmt::format("the stored model has {} embeddings, the tokenizer {} ids: {}",
                                           with_commas(*stored), with_commas(s.vocab),
                                           *stored < s.vocab ? "new rows are the mean of the stored ones"
                                                             : "rows beyond the tokenizer's are left out"));
  if (const auto adapters = record_of_adapters(*model); !adapters.is_null())
    console.fact("adapters", describe_adapters(adapters));
  if (trained == elements) return;
  const auto parameters = model.parameters();
  console.fact("trained", fmt::format("{} of {} parameters, in {} of {} arrays; the others are frozen",
                                      with_commas(trained), with_commas(elements),
                                      core::trainable_parameters(parameters).size(), parameters.size()));
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

std::unique_ptr<track::ThroughputMeter> meter_of(const nn::ModelShape& shape, std::int64_t seq_len,
                                                 const Peak& peak) {
  if (shape.hears())
    return std::make_unique<track::ThroughputMeter>(
        track::ThroughputOptions{});  // its encoder's work is not counted
  const auto flops = flops_model(shape, seq_len);
  return std::make_unique<track::ThroughputMeter>(track::ThroughputOptions{
      .flops_per_token = track::training_flops_per_token(flops),
      .flops_per_token_causal = track::training_flops_per_token(flops, track::AttentionFlops::Causal),
      .flops_per_token_palm =
          track::palm_flops_per_token(track::active_parameters(flops, shape.tied_head), flops),
      .peak_flops = peak.per_second});
}

std::optional<data::Augmentation> augmentation_of(const LmConfig& config) {
  if (!config.data.spec_augment) return std::nullopt;
  const auto seed = static_cast<std::uint64_t>(config.data_seed.value_or(config.trainer.seed));
  return data::Augmentation{*config.data.spec_augment, Key::from_seed(seed).fold("spec_augment")};
}

train::TrainerOptions trainer_options(const LmConfig& config, std::int64_t lanes) {
  const auto& t = config.trainer;
  train::TrainerOptions options{.total_steps = t.num_train_steps,
                                .stop_at_step = t.stop_at_step,
                                .lanes = lanes,
                                .seed = static_cast<std::uint64_t>(t.seed),
                                .dropout = true,
                                .fp8 = t.fp8,
                                .crash_on_nan = t.crash_on_nan,
                                .crash_on_inf = t.crash_on_inf,
                                .graphs = t.cuda_graphs};
  options.loss = {
      .compute = t.mp.compute, .z_loss = config.z_loss_weight, .chunk = config.cross_entropy_chunk};
  return options;
}

}  // namespace

Session::Session(const LoadedConfig& loaded, RunPlace place, track::Console& console,
                 std::shared_ptr<mesh::Communicator> workers, std::optional<Tokenizer> tokenizer)
    : loaded_(loaded),
      place_(std::move(place)),
      console_(console),
      workers_(std::move(workers)),
      tokenizer_(std::move(tokenizer)) {}

void Session::meet(std::string_view activity, double patience) {
  workers_->barrier();
  workers_->activity(activity);
  workers_->deadline(patience);
}

void Session::prepare() {
  text_ = prepare_text(config(), place_, sequences_of(config().model.config->shape(1)), console_, tokenizer_,
                       text_team(*workers_), Caches::Growing);
  require_training_data(*text_);
  end_with_the_data();
  model_.emplace(loaded_, workers_, text_->vocab_size());
  describe_model(*model_, console_);
  if (config().lora) base_of_adapters_ = run::base_of_adapters(config(), place_.directory);
  find_lanes();
  if (is_first()) {
    earlier_arithmetic_ = recorded_arithmetic(place_.directory);
    earlier_peak_ = recorded_peak(place_.directory, workers_->size(), config().trainer.mp.compute);
    if (const auto from = model_to_start_from(config()); !from.empty())
      keep_generation(from, text_->tokenizer, place_.directory);
  }
  const auto trained = core::trainable_parameters(model_->parameters());
  optimizer_ = optim::make_optimizer(config().optimizer, trained);
  if (const auto text = optim::describe_decay(*config().optimizer.config, trained); !text.empty())
    console_.fact("decay", text);
  make_trainer();
}

void Session::record() const {
  if (!is_first()) return;
  record_run(loaded_, place_, *text_,
             {.time = started_,
              .step = start_step_,
              .lanes = lanes_,
              .workers = workers_->size(),
              .peak = peak_,
              .takes_other_data = takes_other_data_});
}

// Rank 0 looks what earlier starts have had.
void Session::find_lanes() {
  const auto& trainer = config().trainer;
  const bool goes_on = is_first() && trainer.load_checkpoint != false;
  const auto found = goes_on ? recorded_lanes(place_.directory) : RecordedLanes();
  const auto& shape = model_->mesh().shape();
  auto chosen = choose_lanes(trainer, config().model.config->seq_len(), shape, found);
  workers_->broadcast(0, std::as_writable_bytes(std::span(&chosen, 1)));
  require_lanes(chosen, trainer, shape, fmt::format("{} workers were started", workers_->size()));
  lanes_ = chosen.number;
  if (found.checkpoint.value_or(lanes_) != lanes_)
    console_.fact("lanes", fmt::format("{} now, {} before: from here on the last digits differ from those of "
                                       "a run that keeps its lanes",
                                       lanes_, *found.checkpoint));
}

// Data that is read up ends the run, and its schedule.
void Session::end_with_the_data() {
  auto& steps = loaded_.config.trainer.num_train_steps;
  const auto most = data::Loader(text_->datasets.train, config().trainer.batch_schedule()).num_steps();
  if (most >= steps) return;
  console_.fact("steps", fewer_steps(most, steps));
  steps = most;
  ends_with_the_data_ = true;
}

std::string Session::words_to_go_on() const {
  const auto& words = place_.command;
  if (!ends_with_the_data_)
    return with_flag(words, "--trainer.num_train_steps",
                     std::to_string(2 * config().trainer.num_train_steps));
  const auto passes = std::to_string(2 * config().data.max_epochs.value_or(1));
  const bool by_epoch = config().epoch > 0;
  auto out = by_epoch ? with_flag(words, "--epoch", passes) : words;
  if (!by_epoch || loaded_.tree.has("data.max_epochs")) out = with_flag(out, "--data.max_epochs", passes);
  return out + " --accept_changes";
}

void Session::make_trainer() {
  const auto& t = config().trainer;
  std::optional<optim::SkipStep> skip;
  if (config().optimizer->skip_bad_steps) skip.emplace(*config().optimizer->skip_bad_steps);
  train::Trainer::Parts parts{
      **model_,
      *optimizer_,
      optim::Schedule(*config().optimizer.config, t.num_train_steps),
      skip,
      [this](std::int64_t) { return next_batch(); },
      [this] { return stop_is_wanted(); },
      {[this](const auto& result) {
        for (auto* hook : hooks_) hook->after_step(result);
      }},
      train::make_reducer(t.reduction, model_->mesh().lanes(), (*model_)->parameters(), model_->sharded()),
      workers_};
  trainer_ = std::make_unique<train::Trainer>(std::move(parts), trainer_options(config(), lanes_));
  const auto seq_len = config().model.config->seq_len(), sequences = t.batch_schedule().batch_size(0);
  console_.fact("batch", fmt::format("{} sequences = {} tokens · {} lane{}", sequences,
                                     with_commas(sequences * seq_len), lanes_, lanes_ == 1 ? "" : "s"));
  if (t.fp8)
    console_.fact("fp8", "linear maps in E4M3, gradients of their results in E5M2; evaluation in bf16");
  if (workers_->size() > 1) console_.fact("mesh", model_->describe_workers());
  peak_ = find_peak(t, earlier_peak_, *workers_);
  // Its matrices may be more than all arrays of a tiny run.
  core::count_memory_anew(core::default_device());
  console_.fact("peak", describe_peak(peak_, t.mp.compute));
  meter_ = meter_of((*model_)->shape(), seq_len, peak_);
}

void Session::open(std::function<void()> when_built) {
  start_step_ = trainer_->next_step();
  record();
  if (is_first()) {
    tracker_ = track::make_tracker(config().trainer.trackers(),
                                   {.directory = place_.directory,
                                    .id = place_.id,
                                    .first_step = start_step_,
                                    .ends_again = start_step_ >= config().trainer.num_train_steps});
    tracker_->log_hyperparameters({{"config", write_config(loaded_.config)}});
  } else {
    tracker_ = std::make_unique<track::CompositeTracker>(track::CompositeTracker::Trackers());
  }
  growing_.emplace(*text_, console_, *workers_, std::move(when_built));
}

train::Outcome Session::train(std::span<Hook* const> hooks) {
  hooks_ = hooks;
  meet_for_training();
  for (auto* hook : hooks) hook->begin();
  const auto outcome = trainer_->run();
  console_.settle();
  for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) (*hook)->end(outcome);
  return outcome;
}

// Read ahead in another thread; what batch belongs to a step does not depend on that.
data::Prefetcher& Session::prefetcher() {
  if (!prefetcher_)
    prefetcher_ = std::make_unique<data::Prefetcher>(
        data::Loader(text_->datasets.train, config().trainer.batch_schedule(), augmentation_of(config())),
        trainer_->next_step(), data::PrefetchOptions{.wanted = [this](std::int64_t row, std::int64_t size) {
          return trainer_->computes(row, size);
        }});
  return *prefetcher_;
}

data::Batch Session::next_batch() {
  auto batch = prefetcher().next();
  if (!batch) fail(ErrorKind::InvalidArgument, "data: it is read up before step {}", trainer_->next_step());
  return std::move(*batch);
}

// A batch of a cache that is still being built may be long in coming: who waits for it can be stopped.
bool Session::stop_is_wanted() {
  const double before = monotonic_seconds();
  growing_->wait([this] { return prefetcher().ready(); });
  waited_ += monotonic_seconds() - before;
  return train::StopSignals::requested();
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One start of a run on this rank: what its hooks (run/hooks) share.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bora/base/clock.h"
#include "bora/data/prefetcher.h"
#include "bora/mesh/communicator.h"
#include "bora/optim/optimizer.h"
#include "bora/run/growing_text.h"
#include "bora/run/hook.h"
#include "bora/run/lm_config.h"
#include "bora/run/peak_flops.h"
#include "bora/run/placed_model.h"
#include "bora/run/run_place.h"
#include "bora/run/text_data.h"
#include "bora/track/console.h"
#include "bora/track/throughput.h"
#include "bora/track/tracker.h"
#include "bora/train/trainer.h"

namespace bora::run {

class Session {
 public:
  Session(const LoadedConfig& loaded, RunPlace place, track::Console& console,
          std::shared_ptr<mesh::Communicator> workers, std::optional<Tokenizer> tokenizer = std::nullopt);

  /// Tokenizer, token caches, model, optimizer and trainer. Collective, as all below.
  void prepare();
  /// Trackers and the caches that are still being built, once it is known at which step the run goes on.
  void open(std::function<void()> when_built);
  /// Steps until the end, or until a rank is asked to stop, and the hooks around them.
  train::Outcome train(std::span<Hook* const> hooks);

  /// Rank 0 writes what one rank writes. The tracker and the console of the others are silent.
  bool is_first() const { return workers_->rank() == 0; }
  /// All come to the same place; what follows, which `activity` names, may keep one of them for `patience`
  /// seconds.
  void meet(std::string_view activity, double patience);
  void meet_for_training() { meet("training", config().trainer.worker_timeout); }
  /// run.json, config.yaml and the tokenizer, written by rank 0. Config error for other data than before, unless that
  /// is accepted.
  void record() const;
  void accept_other_data() { takes_other_data_ = true; }

  const LmConfig& config() const { return loaded_.config; }
  const RunPlace& place() const { return place_; }
  track::Console& console() { return console_; }
  mesh::Communicator& workers() { return *workers_; }
  std::shared_ptr<mesh::Communicator> shared_workers() { return workers_; }
  /// The model that the adapters are for: what the run began with, or what that has adapters for.
  const std::string& base_of_adapters() const { return base_of_adapters_; }
  TextData& text() { return *text_; }
  PlacedModel& model() { return *model_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  train::Trainer& trainer() { return *trainer_; }
  /// Since this start.
  bool has_stepped() const { return trainer_ && trainer_->next_step() > start_step_; }
  track::Tracker& tracker() { return *tracker_; }
  track::ThroughputMeter& meter() { return *meter_; }
  GrowingText& growing() { return *growing_; }
  std::int64_t lanes() const { return lanes_; }
  /// How the run was computed when it was last started; empty if nobody knows.
  const std::string& earlier_arithmetic() const { return earlier_arithmetic_; }
  /// The words of `bora train` with which the run would go on behind its end: more steps, or more passes over data that
  /// is read up.
  std::string words_to_go_on() const;
  /// Seconds that this start has waited for batches between steps.
  double waited() const { return waited_; }

 private:
  void find_lanes();
  void end_with_the_data();
  void make_trainer();
  data::Prefetcher& prefetcher();
  data::Batch next_batch();
  bool stop_is_wanted();

  LoadedConfig loaded_;
  RunPlace place_;
  track::Console& console_;
  std::shared_ptr<mesh::Communicator> workers_;
  double started_ = wall_seconds();
  std::optional<Tokenizer> tokenizer_;  // loaded already, or none
  std::optional<TextData> text_;
  std::optional<PlacedModel> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<train::Trainer> trainer_;
  std::unique_ptr<data::Prefetcher> prefetcher_;
  std::optional<GrowingText> growing_;  // ends before the prefetcher, which may be waiting for it
  std::unique_ptr<track::Tracker> tracker_;
  std::unique_ptr<track::ThroughputMeter> meter_;
  std::span<Hook* const> hooks_;
  std::string base_of_adapters_;
  bool takes_other_data_ = false;
  bool ends_with_the_data_ = false;
  std::int64_t lanes_ = 1;
  std::int64_t start_step_ = 0;
  std::string earlier_arithmetic_;
  std::optional<double> earlier_peak_;
  Peak peak_;
  double waited_ = 0;
};

}  // namespace bora::run

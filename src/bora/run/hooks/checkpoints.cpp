// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/checkpoints.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/log.h"
#include "bora/base/output.h"
#include "bora/base/trace.h"
#include "bora/checkpoint/restore.h"
#include "bora/core/runtime.h"
#include "bora/run/adapters.h"
#include "bora/run/data_order.h"
#include "bora/run/join_workers.h"
#include "bora/run/start_weights.h"

namespace bora::run {

using checkpoint::RunEnd;

namespace {

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

// A run goes on in the order of data that it began with.
void keep_data_order(Session& session, const Json& state) {
  const auto order = data_order_of(state);
  auto& train = session.text().datasets.train;
  if (order == train->order()) return;
  train = train->in_order(order);
  session.console().fact("data order",
                         fmt::format("{}, in which this run began; a new run has order {}: every pass over a "
                                     "data set is complete before the next",
                                     static_cast<int>(order), static_cast<int>(data::kDataOrder)));
}

void tell_of_other_arithmetic(Session& session) {
  const auto now = core::runtime_info().arithmetic;
  const auto& before = session.earlier_arithmetic();
  if (before.empty() || before == now) return;
  session.console().fact("arithmetic",
                         fmt::format("{} now, {} before: from here on the last digits differ from those of a "
                                     "run that stays on one kind of processor",
                                     now, before));
}

Json adapters_of(const Json& state) { return state.contains("lora") ? state["lora"] : Json(); }

void require_same_adapters(nn::LanguageModel& model, const Json& state) {
  const auto here = record_of_adapters(model), there = adapters_of(state);
  if (same_adapters(here, there)) return;
  fail(
      ErrorKind::Config,
      "lora: this run has other adapters than its checkpoint: {} here, {} there\nhint: the configuration that "
      "it began with; or another run id (trainer.id)",
      describe_adapters(here), describe_adapters(there));
}

}  // namespace

Checkpoints::Checkpoints(Session& session) : session_(session) {
  const auto& place = session.place();
  if (!session.is_first()) {
    part_writer_ = std::make_unique<checkpoint::AsyncWriter>(place.directory);
    return;
  }
  const auto& trainer = session.config().trainer;
  if (trainer.load_checkpoint == false) require_none(place.directory);
  checkpointer_ = std::make_unique<checkpoint::Checkpointer>(
      trainer.checkpointer, place.directory,
      checkpoint::SaveOptions{.part_deadline = trainer.worker_timeout});
  continue_output_in(place.log());
}

void Checkpoints::restore(const checkpoint::VerifiedCheckpoint* verified) {
  const auto& config = session_.config();
  auto parameters = checkpoint::checkpoint_arrays(session_.model().parameters());
  auto optimizer = checkpoint::checkpoint_arrays(session_.optimizer().state());
  session_.model().mark_blocks(parameters);
  session_.model().mark_blocks(optimizer);
  const auto restored = config.trainer.load_checkpoint == false
                            ? std::nullopt
                            : restore_newest(parameters, optimizer, verified);
  if (restored) return go_on(restored->state);
  if (config.trainer.load_checkpoint == true) {
    fail(ErrorKind::NotFound,
         "trainer.load_checkpoint is true but {} holds no checkpoint\n"
         "hint: name the run that has one (trainer.id), or leave the key out",
         session_.place().directory);
  }
  const auto& from = config.checkpoint_to_start_from();
  if (!from) return;
  const auto there = checkpoint::find_checkpoint(*from);
  checkpoint::restore_parameters(there,
                                 arrays_to_start_with(*session_.model(), there, std::move(parameters)));
  session_.console().fact("weights", "from " + *from);
}

void Checkpoints::go_on(const Json& state) {
  keep_data_order(session_, state);
  session_.meter().resume(json_get<std::int64_t>(state, "tokens", "state.json", 0));
  session_.console().fact(
      "resumed", fmt::format("at step {} of {} (checkpoint verified)", session_.trainer().next_step(),
                             session_.config().trainer.num_train_steps));
  tell_of_other_arithmetic(session_);
}

// All read the same one, which rank 0 chooses; it sets damaged ones aside.
std::optional<checkpoint::Restored> Checkpoints::restore_newest(
    Arrays parameters, Arrays optimizer, const checkpoint::VerifiedCheckpoint* verified) {
  session_.meet("reading the checkpoint", kPatience);
  const checkpoint::RestoreOptions options{[this](const Json& state) {
                                             require_same_adapters(*session_.model(), state);
                                             session_.trainer().load_state(state);
                                           },
                                           &session_.workers(), verified};
  auto restored =
      checkpointer_ ? checkpointer_->restore(parameters, optimizer, options)
                    : checkpoint::restore_latest(session_.place().directory, parameters, optimizer, options);
  session_.workers().barrier();  // none is removed before all have read
  return restored;
}

void Checkpoints::begin() {
  const bool steps_come = session_.trainer().next_step() < session_.config().trainer.num_train_steps;
  if (checkpointer_ && !session_.model().distributed() && steps_come) checkpointer_->prepare(content());
}

void Checkpoints::after_step(const train::StepResult& /*result*/) { save(RunEnd::None); }

void Checkpoints::end(train::Outcome outcome) {
  session_.meet("waiting for the end of the run", kPatience);
  save(outcome == train::Outcome::stopped ? RunEnd::Stopped : RunEnd::Finished);
  if (checkpointer_) checkpointer_->wait();
}

// Rank 0 decides whether a checkpoint is due; then all compare what they hold alike, and each writes its part
// where the model is spread over several.
void Checkpoints::save(RunEnd end) {
  const trace::Span span("checkpoint");
  const auto step = session_.trainer().next_step();
  auto& workers = session_.workers();
  if (workers.size() > 1) workers.activity(fmt::format("step {}: checkpoint", step));
  if (!checkpointer_) return follow(end);
  std::byte due{0};
  const auto tell = [&] {
    if (workers.size() > 1) workers.broadcast(0, {&due, 1});
  };
  const auto together = [&] {
    due = std::byte{1};
    tell();
    check(step);
    return content_to_save();
  };
  checkpointer_->on_step(step, together, end);
  if (due == std::byte{0}) tell();
}

void Checkpoints::follow(RunEnd end) {
  std::byte due{0};
  session_.workers().broadcast(0, {&due, 1});
  if (due != std::byte{0}) {
    check(session_.trainer().next_step());
    const auto failed = part_writer_->settle();
    if (!failed.empty())
      log_warning("a part of a checkpoint was not saved ({}); the next one is written", failed);
    if (session_.model().distributed()) part_writer_->save(content());
  }
  if (end != RunEnd::None) part_writer_->wait();
}

// What no checkpoint may hold: other values than those of another rank, and values that are not finite.
void Checkpoints::check(std::int64_t step) {
  for (const auto& each : checks_) each(step);
  session_.trainer().require_finite_parameters();
}

// What was logged until then is on the disk before the checkpoint: a run that goes on from it finds all.
checkpoint::CheckpointContent Checkpoints::content_to_save() {
  session_.tracker().flush();
  return content();
}

checkpoint::CheckpointContent Checkpoints::content() {
  auto& trainer = session_.trainer();
  auto& model = session_.model();
  checkpoint::CheckpointContent c;
  c.step = trainer.next_step();
  c.lanes = session_.lanes();
  auto config = session_.config();
  c.config_hash = hash128(config_identity(config)).hex();
  c.parameters = checkpoint::checkpoint_arrays(model.parameters());
  c.optimizer = checkpoint::checkpoint_arrays(session_.optimizer().state());
  if (model.distributed()) model.assemble(c);
  c.state = trainer.save_state();
  c.state["model"] = model->hf_config();
  if (const auto adapters = record_of_adapters(*model); !adapters.is_null()) {
    c.state["lora"] = adapters;
    c.state["lora_base"] = session_.base_of_adapters();
  }
  c.state["tokens"] = session_.meter().total_tokens();
  c.state["data_order"] = session_.text().datasets.train->order();
  return c;
}

}  // namespace bora::run

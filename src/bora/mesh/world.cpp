// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// An alarm is `w<call, in activity>` from a worker that has waited too long, or `f<reason>` from one that
// failed.
#include "bora/mesh/world.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/mesh/watchdog.h"

namespace bora::mesh {
namespace {

constexpr double kEager = 0.002;  // seconds without naps: the usual distance between workers
constexpr double kLongestNap = 0.001;
constexpr double kBetweenLooks = 0.1;  // seconds
constexpr double kGrace = 0.3;         // seconds, after another worker's failure
constexpr const char* kHintOfAFailure =
    "hint: look at that worker's log and machine; started again, the run goes on from its newest checkpoint";

std::size_t host_slot(int rank) { return static_cast<std::size_t>(rank); }

void rest(double waited) {
  if (waited < kEager) {
    sched_yield();
    return;
  }
  const double nap = std::min(waited / 100, kLongestNap);
  const timespec time{0, static_cast<long>(nap * 1e9)};
  nanosleep(&time, nullptr);
}

}  // namespace

World::World(std::unique_ptr<WorldTransport> transport, double deadline_seconds)
    : transport_(std::move(transport)),
      deadline_(deadline_seconds),
      limit_(deadline_seconds),
      exceptions_(std::uncaught_exceptions()) {
  hosts_.assign(host_slot(size()), "not known yet");
  hosts_[host_slot(rank())] = transport_->host();
  processes_.assign(host_slot(size()), this_process());
  if (size() > 1) gather_cards();
}

World::~World() {
  if (!broken() && std::uncaught_exceptions() > exceptions_) abandon("it ended with an error");
  try {
    set_activity("end");
    set_deadline(limit_);
    // A worker that is not there would let the transport's own end wait for ever.
    if (!broken()) meet("close");
    if (!broken()) watched("close", [&] { transport_->close(); }, Comers::are_here);
  } catch (...) {
    abandon("it could not end");
  }
  if (broken()) transport_->abandon();
}

// A byte to and from everybody.
void World::meet(std::string_view call) {
  const std::byte token{};
  std::vector<std::byte> tokens(hosts_.size());
  std::vector<Message> messages;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank()) messages.push_back({peer, {&token, 1}, {&tokens[host_slot(peer)], 1}});
  }
  guarded(call, [&] { transport_->start(messages); });
  wait(call, [&] { return transport_->finished(); });
}

void World::gather_cards() {
  std::vector<Card> all(hosts_.size());
  auto& mine = all[host_slot(rank())];
  hosts_[host_slot(rank())].copy(mine.host, sizeof mine.host - 1);
  mine.process = this_process();
  std::vector<Message> messages;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank())
      messages.push_back({peer, std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(&all[host_slot(peer)], 1))});
  guarded("start", [&] { transport_->start(messages); });
  wait("start", [&] { return transport_->finished(); });
  for (int r = 0; r < size(); ++r) {
    hosts_[host_slot(r)] = all[host_slot(r)].host;
    processes_[host_slot(r)] = all[host_slot(r)].process;
  }
}

void World::require_whole() const {
  if (failure_) throw Error(ErrorKind::Stopped, *failure_);
}

void World::guarded(std::string_view call, const std::function<void()>& body) {
  require_whole();
  try {
    body();
  } catch (const Error& e) {
    if (failure_) throw;
    const std::string reason = fmt::format("{}: {}", call, e.what());
    abandon(reason);
    throw Error(ErrorKind::Stopped, *failure_);
  }
}

void World::watched(std::string_view call, const std::function<void()>& body, Comers comers) {
  const double seconds = comers == Comers::are_here ? std::min(deadline_, limit_) : deadline_;
  const Watchdog watchdog(fmt::format("{}: {} in {}", call, worker(rank()), activity_), seconds);
  guarded(call, body);
}

void World::wait(std::string_view call, const std::function<bool()>& done) {
  guarded(call, [&] { poll(call, done); });
}

void World::poll(std::string_view call, const std::function<bool()>& done) {
  if (done()) return;
  const double began = monotonic_seconds();
  while (!done()) {
    const double waited = monotonic_seconds() - began;
    if (waited >= kEager && hear_alarms(call, done)) return;
    if (waited >= kBetweenLooks) look_after_neighbours(call, done);
    if (waited > deadline_) {
      exceeded_ = deadline_;
      give_up(call, nullptr);
    }
    rest(waited);
  }
}

// Who sends an alarm has sent its messages before: if this wait ends with them, the next one is for the
// alarm.
bool World::hear_alarms(std::string_view call, const std::function<bool()>& done) {
  if (!heard_) heard_ = transport_->next_alarm();
  if (!heard_) return false;
  // What others have sent before may still be on its way.
  const double until = monotonic_seconds() + (heard_->text.starts_with('f') ? kGrace : 0);
  while (!done() && monotonic_seconds() < until) rest(kEager);
  if (done()) return true;
  give_up(call, &*heard_);
}

// A worker that ends with an error tells so first: its alarm has been heard by now.
void World::look_after_neighbours(std::string_view call, const std::function<bool()>& done) {
  const double now = monotonic_seconds();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  for (int r = 0; r < size(); ++r) {
    const auto state = state_of(processes_[host_slot(r)]);
    if (state == ProcessState::gone) {
      if (done() || hear_alarms(call, done)) return;
      one_died_ = true;
      give_up(call, nullptr);
    }
    if (state != ProcessState::stopped) {
      stopped_since_.erase(r);
    } else if (now - stopped_since_.try_emplace(r, now).first->second > limit_) {
      exceeded_ = limit_;
      give_up(call, nullptr);
    }
  }
}

void World::give_up(std::string_view call, const Alarm* first) {
  if (first && first->text.starts_with('f')) {
    told_ = true;  // by whom it came
    break_with(fmt::format("{}: {} in {}: {} has failed: {}", call, worker(rank()), activity_,
                           worker(first->rank), first->text.substr(1)));
  }
  transport_->send_alarm("w" + place(call));
  told_ = true;
  if (first) answers_[first->rank] = first->text.substr(1);
  collect_answers();
  break_with(report(call, first));
}

void World::break_with(std::string message) {
  failure_ = std::move(message);
  throw Error(ErrorKind::Stopped, *failure_);
}

void World::collect_answers() {
  const double grace = one_died_ ? 1.0 : std::clamp(limit_ / 4, 0.5, 5.0);
  const double until = monotonic_seconds() + grace;
  while (monotonic_seconds() < until && answers_.size() + 1 < hosts_.size()) {
    if (const auto alarm = transport_->next_alarm())
      answers_[alarm->rank] = alarm->text.substr(std::min<std::size_t>(1, alarm->text.size()));
    else
      rest(kEager);
  }
}

std::string World::worker(int rank) const {
  return fmt::format("worker {} (host {})", rank, hosts_[host_slot(rank)]);
}

std::string World::missing(int rank) const {
  const auto& process = processes_[host_slot(rank)];
  switch (state_of(process)) {
    case ProcessState::gone:
      return fmt::format("{}: its process {} has died", worker(rank), process.number);
    case ProcessState::stopped:
      return fmt::format("{}: its process {} is stopped", worker(rank), process.number);
    default:
      return worker(rank);
  }
}

std::string World::place(std::string_view call) const { return fmt::format("{}, in {}", call, activity_); }

std::string World::report(std::string_view call, const Alarm* first) const {
  std::vector<std::string> silent;
  for (int r = 0; r < size(); ++r)
    if (r != rank() && !answers_.contains(r)) silent.push_back(missing(r));
  std::string text = fmt::format("{}: {} in {}: ", call, worker(rank()), activity_);
  if (!silent.empty())
    text += fmt::format("no answer from {}", fmt::join(silent, ", "));
  else if (first)
    text += fmt::format("{} gave up waiting", worker(first->rank));
  else
    text += "every worker answers, but they wait for different things";
  const bool dead = std::any_of(processes_.begin(), processes_.end(),
                                [](auto& p) { return state_of(p) == ProcessState::gone; });
  if (!dead) text += fmt::format(" (deadline {:g} s)", exceeded_.value_or(std::min(deadline_, limit_)));
  for (const auto& [r, where] : answers_) text += fmt::format("\n{} waits too: {}", worker(r), where);
  return text + "\n" + kHintOfAFailure;
}

void World::abandon(std::string_view reason) noexcept {
  if (!failure_) failure_ = fmt::format("{} in {}: {}", worker(rank()), activity_, reason);
  if (told_ || size() == 1) return;
  told_ = true;
  transport_->send_alarm(fmt::format("f{}", reason));
}

}  // namespace bora::mesh

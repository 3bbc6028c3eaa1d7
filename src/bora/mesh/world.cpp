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

namespace bora::mesh {
namespace {

constexpr double kEager = 0.002;  // seconds without naps: the usual distance between workers
constexpr double kLongestNap = 0.001;
constexpr std::size_t kHostBytes = 64;
constexpr const char* kHint =
    "hint: look at that worker's log and machine; started again, the run goes on from its newest checkpoint";

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
    : transport_(std::move(transport)), deadline_(deadline_seconds), exceptions_(std::uncaught_exceptions()) {
  hosts_.assign(static_cast<std::size_t>(size()), transport_->host());
  if (size() > 1) gather_hosts();
}

World::~World() {
  if (!broken() && std::uncaught_exceptions() > exceptions_) abandon("it ended with an error");
  try {
    set_activity("end");
    // A worker that is not there would let the transport's own end wait for ever.
    if (!broken()) meet("close");
    if (!broken()) transport_->close();
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
    if (peer != rank()) messages.push_back({peer, {&token, 1}, {&tokens[static_cast<std::size_t>(peer)], 1}});
  }
  guarded(call, [&] { transport_->start(messages); });
  wait(call, [&] { return transport_->finished(); });
}

void World::gather_hosts() {
  const auto n = hosts_.size();
  std::vector<std::byte> all(n * kHostBytes);
  const auto block = [&](int r) {
    return std::span(all).subspan(static_cast<std::size_t>(r) * kHostBytes, kHostBytes);
  };
  const auto own = hosts_[0].substr(0, kHostBytes - 1);
  std::memcpy(block(rank()).data(), own.data(), own.size());
  std::vector<Message> messages;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank()) messages.push_back({peer, block(rank()), block(peer)});
  guarded("start", [&] { transport_->start(messages); });
  wait("start", [&] { return transport_->finished(); });
  for (int r = 0; r < size(); ++r)
    hosts_[static_cast<std::size_t>(r)] = reinterpret_cast<const char*>(block(r).data());
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

void World::wait(std::string_view call, const std::function<bool()>& done) {
  guarded(call, [&] { poll(call, done); });
}

void World::poll(std::string_view call, const std::function<bool()>& done) {
  if (done()) return;
  const double began = monotonic_seconds();
  while (!done()) {
    const double waited = monotonic_seconds() - began;
    if (waited >= kEager) hear_alarms(call);
    if (waited > deadline_) give_up(call, nullptr);
    rest(waited);
  }
}

void World::hear_alarms(std::string_view call) {
  const auto alarm = transport_->next_alarm();
  if (alarm) give_up(call, &*alarm);
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
  const double until = monotonic_seconds() + std::clamp(deadline_ / 4, 0.5, 5.0);
  while (monotonic_seconds() < until && answers_.size() + 1 < hosts_.size()) {
    if (const auto alarm = transport_->next_alarm())
      answers_[alarm->rank] = alarm->text.substr(std::min<std::size_t>(1, alarm->text.size()));
    else
      rest(kEager);
  }
}

std::string World::worker(int rank) const {
  return fmt::format("worker {} (host {})", rank, hosts_[static_cast<std::size_t>(rank)]);
}

std::string World::place(std::string_view call) const { return fmt::format("{}, in {}", call, activity_); }

std::string World::report(std::string_view call, const Alarm* first) const {
  std::vector<std::string> missing;
  for (int r = 0; r < size(); ++r)
    if (r != rank() && !answers_.contains(r)) missing.push_back(worker(r));
  std::string text = fmt::format("{}: {} in {}: ", call, worker(rank()), activity_);
  if (!missing.empty())
    text += fmt::format("no answer from {}", fmt::join(missing, ", "));
  else if (first)
    text += fmt::format("{} gave up waiting", worker(first->rank));
  else
    text += "every worker answers, but they wait for different things";
  text += fmt::format(" (deadline {:g} s)", deadline_);
  for (const auto& [r, where] : answers_) text += fmt::format("\n{} waits too: {}", worker(r), where);
  return text + "\n" + kHint;
}

void World::abandon(std::string_view reason) noexcept {
  if (!failure_) failure_ = fmt::format("{} in {}: {}", worker(rank()), activity_, reason);
  if (told_ || size() == 1) return;
  told_ = true;
  transport_->send_alarm(fmt::format("f{}", reason));
}

}  // namespace bora::mesh

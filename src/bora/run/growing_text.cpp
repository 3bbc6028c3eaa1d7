// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/growing_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include "bora/base/clock.h"
#include "bora/base/text.h"
#include "bora/train/signals.h"

namespace bora::run {
namespace {

constexpr double kSilence = 0.3;  // shorter waits are not worth a line
constexpr double kBetweenShows = 0.1;
constexpr double kTurn = 0.5;

// What workers tell each other as long as one of them has a cache that grows.
constexpr std::byte kNothing{0}, kGrows{1}, kWaits{2}, kStops{4};

std::byte bit_if(bool yes, std::byte bit) { return yes ? bit : kNothing; }

bool is_over(const data::BackgroundBuild& build) {
  if (build.is_complete()) return true;
  try {
    build.check();
    return false;
  } catch (...) {
    return true;  // look() tells it
  }
}

}  // namespace

GrowingText::GrowingText(TextData& text, track::Console& console, mesh::Communicator& workers,
                         std::function<void()> known)
    : text_(text),
      console_(console),
      workers_(workers),
      known_(std::move(known)),
      began_(monotonic_seconds()),
      found_(is_growing() ? text.build->progress().bytes_done : 0) {}

GrowingText::~GrowingText() {
  if (is_growing()) text_.build->stop();
}

void GrowingText::look() {
  if (!is_growing()) return;
  if (!text_.build->is_complete()) return text_.build->check();
  for (auto& cache : text_.caches) cache = cache.when_complete();
  text_.build.reset();
  console_.fact("cache", describe_caches(text_.caches), monotonic_seconds() - began_);
  known_();
}

void GrowingText::wait(const std::function<bool()>& ready) { wait_together(ready, true); }

void GrowingText::wait_for_all() {
  wait_together([] { return false; }, false);
}

// Workers meet after each turn of waiting, however long all of it takes: the deadline of training finds one
// that hangs.
void GrowingText::wait_together(const std::function<bool()>& ready, bool heeds_stops) {
  double shown = monotonic_seconds() + kSilence - kBetweenShows;
  const auto stops = [&] { return heeds_stops && train::StopSignals::requested(); };
  while (anyone_grows_) {
    look();
    const bool waits = is_growing() && !ready();
    const auto said = mesh::bits_of_all(
        workers_, bit_if(is_growing(), kGrows) | bit_if(waits, kWaits) | bit_if(stops(), kStops));
    anyone_grows_ = (said & kGrows) != kNothing;
    if ((said & kWaits) == kNothing || (said & kStops) != kNothing) return;
    if (waits) take_turn([&] { return ready() || stops(); }, shown);
  }
}

// An error of this worker's build must come out as it is: inside of workers_.wait it would become one of the
// connection.
void GrowingText::take_turn(const std::function<bool()>& done, double& shown) {
  const double end = monotonic_seconds() + kTurn;
  const auto over = [&] {
    const double now = monotonic_seconds();
    if (now > end || done() || is_over(*text_.build)) return true;
    if (now - shown >= kBetweenShows) {
      shown = now;
      show();
    }
    return false;
  };
  if (workers_.size() > 1) {
    workers_.activity("waiting for the token cache");
    workers_.wait("token cache", over);
  } else {
    while (!over()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void GrowingText::show() const {
  const auto p = text_.build->progress();
  if (p.bytes_total == 0) return;
  // What others make, and the end of the build, is still to come.
  const auto done = std::min(p.bytes_done, p.bytes_total - 1);
  const double rate = static_cast<double>(p.bytes_done - found_) / (monotonic_seconds() - began_);
  console_.progress("cache", static_cast<double>(done), static_cast<double>(p.bytes_total),
                    fmt::format("{} tokens", human_count(static_cast<double>(p.counts.tokens))),
                    human_bytes(rate) + "/s");
}

std::string GrowingText::note() const {
  if (!is_growing()) return "";
  const auto p = text_.build->progress();
  const auto percent = p.bytes_total > 0 ? 100 * p.bytes_done / p.bytes_total : 0;
  return fmt::format("cache {} %", std::min<std::int64_t>(percent, 99));
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/tracker.h"

#include <algorithm>
#include <array>

#include "bora/base/log.h"
#include "bora/base/secrets.h"

namespace bora::track {

bool is_deterministic_metric(std::string_view name) {
  constexpr std::array<std::string_view, 5> kGroups{"throughput/", "timing/", "memory/", "system/",
                                                    "hardware/"};
  constexpr std::array<std::string_view, 4> kEnds{"_time", "/time", "duration", "seconds"};
  const bool in_group = std::ranges::any_of(kGroups, [&](auto group) { return name.starts_with(group); });
  const bool is_time = std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
  return !in_group && !is_time;
}

namespace {

Json redacted(Json values) {
  if (values.is_string()) return redact(values.get_ref<const std::string&>());
  for (auto& value : values) {
    if (value.is_structured() || value.is_string()) value = redacted(std::move(value));
  }
  return values;
}

}  // namespace

CompositeTracker::CompositeTracker(Trackers trackers) {
  for (auto& tracker : trackers) entries_.push_back({std::move(tracker), false});
}

void CompositeTracker::each(const std::function<void(Tracker&)>& call) {
  for (auto& entry : entries_) {
    try {
      call(*entry.tracker);
    } catch (const std::exception& e) {
      ++failures_;
      if (!entry.warned) {
        log_warning("tracker {}: {} (training goes on; this is said once)", entry.tracker->name(), e.what());
      }
      entry.warned = true;
    }
  }
}

void CompositeTracker::log(std::int64_t step, std::span<const Metric> metrics) {
  each([&](Tracker& t) { t.log(step, metrics); });
}
void CompositeTracker::log_text(std::int64_t step, std::string_view name, std::string_view text) {
  const std::string shown = redact(text);
  each([&](Tracker& t) { t.log_text(step, name, shown); });
}
void CompositeTracker::log_histogram(std::int64_t step, std::string_view name, const Histogram& histogram) {
  each([&](Tracker& t) { t.log_histogram(step, name, histogram); });
}
void CompositeTracker::log_summary(std::span<const Metric> metrics) {
  each([&](Tracker& t) { t.log_summary(metrics); });
}
void CompositeTracker::log_hyperparameters(const Json& values) {
  const Json shown = redacted(values);
  each([&](Tracker& t) { t.log_hyperparameters(shown); });
}
void CompositeTracker::flush() {
  each([](Tracker& t) { t.flush(); });
}
void CompositeTracker::finish() {
  each([](Tracker& t) { t.finish(); });
}

}  // namespace bora::track

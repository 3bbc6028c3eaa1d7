// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "bora/track/tracker.h"

namespace bora::track {

/// The run, as trackers need to know it.
struct TrackedRun {
  std::string directory;  ///< where metrics.jsonl goes
  std::string id;
  std::int64_t first_step = 0;  ///< 0, or where the run resumes
  bool ends_again = false;      ///< it resumes where it ended: what its end told is told anew
};

/// What the configuration of a type of trackers derives from. It binds its keys, `void bind(Binder&)`,
/// and makes the tracker.
class TrackerType {
 public:
  virtual ~TrackerType() = default;
  /// Null where metrics.jsonl is all there will be. An Error is a warning, and the run goes on without
  /// it.
  virtual std::unique_ptr<Tracker> make(const TrackedRun& run) const = 0;
};

}  // namespace bora::track

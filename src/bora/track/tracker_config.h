// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The types that `trainer.tracker` may name, and making trackers of them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/typed_config.h"
#include "bora/track/builtin_trackers.h"
#include "bora/track/tracker.h"
#include "bora/track/tracker_type.h"

namespace bora::track {

/// All types that this program has, Bora's own first. A type of yours is one line before the
/// configuration is read:
///
///     track::tracker_types().add("mine", {"in a few words", MyConfig()});
Registry<ConfigType<TrackerType>>& tracker_types();

/// One entry of trainer.tracker: `type` and the keys of that type. Without a type it is wandb, as in
/// Levanter.
struct TrackerConfig {
  std::string type = "wandb";
  AnyConfig<TrackerType> config = WandbConfig();
  void bind(Binder& b);
};

/// metrics.jsonl always, and what the configuration asks for. A tracker that cannot start is left out
/// with a warning. Only metrics.jsonl itself must be writable: Io.
std::unique_ptr<Tracker> make_tracker(const std::vector<TrackerConfig>& configs, const TrackedRun& run);

}  // namespace bora::track

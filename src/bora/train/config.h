// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The `trainer` block of a configuration, with Levanter's keys.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/checkpoint/retention.h"
#include "bora/core/dtype.h"
#include "bora/data/batch_schedule.h"
#include "bora/track/tracker_config.h"
#include "bora/train/mesh_config.h"

namespace bora::train {

/// Levanter's policy "p=f32,c=bfloat16": dtypes of parameters and of computation. A single name sets both;
/// parameters stay fp32 where it is a 16-bit type, because the optimizer needs them so.
struct MixedPrecision {
  core::DType compute = core::DType::f32;
  void bind(Binder& b, std::string_view name);
};

/// "; did you mean `cuda`?" of a word that names no device: gpu, CUDA, cdua. "" where none is near.
std::string device_meant_by(std::string_view word);

/// `trainer.peak_flops`: the floating-point operations that all workers together can do in a second, of which
/// throughput/mfu is a share. `auto`: measured (run/peak_flops.h).
struct PeakFlops {
  std::optional<double> per_second;  ///< nothing: auto
  void bind(Binder& b, std::string_view name);
};

/// A timeline of some steps of all workers, as a file of the run directory (bora/base/trace.h). In Levanter's
/// keys, older (`profiler: true`, `profiler_start_step`, `profiler_num_steps`) and newer (`profiler:
/// {enabled, start_step, num_steps}`).
struct ProfilerConfig {
  bool enabled = false;
  std::int64_t start_step = 5, num_steps = 100;
  void bind(Binder& b);  ///< the newer block
};

struct TrainerConfig {
  std::int64_t seed = 0;
  std::optional<std::string> id;  ///< name of the run; default: from RUN_ID, else from the configuration
  MixedPrecision mp;
  bool fp8 = false;  ///< Bora's own: linear maps in fp8, on a GPU in bf16 (core/fp8.h)
  /// -1: per_device_parallelism, since there is one device.
  data::BatchSchedule train_batch_size{512};
  std::int64_t per_device_parallelism = -1;
  std::int64_t num_train_steps = 400000;
  std::int64_t steps_per_eval = 1000;  ///< 0: only at the end
  std::optional<std::int64_t> max_eval_batches;
  std::optional<bool> load_checkpoint;  ///< unset: if there is one; true: must; false: never
  std::optional<std::string> initialize_from;
  checkpoint::CheckpointerConfig checkpointer;
  std::vector<track::TrackerConfig> tracker;
  std::optional<track::WandbConfig> wandb;  ///< Levanter's older spelling of a tracker of type wandb
  ProfilerConfig profiler;
  bool crash_on_nan = true, crash_on_inf = true;

  /// Axes along which parameters are cut over several workers, the first that a parameter has (fully sharded
  /// training); null or none: every worker has all of them whole. Never changes a result.
  std::optional<std::vector<std::string>> fsdp_axis = std::vector<std::string>{"embed"};
  /// How several workers share a lane. Changes results in the last bits.
  MeshConfig mesh;

  // Bora's own
  std::optional<std::int64_t> lanes;  ///< power of two; default: of the run's first start: resolve_lanes
  std::string reduction = "fixed";
  /// Parameters that are not trained, by path (base/path_pattern.h): no gradient, no optimizer state, no
  /// decay.
  std::vector<std::string> freeze;
  std::optional<std::int64_t> stop_at_step;  ///< stop there as an interrupt would
  std::string device = "auto";               ///< where arrays lie: run/run_device.h
  bool cuda_graphs = true;                   ///< core/step_graph.h; never changes a result
  std::int64_t threads = 0;                  ///< 0: all cores; never changes a result
  double worker_timeout = 120;               ///< seconds that workers wait for one that does not come
  std::int64_t check_replicas_every = 100;   ///< steps; 0: never
  PeakFlops peak_flops;                      ///< never changes a result

  void bind(Binder& b);
  const data::BatchSchedule& batch_schedule() const { return train_batch_size; }
  /// `tracker`, or `wandb` in its place where that is given, as in Levanter.
  std::vector<track::TrackerConfig> trackers() const;
  /// The run's name as far as the configuration says: `id`, else the id of a W&B tracker.
  std::optional<std::string> configured_id() const;
};

/// The default of trainer.lanes where a run starts: the largest power of two up to 8 that divides the batch
/// and leaves a lane at least 1,024 tokens; where more workers (groups of those that share a lane) start it,
/// the smallest power of two that gives each a lane, or the largest one that divides the batch.
std::int64_t resolve_lanes(std::int64_t batch_size, std::int64_t tokens_per_sequence, std::int64_t groups);

}  // namespace bora::train

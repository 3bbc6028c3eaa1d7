// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "bora/core/device_extras.h"
#include "bora/core/dtype.h"
#include "bora/models/model_config.h"
#include "bora/run/adapters.h"

namespace bora::run {

/// What a run will hold in memory, in bytes, from shapes alone.
struct SizeEstimate {
  ParameterCounts parameters;
  double process_bytes = 0;    ///< program and libraries, before there is a model
  double parameter_bytes = 0;  ///< with the copy in the dtype of computation
  double gradient_bytes = 0, optimizer_bytes = 0, activation_bytes = 0;
  double workspace_bytes = 0;   ///< on a device: of its libraries, in its allocator
  double beside_bytes = 0;      ///< on a device: its context and libraries, which no allocator counts
  double checkpoint_bytes = 0;  ///< size of a checkpoint, and of the copy that it is written from
  double pinned_bytes =
      0;  ///< of the host: inputs of blocks that rest there (gradient_checkpointing: offload)
  std::int64_t lane_sequences = 0;  ///< sequences of a lane, whose activations those are

  /// Of arrays: on the device where the run computes.
  double arrays() const {
    return parameter_bytes + gradient_bytes + optimizer_bytes + activation_bytes + workspace_bytes;
  }
  double training() const { return process_bytes + arrays(); }
  double peak() const { return training() + checkpoint_bytes; }
};

struct EstimateOptions {
  std::int64_t vocab = 0;
  std::int64_t batch = 0;  ///< sequences a step
  std::int64_t lanes = 1;
  core::DType compute = core::DType::f32;
  std::optional<double> state_bytes = {};          ///< of the optimizer; none: two moments in fp32
  bool on_device = false;                          ///< with memory of its own
  bool graphs = false;                             ///< there: core/step_graph.h
  double attention_room = 0;                       ///< there: bytes of a pass of its library for attention
  bool keeps_scores = false;                       ///< there: core::keeps_scores
  core::DeviceExtras extras = {};                  ///< of the device
  std::optional<std::int64_t> chunk = {};          ///< cross_entropy_chunk
  std::optional<ParameterCounts> parameters = {};  ///< of the run; none: the model's, all of them trained
  /// That are computed together.
  std::int64_t positions_of_head() const;
};

/// fp32 parameters and the state of an optimizer; gradients of log2(lanes) + 1 lanes; gradients and moments of what is trained
/// alone; activations of one lane, less what the
/// model's gradient_checkpointing computes again. Without data: token caches are mapped files. On a device gradients and
/// activations are those of the moment when they are the most together (run/device_estimate.h).
SizeEstimate estimate_sizes(const models::ModelConfig& config, const EstimateOptions& options);

/// Memory that arrays may take: "this machine", or "cuda:0".
struct MemoryPlace {
  std::string name;
  double bytes = 0;
  bool is_device = false;
  std::string way_out = {};  ///< for a hint, where the run fits elsewhere: "trainer.device: cpu"
};
MemoryPlace memory_of_machine();

/// What cannot be, and the key that it hangs on.
struct MemoryProblem {
  std::string key, sentence;
};
/// Where what is sure to be held, the parameters and what they are trained with, divided among so many workers, is more
/// than there is: `model`. And where that with the activations of a lane is more than 1.5 times as much, however
/// rough the estimate: `trainer.train_batch_size`.
std::optional<MemoryProblem> memory_problem(const SizeEstimate& sizes, std::int64_t workers,
                                            const MemoryPlace& place = memory_of_machine());

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/core/parameter.h"
#include "bora/optim/clip.h"

namespace bora::mesh {
class WholeArrays;
}

namespace bora::optim {

struct StepInfo {
  std::int64_t step = 0;      ///< of the run, from 0
  double learning_rate = 0;   ///< of this step: Schedule(step)
  double gradient_scale = 1;  ///< multiplies every gradient first: 1 / weight
  std::optional<double>
      gradient_norm;  ///< global norm of the scaled gradients, if known; else it is computed
  SquaresOf squares = sums_of_squares;  ///< of arrays that lie as the parameters do
  /// Whole arrays from those that lie as the parameters do, in their order; null: they are whole.
  /// whole_matrices() of step_parts.h is how to use it.
  const mesh::WholeArrays* whole_arrays = nullptr;
  Key key = {};  ///< of the run: what rounds state in bf16 by chance, rounding() of step_parts.h
};

/// What a step did, for the log.
struct StepReport {
  double gradient_norm = 0;  ///< before clipping
  double clip_factor = 1;    ///< what clipping multiplied the gradients with
  std::optional<double>
      update_norm;  ///< where the optimizer computes it: before update clipping, without the rate
};

/// How an array of state lies over the ranks. To be said of each: a shard taken for a replica would make a
/// wrong checkpoint without a word.
class StateLayout {
 public:
  /// Shard for shard as the parameter with this id.
  static StateLayout like(std::size_t parameter) { return StateLayout(parameter); }
  /// The same on all ranks.
  static StateLayout replicated() { return StateLayout(std::nullopt); }

  std::optional<std::size_t> parameter() const { return parameter_; }

 private:
  explicit StateLayout(std::optional<std::size_t> parameter) : parameter_(parameter) {}
  std::optional<std::size_t> parameter_;
};

/// An array of an optimizer's state. It stays where it is; a checkpoint reads it and restores into it.
struct NamedArray {
  std::string name;                     ///< "mu/layers.0.attn.q_proj.weight"
  std::vector<std::string_view> names;  ///< axes
  core::Array array;
  StateLayout layout;
};

/// An optimizer with its state for one list of parameters, all of them trained. Parameters, gradients and
/// state are fp32 (state bf16 by OptimizerConfig::state_dtype) and contiguous; a parameter's gradient and state lie on its device. State begins as zeros.
/// One thread at a time.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Updates the parameters in place. `parameters` must be those the optimizer was made for, in the same
  /// order; gradients[i] belongs to parameters[i] (empty: zeros).
  virtual StepReport step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                          const StepInfo& info) = 0;

  /// Arrays to be kept in checkpoints, in a fixed order.
  virtual std::vector<NamedArray> state() const = 0;
  /// The rest of the state: small, for a checkpoint's state.json.
  virtual Json save_state() const = 0;
  /// The state after `steps` steps of training. Corruption for missing keys and values that cannot be; what
  /// the run that saved it had not switched on begins anew.
  virtual void load_state(const Json& state, std::int64_t steps) = 0;
};

}  // namespace bora::optim

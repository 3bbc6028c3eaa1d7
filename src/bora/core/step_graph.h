// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bora/base/key.h"
#include "bora/core/array.h"
#include "bora/core/device.h"
#include "bora/core/grad.h"
#include "bora/core/parameter.h"
#include "bora/core/read_back.h"

namespace bora::core {

/// What a pass is given anew each time; arrays may be empty.
struct PassInputs {
  std::vector<Array> arrays = {};
  std::optional<Key> key = {};
};

/// Whether a device can note work and do it again (DeviceKernels::Graph).
bool has_graphs(Device device);

/// Whether this thread is in a pass that is noted, or will be the next time: nothing is used that is kept from pass to pass
/// and may go meanwhile.
bool in_noted_pass();

/// Forward and backward passes over one model on a device, of which each shape is noted once and is one launch from then on:
/// the host no longer gives the device its kernels one by one. The bits are those of the passes themselves.
///
/// The first pass of a shape is computed as ever, the second one is noted, and then launched. Parameters and their copies must
/// be where they were; else passes are noted anew. A pass that cannot be noted, since the host waits within it or sends
/// what differs from pass to pass, is computed as ever, which a line says once, with the reason. There is one set of gradients,
/// which stays; a pass that stores them is noted apart from one that adds to them.
class StepGraphs {
 public:
  /// Leaves gradients in `into`, as accumulate_gradients does. What it depends on beside `inputs` and parameters is
  /// the same each time. It may be called once more than run() is.
  using Pass = std::function<std::vector<Number>(const PassInputs& inputs, const GradientPlaces& into)>;

  /// `parameters`: all that passes read, on one device which has_graphs().
  explicit StepGraphs(std::vector<Parameter> parameters);
  ~StepGraphs();
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;

  /// The pass, which adds to `into`, or stores where its arrays are empty. What it has stored stays where it is while the
  /// passes that follow add to it, and is no longer changed once the next pass stores anew.
  std::vector<Number> run(const PassInputs& inputs, std::span<Array> into, const Pass& pass);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bora::core

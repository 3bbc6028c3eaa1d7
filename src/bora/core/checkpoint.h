// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/device.h"

namespace bora::core {

/// Gradient checkpointing (Chen et al. 2016): runs `f` on `inputs` without keeping its intermediate values,
/// and runs it again during the backward pass. Values and gradients have the same bits as f(inputs); random
/// keys are explicit, so dropout inside repeats itself. Parameters reached inside f get their gradients as
/// usual. What f makes leaves it by its result alone: a recorded operation on an array that f handed out
/// otherwise fails, because no gradient could reach it.
std::vector<Array> checkpoint(const std::function<std::vector<Array>(std::span<const Array>)>& f,
                              std::span<const Array> inputs);

namespace autograd {
class Rest;
}

/// Bodies that run one after another, whose inputs rest in pinned memory of the host between their forward and their
/// backward pass. The bits are the same. Copies run beside the device's other work: each way there while the body
/// computes, each way back while the one behind it is computed again. What the last body is given stays, since it is
/// wanted first, and so does what is small or passes through all bodies. On CPUs, and on devices without
/// DeviceKernels::Copies, everything stays.
class Offload {
 public:
  explicit Offload(std::int64_t bodies) : left_(bodies) {}

 private:
  friend std::vector<Array> checkpoint(const std::function<std::vector<Array>(std::span<const Array>)>& f,
                                       std::span<const Array> inputs, Offload& rest);
  std::int64_t left_;
  std::shared_ptr<autograd::Rest> last_;
};
/// The next of its bodies.
std::vector<Array> checkpoint(const std::function<std::vector<Array>(std::span<const Array>)>& f,
                              std::span<const Array> inputs, Offload& rest);

/// Pinned memory that has been taken for it. It is used again by each pass, and kept.
std::int64_t pinned_bytes(Device device);

}  // namespace bora::core

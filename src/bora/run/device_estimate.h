// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/device.h"
#include "bora/core/dtype.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"
#include "bora/run/memory_estimate.h"

namespace bora::run {

/// Gradients and activations of a lane of so many tokens on a device with memory of its own, at the moment of a step
/// when they are the most: when the head computes, in the backward pass of the last block or of the first one, or in that of
/// the embedding. `parameters` and `lane_sequences` are known.
void estimate_lane_on_device(SizeEstimate& sizes, const nn::ModelShape& shape, const nn::RematPolicy& policy,
                             const EstimateOptions& options);

/// What the library of the device for attention wants for a pass over such a lane; 0 where it is not there, or does not
/// compute it. It makes a plan, which takes cuDNN half a second.
double attention_room_on_device(core::Device device, const nn::ModelShape& shape, std::int64_t sequences,
                                core::DType compute);

}  // namespace bora::run

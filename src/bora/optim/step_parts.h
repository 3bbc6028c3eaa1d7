// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a step begins with, whatever the optimizer.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bora/core/dtype.h"
#include "bora/core/whole_index.h"
#include "bora/mesh/whole_arrays.h"
#include "bora/optim/optimizer.h"

namespace bora::optim {

/// A parameter that an optimizer was made for.
struct StateOf {
  std::string_view path;
  std::int64_t elements;
};

/// InvalidArgument, in the name of `who`, unless the parameters are those of `made_for` in the same order,
/// each with a gradient of its size, or an empty one.
void require_parameters(std::string_view who, std::span<const StateOf> made_for,
                        std::span<const core::Parameter> parameters, std::span<const core::Array> gradients);

/// A new array of state beside a parameter: zeros of its shape, on its device. In a plan of a model, whose parameters
/// have no values, a shape alone.
core::Array zeros_like(const core::Parameter& parameter, core::DType dtype = core::DType::f32);

/// By what chance rounds state in bf16 of parameter i in this step: the same wherever its elements lie.
kernels::Rounding rounding(const core::Parameter& parameter, std::size_t i, const StepInfo& info);

/// The report of a step whose gradients are scaled down to max_grad_norm: their norm, and the factor that is
/// to multiply them beside info.gradient_scale.
StepReport clipped(std::span<const core::Array> gradients, const StepInfo& info,
                   std::optional<double> max_grad_norm);

/// Where an optimizer gets whole matrices from, wherever the parameters lie: info.whole_arrays, or those of
/// one worker.
const mesh::WholeArrays& whole_matrices(const StepInfo& info);

}  // namespace bora::optim

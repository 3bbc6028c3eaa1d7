// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/step_parts.h"

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/parameter_store.h"

namespace bora::optim {

void require_parameters(std::string_view who, std::span<const StateOf> made_for,
                        std::span<const core::Parameter> parameters, std::span<const core::Array> gradients) {
  if (parameters.size() != made_for.size() || gradients.size() != made_for.size()) {
    fail(ErrorKind::InvalidArgument, "{}: made for {} parameters, but got {} with {} gradients", who,
         made_for.size(), parameters.size(), gradients.size());
  }
  for (std::size_t i = 0; i < made_for.size(); ++i) {
    if (parameters[i].path != made_for[i].path) {
      fail(ErrorKind::InvalidArgument, "{}: parameter {} is {}, but was {} when the optimizer was made", who,
           i, parameters[i].path, made_for[i].path);
    }
    const auto want = made_for[i].elements, have = parameters[i].array->numel();
    const auto gradient = gradients[i].empty() ? want : gradients[i].numel();
    if (want != have || want != gradient) {
      fail(ErrorKind::InvalidArgument, "{}: {} has {} elements, its gradient {}, its state {}", who,
           made_for[i].path, have, gradient, want);
    }
  }
}

core::Array zeros_like(const core::Parameter& parameter, core::DType dtype) {
  const core::DeviceScope there(core::device_of(*parameter.array));
  const auto sizes = parameter.array->sizes();
  const core::Shape shape{parameter.axes, sizes};
  const auto* store = core::parameter_store();
  if (store == nullptr || !store->shapes_only()) return core::zeros(shape, dtype);
  auto out = core::uninitialized(shape, dtype);
  core::drop_values(out);
  return out;
}

kernels::Rounding rounding(const core::Parameter& parameter, std::size_t i, const StepInfo& info) {
  const Key key = info.key.fold(static_cast<std::uint64_t>(info.step)).fold(parameter.path);
  return {key.key, key.stream, whole_matrices(info).place(i)};
}

StepReport clipped(std::span<const core::Array> gradients, const StepInfo& info,
                   std::optional<double> max_grad_norm) {
  StepReport report;
  report.gradient_norm =
      info.gradient_norm ? *info.gradient_norm : global_norm(info.squares(gradients)) * info.gradient_scale;
  report.clip_factor = clip_factor(report.gradient_norm, max_grad_norm);
  return report;
}

const mesh::WholeArrays& whole_matrices(const StepInfo& info) {
  static const mesh::WholeArrays one_worker;
  return info.whole_arrays == nullptr ? one_worker : *info.whole_arrays;
}

}  // namespace bora::optim

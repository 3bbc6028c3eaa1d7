// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/lane_sums.h"

#include <fmt/core.h>

namespace bora::core {

std::string sum_off_lanes(std::string_view op, std::string_view axis, std::string_view mesh_axis, int lanes) {
  return fmt::format(
      "{}: a sum over the axis {} on the mesh axis {} does not follow the {} fixed lanes\nhint: take {} out of the "
      "axes of {}, or leave out trainer.tensor_lanes",
      op, axis, mesh_axis, lanes, axis, mesh_axis);
}

}  // namespace bora::core

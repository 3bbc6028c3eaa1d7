// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/first_non_finite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "bora/core/kernels/cpu/reduce.h"

namespace bora::train {

std::optional<std::string> first_non_finite(std::span<const core::Parameter> parameters,
                                            std::span<const core::Array> arrays,
                                            mesh::Communicator& workers) {
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t here = kNone, element = -1;
  for (std::size_t i = 0; i < arrays.size() && here == kNone; ++i) {
    if (arrays[i].empty() || arrays[i].numel() == 0) continue;
    element = kernels::first_non_finite(arrays[i].numel(), arrays[i].data<float>());
    if (element >= 0) here = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(std::span(&here, 1)), std::as_writable_bytes(std::span(all)));
  const auto first = *std::min_element(all.begin(), all.end());
  if (first == kNone) return std::nullopt;
  const auto& path = parameters[static_cast<std::size_t>(first)].path;
  return workers.size() == 1 ? fmt::format("{} (element {})", path, element) : path;
}

std::optional<std::string> first_non_finite(std::span<const core::Parameter> parameters,
                                            mesh::Communicator& workers) {
  std::vector<core::Array> values;
  for (const auto& p : parameters) values.push_back(*p.array);
  return first_non_finite(parameters, values, workers);
}

}  // namespace bora::train

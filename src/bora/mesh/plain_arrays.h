// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Arrays as what travels: sizes without names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/core/create.h"

namespace bora::mesh {

/// A shape whose axes have no names; `sizes` must live as long.
inline core::Shape unnamed(const std::vector<std::int64_t>& sizes) {
  static constexpr std::string_view kNames[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
  return {core::Names(kNames).first(sizes.size()), sizes};
}

/// Contents not set.
inline core::Array make_array(const std::vector<std::int64_t>& sizes) {
  return core::uninitialized(unnamed(sizes));
}

}  // namespace bora::mesh

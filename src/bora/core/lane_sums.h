// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A sum over an axis whose mesh axis has fixed lanes (MeshAxis::lanes) and that does not follow them.
#pragma once
#include <string>
#include <string_view>

namespace bora::core {

/// What is said of it, with a hint: by the operation, and by who looks before anything is computed.
std::string sum_off_lanes(std::string_view op, std::string_view axis, std::string_view mesh_axis, int lanes);

}  // namespace bora::core

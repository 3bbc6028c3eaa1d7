// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Apart from the workers of a mesh: what checks configurations does not load the tensor library.
#include <fmt/core.h>

#include <utility>

#include "bora/mesh/mesh.h"

namespace bora::mesh {

std::string MeshShape::text() const {
  const std::pair<const char*, int> axes[] = {
      {"replica", replica}, {"data", data}, {"expert", expert}, {"context", context}, {"model", model}};
  std::string out;
  for (const auto& [name, size] : axes)
    if (size > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " × ", name, size);
  return out.empty() ? "data 1" : out;
}

}  // namespace bora::mesh

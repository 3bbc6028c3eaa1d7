// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/mapping.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/layout/convert.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
namespace {

thread_local const Mapping* current_mapping = nullptr;

}  // namespace

Mapping::Mapping(std::vector<MeshAxis> mesh, std::vector<AxisRule> compute, std::vector<AxisRule> parameters)
    : mesh_(std::move(mesh)) {
  if (mesh_.size() > kMeshAxes) {
    fail(ErrorKind::InvalidArgument, "mapping: {} mesh axes, there can be {}", mesh_.size(), kMeshAxes);
  }
  for (const MeshAxis& m : mesh_) {
    const bool power = (m.lanes & (m.lanes - 1)) == 0;
    if (power && m.lanes % m.workers->size() == 0) continue;
    fail(ErrorKind::InvalidArgument,
         "mapping: {} lanes on the {} workers of the mesh axis {}\nhint: a power of two that the workers "
         "divide",
         m.lanes, m.workers->size(), m.name);
  }
  compute_ = resolved(std::move(compute));
  parameters_ = resolved(std::move(parameters));
}

std::vector<Mapping::Rule> Mapping::resolved(std::vector<AxisRule> rules) const {
  std::vector<Rule> out;
  for (AxisRule& rule : rules) {
    auto& [axis, mesh_axis] = rule;
    const auto found =
        std::find_if(mesh_.begin(), mesh_.end(), [&](const MeshAxis& m) { return m.name == rule.mesh_axis; });
    if (found == mesh_.end()) {
      std::vector<std::string> known;
      for (const auto& m : mesh_) known.push_back(m.name);
      fail(ErrorKind::InvalidArgument, "mapping: axis {} is to be on the mesh axis {}, which is none of {}",
           axis, mesh_axis, join(known, ", "));
    }
    const auto m = static_cast<std::size_t>(found - mesh_.begin());
    for (const Rule& earlier : out) {
      if (earlier.axis != axis || earlier.mesh == m) continue;
      fail(ErrorKind::InvalidArgument, "mapping: axis {} is on the mesh axes {} and {}\nhint: one of them",
           axis, mesh_[earlier.mesh].name, mesh_axis);
    }
    out.push_back({std::move(axis), m});
  }
  return out;
}

std::optional<std::size_t> Mapping::first(const std::vector<Rule>& rules, std::size_t m, Names names,
                                          Names whole) const {
  if (blocks(m) == 1) return std::nullopt;
  for (const Rule& rule : rules) {
    if (rule.mesh != m || find(whole, rule.axis) >= 0) continue;
    const int at = find(names, rule.axis);
    if (at >= 0) return static_cast<std::size_t>(at);
  }
  return std::nullopt;
}

std::optional<std::size_t> Mapping::owner(std::size_t m, Names names, Names whole) const {
  return own_lanes(m) ? std::nullopt : first(compute_, m, names, whole);
}

bool Mapping::serves(std::size_t m, std::string_view axis) const {
  return first(compute_, m, {&axis, 1}, {}).has_value();
}

std::optional<std::size_t> Mapping::parameter_cut(std::size_t m, Names names) const {
  return first(parameters_, m, names, {});
}

MappingScope::MappingScope(const Mapping* mapping) : before_(std::exchange(current_mapping, mapping)) {}
MappingScope::~MappingScope() { current_mapping = before_; }

const Mapping* mapping() { return current_mapping; }

void place_parameter(Array& parameter, Names names) {
  const Mapping* map = mapping();
  if (map == nullptr) return;
  Layout layout;
  at::Tensor block = tensor(parameter);
  for (std::size_t m = 0; m < map->size(); ++m) {
    const auto dim = map->parameter_cut(m, names);
    if (!dim) continue;
    auto& workers = map->workers(m);
    const auto size = block.size(static_cast<std::int64_t>(*dim));
    if (size % map->blocks(m) != 0) {
      fail(ErrorKind::InvalidArgument,
           "parameter {}: axis {} of size {} cannot be cut into {} equal shards for the mesh axis {}\nhint: "
           "another size of the mesh axis, or take {} out of its axes",
           describe(Operand{parameter, names}), names[*dim], size, map->blocks(m), map->mesh_axis(m).name,
           names[*dim]);
    }
    block = autograd::convert(block, autograd::Convert::slice, static_cast<std::int64_t>(*dim), workers);
    layout.place[m] = static_cast<std::int8_t>(*dim);
  }
  const bool cut = !(layout == Layout());
  if (cut) block = block.clone(at::MemoryFormat::Contiguous);  // not a part of what was drawn
  parameter = Array(new Node(std::move(block), layout));
  parameter.node()->use = std::make_shared<ParameterUse>();
}

std::array<int, Mapping::kMeshAxes> cuts_of(const Array& x) {
  std::array<int, Mapping::kMeshAxes> out{};
  for (std::size_t m = 0; m < out.size(); ++m) out[m] = std::max<int>(-1, x.node()->layout.place[m]);
  return out;
}

void sum_pending(const Array& parameter, std::string_view path, Array& gradient) {
  const Mapping* map = mapping();
  const auto& use = parameter.node()->use;
  if (map == nullptr || !use) return;
  for (std::size_t m = 0; m < map->size(); ++m) {
    if ((use->pending >> m & 1U) == 0) continue;
    if ((use->alone >> m & 1U) != 0) {
      fail(ErrorKind::InvalidArgument,
           "parameter {}: one operation uses it beside an axis that the mesh axis {} serves, another without "
           "any; "
           "its gradient cannot be summed over {}\nhint: take that axis out of the mesh axis's axes",
           path, map->mesh_axis(m).name, map->mesh_axis(m).name);
    }
    map->workers(m).all_reduce(gradient, Collectives::Combine::sum);
  }
}

Array whole(const Operand& x) try {
  if (mapping() == nullptr) return x.array;
  const Space space("whole", {x}, x.names);
  return wrap(space.local(x).contiguous());
} catch (...) {
  rethrow("whole", {x});
}

Array like(const Array& like, const Array& values) {
  return Array(new Node(tensor(values), like.node()->layout));
}

std::int64_t whole_size(const Array& x, int dim) {
  if (x.empty()) fail(ErrorKind::InvalidArgument, "size: the array is empty (it was never given a value)");
  std::int64_t size = tensor(x).size(dim);
  const Mapping* map = mapping();
  if (map == nullptr) return size;
  for (std::size_t m = 0; m < map->size(); ++m) {
    if (x.node()->layout.place[m] == dim) size *= map->workers(m).size();
  }
  return size;
}

std::vector<std::int64_t> whole_sizes(const Array& x) {
  std::vector<std::int64_t> sizes;
  for (int d = 0; d < x.rank(); ++d) sizes.push_back(whole_size(x, d));
  return sizes;
}

}  // namespace bora::core

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/walk.h"

#include <utility>

namespace bora::detail {

WalkState::WalkState(const ModuleFacts& model, bool skip_stacks)
    : place_{"", std::string(model.kind), model.role, {}, false, false}, skip_stacks_(skip_stacks) {}

std::string WalkState::path_of(std::string_view name) const { return place_.path + std::string(name); }

std::string WalkState::element(std::string_view name, std::size_t i) const {
  return entry(name, std::to_string(i));
}

std::string WalkState::entry(std::string_view name, std::string_view key) const {
  if (place_.elements_only) return std::string(key);
  std::string out(name);
  out += '.';
  out += key;
  return out;
}

bool WalkState::takes_next() {
  ++next_id_;
  return !place_.counts_only;
}

void WalkState::add(std::string_view name, core::Names axes, core::Array& array) {
  const bool is_weight = name == "weight";
  found_.push_back({.id = next_id_ - 1,
                    .path = path_of(name),
                    .module = place_.module,
                    .axes = {axes.begin(), axes.end()},
                    .inputs = is_weight
                                  ? std::vector<std::string_view>(place_.inputs.begin(), place_.inputs.end())
                                  : std::vector<std::string_view>{},
                    .role = name == "bias" ? core::Role::bias : place_.role,
                    .trainable = core::trainable(array),
                    .array = &array});
}

WalkState::Within::Within(WalkState& state, std::string_view name, const ModuleFacts& module)
    : state_(state),
      path_(state.place_.path.size()),
      module_(state.place_.module.size()),
      role_(state.place_.role),
      inputs_(state.place_.inputs),
      elements_only_(state.place_.elements_only),
      counts_only_(state.place_.counts_only) {
  auto& place = state.place_;
  place.path.append(name).append(".");
  if (!module.kind.empty()) place.module.append(".").append(module.kind);
  place.role = module.role;
  place.inputs = module.inputs;
  place.elements_only = module.elements_only;
  place.counts_only = counts_only_ || (module.is_list && state.skip_stacks_);
}

WalkState::Within::~Within() {
  auto& place = state_.place_;
  place.path.resize(path_);
  place.module.resize(module_);
  place.role = role_;
  place.inputs = inputs_;
  place.elements_only = elements_only_;
  place.counts_only = counts_only_;
}

}  // namespace bora::detail

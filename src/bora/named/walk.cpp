// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/walk.h"

#include <utility>

namespace bora::detail {

WalkState::WalkState(const ModuleFacts& model, bool skip_stacks)
    : module_(model.kind), place_{model.role}, skip_stacks_(skip_stacks) {}

std::string WalkState::path_of(std::string_view name) const { return path_ + std::string(name); }

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
                    .module = module_,
                    .axes = {axes.begin(), axes.end()},
                    .inputs = is_weight
                                  ? std::vector<std::string_view>(place_.inputs.begin(), place_.inputs.end())
                                  : std::vector<std::string_view>{},
                    .role = name == "bias" ? core::Role::bias : place_.role,
                    .trainable = core::trainable(array),
                    .array = &array});
}

WalkState::Within::Within(WalkState& state, std::string_view name, const ModuleFacts& module)
    : state_(state), path_(state.path_.size()), module_(state.module_.size()), before_(state.place_) {
  state.path_.append(name).append(".");
  if (!module.kind.empty()) state.module_.append(".").append(module.kind);
  state.place_ = {.role = module.role,
                  .inputs = module.inputs,
                  .elements_only = module.elements_only,
                  .counts_only = before_.counts_only || (module.is_list && state.skip_stacks_)};
}

WalkState::Within::~Within() {
  state_.path_.resize(path_);
  state_.module_.resize(module_);
  state_.place_ = before_;
}

}  // namespace bora::detail

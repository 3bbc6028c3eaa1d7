// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/lora.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/path_pattern.h"
#include "bora/base/text.h"
#include "bora/nn/language_model_interface.h"

namespace bora::nn::detail {
namespace {

std::vector<std::string> paths_of(const std::vector<LinearMap>& maps) {
  std::vector<std::string> out;
  for (const auto& map : maps) out.push_back(map.path);
  return out;
}

void add_rank_problem(std::vector<std::string>& problems, std::int64_t rank) {
  if (rank < 1) problems.push_back(fmt::format("the rank must be at least 1 but is {}", rank));
}

[[noreturn]] void refuse(const std::vector<std::string>& problems) {
  fail(ErrorKind::Config, "lora: {}", join(problems, "\nlora: "));
}

}  // namespace

core::Array merged(const core::Operand& weight, const core::Operand& b, const core::Operand& a,
                   double scale) {
  const auto product = core::dot(b, a, weight.names);
  const auto scaled = core::binary(core::Binary::multiply, {product, weight.names}, scale);
  return core::binary(core::Binary::add, weight, {scaled, weight.names}, weight.names);
}

std::vector<NewAdapter> chosen_adapters(const LoraOptions& options, const std::vector<LinearMap>& maps) {
  std::vector<std::string> problems;
  add_rank_problem(problems, options.rank);
  if (!(options.dropout >= 0 && options.dropout < 1))
    problems.push_back(fmt::format("dropout must be from 0 to below 1 but is {}", options.dropout));
  const auto targets = select_paths(options.modules, paths_of(maps), "linear map");
  problems.insert(problems.end(), targets.problems.begin(), targets.problems.end());
  if (!problems.empty()) refuse(problems);
  std::vector<NewAdapter> out;
  for (std::size_t i = 0; i < maps.size(); ++i)
    if (options.modules.empty() ? !maps[i].head : targets.selected[i])
      out.push_back({maps[i].path, options.shape()});
  return out;
}

void require_maps(const std::vector<NewAdapter>& adapters, const std::vector<LinearMap>& maps) {
  std::vector<std::string> problems;
  const auto paths = paths_of(maps);
  for (const auto& adapter : adapters) {
    if (std::find(paths.begin(), paths.end(), adapter.path) == paths.end())
      problems.push_back(
          fmt::format("the model has no linear map {}{}", adapter.path, did_you_mean(adapter.path, paths)));
    add_rank_problem(problems, adapter.shape.rank);
  }
  if (!problems.empty()) refuse(problems);
}

void refuse_head(const std::vector<NewAdapter>& adapters, const std::vector<LinearMap>& maps) {
  for (const auto& map : maps) {
    if (!map.head) continue;
    for (const auto& adapter : adapters) {
      if (adapter.path == map.path)
        fail(ErrorKind::Config,
             "lora: {} is the head, of which losses use the weight alone: an adapter would do nothing\n"
             "hint: choose other linear maps",
             map.path);
    }
  }
}

}  // namespace bora::nn::detail

namespace bora::nn {
namespace {

[[noreturn]] void refuse_adapters() {
  fail(ErrorKind::Unsupported,
       "lora: this model says nothing of its linear maps, so that no adapter can go on them\n"
       "hint: nn::erase_type makes a language model that does");
}

}  // namespace

void LanguageModel::attach_adapters(const std::vector<NewAdapter>& /*adapters*/, Key /*key*/) {
  refuse_adapters();
}
void LanguageModel::merge_adapters() { refuse_adapters(); }

}  // namespace bora::nn

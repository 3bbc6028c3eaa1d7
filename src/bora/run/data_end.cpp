// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/data_end.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/data/loader.h"
#include "bora/data/pipeline.h"
#include "bora/run/text_data.h"
#include "bora/store/ledger.h"
#include "bora/store/token_cache.h"

namespace bora::run {
namespace {

// Nothing is hashed: a dry run is quick, and a start tells of damage. Empty if one of them is not finished.
std::vector<data::SourceCaches> finished_caches(const data::DataConfig& config) {
  std::vector<data::SourceCaches> out;
  for (const auto& [name, source] : config.sources()) {
    if (!data::is_trained_on(config, name)) continue;
    const auto directory = config.cache_directory(name, source, "train");
    const auto ledger = store::read_ledger(directory);
    if (!ledger || !ledger->is_finished) return {};
    out.push_back({.name = name, .train = store::TokenCache::open_prefix(directory)});
    if (!out.back().train) return {};
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> steps_of_data(const LmConfig& config) try {
  const auto& data = config.data;
  const bool goes_round =
      !data.max_epochs && data::parse_stop_strategy(data.stop_strategy) == data::StopStrategy::Restart;
  const auto shape = config.model.config->shape(1);
  if (goes_round || shape.hears()) return std::nullopt;
  const auto caches = finished_caches(data);
  if (caches.empty()) return std::nullopt;
  const auto schedule = config.trainer.batch_schedule();
  const auto datasets = data::make_datasets(data, caches, sequences_of(shape), {}, schedule,
                                            Key::from_seed(0), [](const std::string&) {});
  if (!datasets.train) return std::nullopt;
  const auto steps = data::Loader(datasets.train, schedule).num_steps();
  return steps < config.trainer.num_train_steps ? std::optional(steps) : std::nullopt;
} catch (const Error&) {  // which a start tells
  return std::nullopt;
}

std::string fewer_steps(std::int64_t steps, std::int64_t asked) {
  return fmt::format("{} instead of {}: the data is read up then", steps, asked);
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "dry_run.h"

#include <fmt/core.h>

#include "bora/base/text.h"
#include "bora/core/runtime.h"
#include "bora/train/config.h"
#include "memory_estimate.h"

namespace bora::app {

int print_dry_run(const LoadedConfig& loaded, const RunPlace& place, track::Console& console) {
  auto config = loaded.config;
  const auto& t = config.trainer;
  auto schedule = t.batch_schedule();
  auto vocab = config.data.vocab_size.value_or(
      config.data.train_tokenizer ? config.data.train_tokenizer->vocab_size : 50257);
  auto seq_len = config.model.config->seq_len();
  auto sizes = estimate_sizes(*config.model.config, vocab, schedule.batch_size(0),
                              train::resolve_lanes(t, schedule.batch_size(0), seq_len));
  console.line(write_config(config));
  auto bytes = [](double b) { return human_bytes(b); };
  console.fact("model", fmt::format("{} · {} parameters", config.model.config->type(),
                                    human_count(static_cast<double>(sizes.parameters))));
  console.fact("tokens",
               fmt::format("{} per step · {} in {} steps", with_commas(schedule.batch_size(0) * seq_len),
                           human_count(static_cast<double>(schedule.offset(t.num_train_steps) * seq_len)),
                           with_commas(t.num_train_steps)));
  console.fact("memory",
               fmt::format("about {}: parameters {} · gradients {} · optimizer {} · activations {}",
                           bytes(sizes.total()), bytes(sizes.parameter_bytes), bytes(sizes.gradient_bytes),
                           bytes(sizes.optimizer_bytes), bytes(sizes.activation_bytes)));
  console.fact("writes", fmt::format("{} · {} per checkpoint", place.directory,
                                     bytes(sizes.parameter_bytes + sizes.optimizer_bytes)));
  auto copy = config;
  for (const auto& k : ignored_keys(loaded.tree, copy))
    console.fact("ignored", fmt::format("{} ({}): {}", k.key, k.where, k.message));
  console.fact("ok", "nothing was started");
  return 0;
}

}  // namespace bora::app

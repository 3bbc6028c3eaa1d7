// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// From `data:` in a configuration to a tokenizer, token caches and datasets, visibly.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/data/batch.h"
#include "bora/data/batch_schedule.h"
#include "bora/data/dataset.h"
#include "bora/nn/language_model.h"
#include "bora/store/token_cache.h"
#include "bora/tokenize/tokenizer.h"
#include "bora/track/console.h"
#include "bora/track/tracker.h"
#include "lm_config.h"
#include "train_run.h"

namespace bora::app {

/// One data set of a configuration, ready to read.
struct TextSource {
  std::string name;
  double weight = 1;
  std::shared_ptr<const store::TokenCache> cache;  ///< of the training text; null: evaluation only
  data::DatasetPtr train;                          ///< without the held-out part; null if there is none
  data::DatasetPtr validation;                     ///< null if nothing is held out
};

struct TextData {
  Tokenizer tokenizer;
  std::vector<TextSource> sources;
  data::DatasetPtr train;  ///< endless: shuffled sources, mixed
  std::int64_t vocab_size() const { return tokenizer.vocab_size(); }
};

/// Fetches texts, trains or loads the tokenizer (unless one is given), builds missing token caches, and joins
/// everything; reports each step on the console.
TextData prepare_text(const LmConfig& config, const RunPlace& place, std::int64_t seq_len,
                      track::Console& console, const std::optional<Tokenizer>& tokenizer);

/// Batch `step` of the mixture: a pure function.
data::Batch read_step(const data::Dataset& train, const data::BatchSchedule& schedule, std::int64_t step);

/// Loss, perplexity and bits per byte of each source with a held-out part: a table, and metrics
/// eval/<name>/loss, ...
std::vector<track::Metric> evaluate_sources(const nn::LanguageModel& model, const TextData& text,
                                            const LmConfig& config, track::Console& console);

}  // namespace bora::app

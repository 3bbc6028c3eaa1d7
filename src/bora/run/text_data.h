// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// From `data:` in a configuration to a tokenizer, token caches and datasets, visibly.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bora/data/pipeline.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/lm_config.h"
#include "bora/run/train_run.h"
#include "bora/tokenize/tokenizer.h"
#include "bora/track/console.h"
#include "bora/track/tracker.h"

namespace bora::run {

struct TextData {
  Tokenizer tokenizer;
  std::vector<data::SourceCaches> caches;
  data::Datasets datasets;
  std::shared_ptr<data::BackgroundBuild> build;  ///< of caches that are growing; null: none is
  std::int64_t vocab_size() const { return tokenizer.vocab_size(); }
};

/// Several workers that prepare the same text: the first fetches files and trains the tokenizer while the
/// others wait; then all build the caches together.
struct TextTeam {
  store::CacheTeam caches;
  int threads = 0;             ///< of this worker; 0: all of the machine's
  std::function<void()> meet;  ///< returns when every worker has called it; empty for one
};

enum class Caches {
  Complete,  ///< all are built first
  Growing,   ///< those that can be are read while they are being built: see GrowingText
};

/// The sequences that a model takes.
data::SequenceShape sequences_of(const nn::ModelShape& shape);

/// Fetches texts, trains or loads the tokenizer (unless one is given), builds missing token caches, and makes
/// the datasets; reports each step on the console.
TextData prepare_text(const LmConfig& config, const RunPlace& place, const data::SequenceShape& shape,
                      track::Console& console, const std::optional<Tokenizer>& tokenizer,
                      const TextTeam& team = {}, Caches caches = Caches::Complete);

/// Config error where there is nothing to train on.
void require_training_data(const TextData& text);

/// Config error where a configuration holds nothing out to evaluate on, before anything is read; an hf data set may.
void require_held_out(const LoadedConfig& loaded);

/// "6.0 M tokens · 4.02 bytes each": all that there is to train on. The bytes are those of text; imported ids
/// have none.
std::string describe_caches(const std::vector<data::SourceCaches>& caches);

/// Loss, perplexity and bits per byte of each held-out set: a table, and metrics eval/<name>/loss, ... With
/// `workers`, those of different lanes, each computes its share (collective).
std::vector<track::Metric> evaluate_sources(const nn::LanguageModel& model, const TextData& text,
                                            const LmConfig& config, track::Console& console,
                                            mesh::Communicator* workers = nullptr);

}  // namespace bora::run

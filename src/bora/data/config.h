// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The `data` block of a configuration, with Levanter's keys.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/config.h"
#include "bora/data/permutation.h"

namespace bora::data {

/// How a source's records become documents.
struct FormatConfig {
  std::string type = "text";
  std::string text_key = "text";
  void bind(Binder& b);
};

/// One data set.
struct SourceConfig {
  std::optional<std::string> id;  ///< of a hub data set: not reachable, see missing_sources
  std::vector<std::string> train_urls, validation_urls;
  std::optional<std::string> cache_dir;
  FormatConfig format;
  void bind(Binder& b);
  void bind_fields(Binder& b);
};

/// Training a tokenizer on the text instead of loading one.
struct TokenizerTraining {
  std::int64_t vocab_size = 4096;
  std::int64_t min_frequency = 2;
  void bind(Binder& b);
};

/// From step `start` on, these weights.
struct WeightStage {
  std::int64_t start = 0;
  std::vector<std::pair<std::string, double>> weights;
};

/// One data set (train_urls, validation_urls), or several with weights (configs, train_weights).
struct DataConfig {
  SourceConfig single;
  std::vector<std::pair<std::string, SourceConfig>> configs;
  std::vector<WeightStage> train_weights;

  std::string tokenizer = "gpt2";  ///< a tokenizer.json or a directory that holds one
  std::optional<TokenizerTraining> train_tokenizer;
  std::optional<std::int64_t> vocab_size;
  std::string cache_dir = "cache/";
  bool enforce_eos = true;
  std::int64_t ignore_token_id = -100;
  Shuffle shuffle{.kind = Shuffle::Kind::Full};
  std::int64_t mixture_block_size = 2048;
  std::vector<std::pair<std::string, std::int64_t>> num_validation_sequences;  ///< held out of the training text

  void bind(Binder& b);

  /// The data sets there are: `configs`, or the single one under the name "train" where train_urls are given (they win).
  std::vector<std::pair<std::string, SourceConfig>> sources() const;
  double weight_of(const std::string& source) const;  ///< in the first stage
  std::int64_t held_out(const std::string& source) const;
  /// Sources that cannot be read on this machine, and what to do: hub ids, remote URLs.
  std::vector<ConfigProblem> missing_sources() const;
  /// Vocabulary for estimates before the tokenizer is read.
  std::int64_t vocabulary_hint() const;
};

}  // namespace bora::data

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/config.h"
#include "bora/data/format_config.h"
#include "bora/data/shuffle.h"
#include "bora/data/spec_augment.h"
#include "bora/store/download.h"
#include "bora/store/hub_dataset.h"

namespace bora::data {

template <class T>
using ByName = std::vector<std::pair<std::string, T>>;  ///< in the order of the file

/// The value of a data set; null if there is none. A value without a name is that of the only data set.
template <class T>
const T* find(const ByName<T>& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name || key.empty()) return &value;
  }
  return nullptr;
}

/// Where the documents of one data set are.
struct SourceConfig {
  std::optional<std::string> id;                             ///< of a hub data set: owner/name[@revision]
  std::optional<std::string> name;                           ///< of its configuration
  std::optional<std::string> train_split, validation_split;  ///< of its splits
  bool stream = true;
  std::vector<std::string> train_urls, validation_urls;
  std::vector<std::string> tags;
  std::optional<std::string> cache_dir;  ///< absent: <data.cache_dir>/<name>
  FormatChoice format;
  /// What expand_urls takes: the files that are given for a use, or else those of the hub data set.
  std::vector<std::string> urls(store::Split split) const;
  void bind(Binder& b);
  void bind_fields(Binder& b);  ///< without what only a member of a mixture has
};

/// Weights from `start` on.
struct WeightStage {
  std::int64_t start = 0;  ///< a step
  ByName<double> weights;
};

struct TrainTokenizerConfig {
  std::string kind = "bpe";  ///< one of tokenizer_kind_names()
  std::int64_t vocab_size = 4096;
  std::int64_t min_frequency = 2;
  double character_coverage = 0.9995;
  void bind(Binder& b);
};

/// The groups that evaluation gives the means of, to which a data set belongs: its tags and, where tags or its own name
/// have parts ("code/python"), each part above ("code"). Its own name is none: that group would be the set.
std::set<std::string> groups_of(const std::string& name, const std::vector<std::string>& tags);

/// Levanter's `data` block: one data set (`train_urls` beside `tokenizer`), or a mixture (`configs`).
struct DataConfig {
  SourceConfig single;  ///< used if configs is empty
  ByName<SourceConfig> configs;

  std::string tokenizer =
      "gpt2";  ///< a folder or tokenizer.json, or "passthrough" (then vocab_size is needed)
  std::optional<TrainTokenizerConfig> train_tokenizer;
  std::optional<std::int64_t> vocab_size;
  std::string cache_dir = "cache/";
  bool enforce_eos = true;
  std::optional<std::string> chat_template;
  std::int64_t ignore_token_id = -100;
  Shuffle shuffle;
  bool block_cross_document_attention = true;
  std::optional<std::int64_t> max_epochs;  ///< passes over a data set, at most
  bool shuffle_before_trainval_split = false;

  std::vector<WeightStage> train_weights;  ///< empty: in proportion to the sequences of each set
  std::string stop_strategy = "restart";
  std::int64_t mixture_block_size = 2048;
  std::optional<SpecAugment> spec_augment;  ///< absent: features of sound stay what they are
  std::optional<double> target_budget, experiment_budget;
  ByName<std::int64_t> max_train_batches;
  ByName<std::int64_t> num_validation_sequences;

  ByteSize max_download{100'000'000'000};  ///< of one file
  bool allow_private_addresses = false;

  void bind(Binder& b);

  /// How files of URLs are fetched.
  store::DownloadOptions download_options() const;

  /// Every data set with its name.
  ByName<SourceConfig> sources() const;
  /// What the single one is called by: its name or id, or "data".
  std::string single_name() const;

  /// What messages and records call the tokenizer: where it lies, or how it is trained.
  std::string tokenizer_name() const;

  /// The token cache of a data set's `split`: train or validation.
  std::string cache_directory(const std::string& name, const SourceConfig& source,
                              const std::string& split) const;

  /// What keeps training from finding its data: hub ids, remote addresses, no files and no imported
  /// tokens. Empty: it may start. Not part of bind(), so that a configuration can be read and shown where its
  /// data is not.
  std::vector<ConfigProblem> missing_sources() const;

  /// Data sets whose tokens can be cached and looked at, but neither trained on nor evaluated.
  std::vector<ConfigProblem> untrainable_sources() const;

  /// What training cannot begin with, reading aside: those, and weights that are all zero.
  std::vector<ConfigProblem> training_problems() const;

 private:
  void bind_mixture(Binder& b);
  void check(Binder& b) const;
};

}  // namespace bora::data

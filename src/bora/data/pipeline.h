// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/key.h"
#include "bora/data/batch_schedule.h"
#include "bora/data/config.h"
#include "bora/data/dataset.h"
#include "bora/data/mixture.h"
#include "bora/data/token_dataset.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/store/cache_builder.h"
#include "bora/store/growing_cache.h"

namespace bora::data {

/// The token caches of one data set.
struct SourceCaches {
  std::string name;
  std::vector<std::string> tags;
  std::shared_ptr<const store::TokenCache> train, validation;  ///< null: it has no such files
  std::shared_ptr<const store::GrowingCache> growing;  ///< in place of `train` while that is being built
};

struct CacheReport {
  std::string name;   ///< of the data set
  std::string split;  ///< train or validation
  store::CacheProgress progress;
};

/// Opens or builds every cache that the configuration needs, with one processor for all of them.
/// Errors: Config if missing_sources() has anything (all of it in one message); what build_cache raises.
/// A team builds each cache together: see store::CacheTeam.
std::vector<SourceCaches> build_caches(const DataConfig& config, const store::Processor& processor,
                                       int threads = 0,
                                       const std::function<void(const CacheReport&)>& report = {},
                                       const store::CacheTeam& team = {});

/// The same with the processor of each data set's format; `text` is that of text, and has the tokenizer.
std::vector<SourceCaches> build_caches(const DataConfig& config, const TokenizerProcessor& text,
                                       int threads = 0,
                                       const std::function<void(const CacheReport&)>& report = {},
                                       const store::CacheTeam& team = {});

/// The same without a tokenizer: every data set is of prebuilt ids.
std::vector<SourceCaches> build_passthrough_caches(const DataConfig& config, int threads = 0,
                                                   const std::function<void(const CacheReport&)>& report = {},
                                                   const store::CacheTeam& team = {});

/// Like build_caches, but does not wait for caches whose sequences can be had while they are being built:
/// these are `growing`, and a thread builds them in the background, with `report` called by it. Training on
/// them gives the batches that it gives afterwards. For every other unfinished cache the log says why it is
/// waited for. `text`: of every data set if it is not a
/// TokenizerProcessor, which has the tokenizer of the other formats.
std::vector<SourceCaches> start_caches(const DataConfig& config,
                                       const std::shared_ptr<const store::Processor>& text, int threads = 0,
                                       const std::function<void(const CacheReport&)>& report = {});

/// Why sequences to train on cannot be had of this set before its cache is complete: "a full shuffle needs
/// its length"; empty if they can.
std::string why_whole_cache(const DataConfig& config, const std::string& name);

/// A data set to evaluate on.
struct ValidationSet {
  std::string name;
  std::vector<std::string> tags;
  DatasetPtr dataset;           ///< finite, in order
  std::int64_t num_bytes = -1;  ///< UTF-8 bytes of its documents, if it is made of whole documents
};

struct Datasets {
  std::shared_ptr<const Mixture> train;  ///< null if nothing has a weight
  std::vector<ValidationSet> validation;
};

/// Sequences to train and to evaluate on. Steps of train_weights become sequences through the batch schedule;
/// a stage that would start inside a block of the mixture starts at the next block, with a warning. From the
/// end of a set's training sequences num_validation_sequences are held back first, before any cut or shuffle,
/// so that no sequence is in both; with shuffle_before_trainval_split from the end of an order that depends
/// on nothing but the set's name and size. Errors: Config if a set is too small for one sequence, or for what
/// is held back.
Datasets make_datasets(const DataConfig& config, const std::vector<SourceCaches>& caches,
                       std::int64_t seq_len, const TokenRules& rules, const BatchSchedule& schedule,
                       const Key& key);

}  // namespace bora::data

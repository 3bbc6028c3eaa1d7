// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bora/data/background_build.h"
#include "bora/data/config.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/store/cache_builder.h"

namespace bora::data {

/// The token caches of one data set.
struct SourceCaches {
  std::string name;
  std::vector<std::string> tags;
  std::shared_ptr<const store::TokenCache> train, validation;  ///< null: it has no such files
  /// In place of `train` and `validation` while these are being built.
  std::shared_ptr<const store::GrowingCache> growing, growing_validation;
  /// The same with complete caches; waits for them. Errors: what building them raises.
  SourceCaches when_complete() const;
};

struct CacheReport {
  std::string name;   ///< of the data set
  std::string split;  ///< train or validation
  store::CacheProgress progress;
};

/// What is told while caches are built; each may be empty.
struct CacheWatch {
  std::function<void(const CacheReport&)> progress = {};
  /// Before training waits for the whole cache of a data set: its name, and why.
  std::function<void(const std::string& name, const std::string& why)> waits = {};
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

struct StartedCaches {
  std::vector<SourceCaches> caches;
  std::shared_ptr<BackgroundBuild> build;  ///< of those that are growing; null: none is
};

/// Like build_caches, but does not wait for caches whose sequences can be had while they are being built:
/// these are growing, and threads build them in the background. Training on them gives the batches that it
/// gives afterwards. `watch` hears of the others. The workers of a team start together and each makes its
/// share; what one of them cannot make the others wait for until they are told to stop. `text`: of every data
/// set if it is not a TokenizerProcessor, which has the tokenizer of the other formats.
StartedCaches start_caches(const DataConfig& config, const std::shared_ptr<const store::Processor>& text,
                           int threads = 0, const CacheWatch& watch = {}, const store::CacheTeam& team = {});

/// Why sequences to train on cannot be had of this set before its cache is complete: "a full shuffle needs
/// its length; ..."; empty if they can, or if it is not trained on.
std::string why_whole_cache(const DataConfig& config, const std::string& name);

/// Whether any stage of the mixture has a weight for it.
bool is_trained_on(const DataConfig& config, const std::string& name);

}  // namespace bora::data

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
#include "bora/data/source_caches.h"
#include "bora/data/token_dataset.h"

namespace bora::data {

/// A data set to evaluate on.
struct ValidationSet {
  std::string name;
  std::vector<std::string> tags;
  DatasetPtr dataset;           ///< finite, in order; nothing counts that is predicted across documents
  std::int64_t num_bytes = -1;  ///< UTF-8 bytes of its documents, if it is made of whole documents
};

struct Datasets {
  std::shared_ptr<const Mixture> train;  ///< null if nothing has a weight
  std::vector<ValidationSet> validation;
};

using Warn = std::function<void(const std::string&)>;
void log_one_warning(const std::string& text);  ///< log_warning

/// Sequences to train and to evaluate on. Steps of train_weights become sequences through the batch schedule;
/// a stage that would start inside a block of the mixture starts at the next block, with a warning. From the
/// end of a set's training sequences num_validation_sequences are held back first, before any cut or shuffle,
/// so that no sequence is in both; with shuffle_before_trainval_split from the end of an order that depends
/// on nothing but the set's name and size. Of caches that are growing the sequences are the same: reading one
/// waits until it is there, and asking for the size of what is evaluated on waits for the whole cache.
/// What a person should know goes to `warn`. Errors: Config if a set is too small for one sequence, or for
/// what is held back; if it has sound and the shape none, or the other way round; those of sounds_of.
Datasets make_datasets(const DataConfig& config, const std::vector<SourceCaches>& caches,
                       const SequenceShape& shape, const TokenRules& rules, const BatchSchedule& schedule,
                       const Key& key, const Warn& warn = log_one_warning);

}  // namespace bora::data

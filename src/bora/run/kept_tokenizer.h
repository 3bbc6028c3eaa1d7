// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The tokenizer that a run trains for itself, in a folder of its own beside the checkpoints.
#pragma once
#include <string>
#include <vector>

#include "bora/data/config.h"

namespace bora::run {

/// Whether a tokenizer lies in `directory`, a run's folder `tokenizer`, that was trained as `data.train_tokenizer` says.
/// Beside a checkpoint its settings alone count, and one from before they were written down is taken for that unless it
/// has more pieces. Without one the texts must be the same files, too: names, sizes and times.
bool is_kept(const std::string& directory, const data::DataConfig& data);

/// The same beside workers of which the first has just looked at the texts, or trained it: they are not looked at again.
bool is_kept_by_first(const std::string& directory, const data::DataConfig& data);

/// What of a kept tokenizer's settings is not as `wanted`: "vocab_size 300 -> 400". Corruption, naming the file, where
/// they cannot be read.
std::vector<std::string> changed_settings(const std::string& directory,
                                          const data::TrainTokenizerConfig& wanted);

/// Writes them down beside the tokenizer.
void write_settings(const std::string& directory, const data::DataConfig& data);

}  // namespace bora::run

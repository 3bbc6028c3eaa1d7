// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Files of Levanter's that are no configuration of train_lm: those of its older fine-tuning program, which say
// the same in other keys, those of its other programs, and parts that other files include.
#pragma once
#include <string>
#include <vector>

#include "bora/run/lm_config.h"

namespace bora::run {

/// The keys of Levanter's sft.py (`supervised_data`, `mixture_weights`, `max_seq_len`, `messages_field`, ...),
/// where a configuration has them: read into `data`, `model` and `initialize_from_hf`. While reading alone.
void bind_older_fine_tuning(Binder& b, LmConfig& config);

/// What a key of `data` is called in a configuration that says it in those keys: "supervised_data.tulu.train_urls",
/// "tokenizer". Itself in all others.
std::string key_as_written(const ConfigTree& tree, const std::string& key);

/// max_train_length of lora_lm: shorter sequences than the model's. `problems` gets what is wrong with it.
void shorten_sequences(const ConfigTree& tree, LmConfig& config, std::vector<ConfigProblem>& problems);

/// Config error for a file that is a part of a configuration, or another program's, in words that say so and
/// what to do; nothing for any other. `problems`: those of reading `path` as a configuration of a training.
void explain_other_file(const std::string& path, const std::vector<ConfigProblem>& problems);

}  // namespace bora::run

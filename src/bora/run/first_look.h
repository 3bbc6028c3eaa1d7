// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a start would find out of its texts, caches and prompts only after long work, as far as a first look tells.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/run/lm_config.h"
#include "bora/store/hub_dataset.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// One use of a data set whose files are all here.
struct TextsHere {
  std::string name;
  data::SourceConfig source;
  store::Split split = store::Split::Train;
  std::string key;  ///< that gives the files
  std::vector<std::string> files;
  bool is_used = true;  ///< its weight is above zero somewhere, or it is evaluated
};

/// Problems of the first records (of at most a thousand files; tables, which need a plug-in, aside), of the format
/// with this tokenizer, of a cache that is there, and of too few tokens for sequences of `seq_len` and for what is held
/// back; `seq_len` 0: not known. `tokenizer`: none where it is still to be trained, or is missing.
std::vector<ConfigProblem> problems_of_texts(const data::DataConfig& data, const TextsHere& texts,
                                             const std::optional<Tokenizer>& tokenizer, std::int64_t seq_len);

/// Of sample.prompts: empty ones, and, with a tokenizer, those that leave no room in a sequence.
std::vector<ConfigProblem> problems_of_prompts(const SampleConfig& sample,
                                               const std::optional<Tokenizer>& tokenizer,
                                               std::int64_t seq_len);

}  // namespace bora::run

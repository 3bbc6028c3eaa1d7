// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/changed_keys.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::run {
namespace {

// Keys of `data` that say where and how text is kept, what is evaluated, and what counts in the loss.
constexpr std::array<std::string_view, 10> kHarmless = {"cache_dir",
                                                        "max_download",
                                                        "allow_private_addresses",
                                                        "vocab_size",
                                                        "block_cross_document_attention",
                                                        "stream",
                                                        "validation_urls",
                                                        "validation_split",
                                                        "ignore_token_id",
                                                        "tags"};

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

std::vector<ConfigChange> changed_keys(const std::string& run_directory, const LmConfig& now) {
  const auto file = path_join(run_directory, "config.yaml");
  if (!exists(file)) return {};
  try {
    ConfigTree recorded, before, after;
    recorded.merge_file(file);
    LmConfig earlier;
    (void)read_config(recorded, earlier);  // what cannot be read again stands in the record as it was
    before.merge_text(write_config(earlier), file);
    before.merge_file(file);
    after.merge_text(resolved_text(now), "this start");
    auto changes = config_changes(before, after);
    // Records of before had the default of a key that the tokenizer to be trained takes the place of.
    if (now.data.train_tokenizer && earlier.data.train_tokenizer)
      std::erase_if(changes, [](const ConfigChange& change) { return change.key == "data.tokenizer"; });
    // Where a run is found by another name, it is the same run.
    std::erase_if(changes, [](const ConfigChange& change) { return change.key == "trainer.id"; });
    return changes;
  } catch (const Error&) {  // a damaged record is no reason not to go on
    return {};
  }
}

bool decides_data_order(std::string_view key, const LmConfig& now) {
  if (key == "trainer.seed") return !now.data_seed;
  if (key == "data_seed" || key == "epoch" || key == "model.seq_len") return true;
  if (key.starts_with("trainer.train_batch_size")) return true;
  if (!key.starts_with("data.")) return false;
  if (key.starts_with("data.train_tokenizer.")) return true;
  return std::find(kHarmless.begin(), kHarmless.end(), last_part(key)) == kHarmless.end();
}

}  // namespace bora::run

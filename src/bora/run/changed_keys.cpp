// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/changed_keys.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

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

// Where these stand: names of data sets may be called like them.
bool is_harmless(std::string_view key, const data::DataConfig& data) {
  const auto is_one = [&](std::string_view rest) {
    constexpr std::string_view kFormat = "format.";
    if (rest.starts_with(kFormat)) rest.remove_prefix(kFormat.size());
    return std::find(kHarmless.begin(), kHarmless.end(), rest) != kHarmless.end();
  };
  for (const auto& [name, source] : data.configs)
    if (const auto prefix = "data.configs." + name + "."; key.starts_with(prefix))
      return is_one(key.substr(prefix.size()));
  return is_one(key.substr(std::string_view("data.").size()));
}

// A cache of ids without a text is the data itself.
bool is_of_ids(std::string_view key, const data::DataConfig& data) {
  const bool of_all = key == "data.cache_dir";
  for (const auto& [name, source] : data.sources())
    if (source.urls(store::Split::Train).empty() && source.urls(store::Split::Validation).empty() &&
        !source.id && (of_all ? !source.cache_dir.has_value() : key == "data.configs." + name + ".cache_dir"))
      return true;
  return false;
}

// Sequences of a mixture are dealt by the order of its data sets.
void add_order(const data::DataConfig& before, const data::DataConfig& after,
               std::vector<ConfigChange>& changes) {
  const auto names = [](const data::DataConfig& of, const data::DataConfig& other) {
    std::vector<std::string> out;
    for (const auto& set : of.configs)
      if (data::find(other.configs, set.first) != nullptr) out.push_back(set.first);
    return out;
  };
  const auto was = names(before, after), is = names(after, before);
  if (was != is) changes.push_back({"data.configs", join(was), join(is)});
}

}  // namespace

std::optional<std::vector<ConfigChange>> changed_keys(const std::string& run_directory, const LmConfig& now) {
  const auto file = path_join(run_directory, "config.yaml");
  if (!exists(file)) return std::nullopt;
  try {
    ConfigTree recorded, before, after;
    recorded.merge_file(file);
    LmConfig earlier;
    (void)read_config(recorded, earlier);  // what cannot be read again stands in the record as it was
    before.merge_text(write_config(earlier), file);
    before.merge_file(file);
    after.merge_text(resolved_text(now), "this start");
    auto changes = config_changes(before, after);
    add_order(earlier.data, now.data, changes);
    // Records of before had the default of a key that the tokenizer to be trained takes the place of.
    if (now.data.train_tokenizer && earlier.data.train_tokenizer)
      std::erase_if(changes, [](const ConfigChange& change) { return change.key == "data.tokenizer"; });
    // Where a run is found by another name, it is the same run.
    std::erase_if(changes, [](const ConfigChange& change) { return change.key == "trainer.id"; });
    return changes;
  } catch (const Error&) {  // a damaged record
    return std::nullopt;
  }
}

bool decides_data_order(std::string_view key, const LmConfig& now) {
  if (key == "trainer.seed") return !now.data_seed;
  if (key == "data_seed" || key == "epoch" || key == "model.seq_len") return true;
  if (key.starts_with("trainer.train_batch_size")) return true;
  if (!key.starts_with("data.")) return false;
  if (key.starts_with("data.train_tokenizer.")) return true;
  return is_of_ids(key, now.data) || !is_harmless(key, now.data);
}

}  // namespace bora::run

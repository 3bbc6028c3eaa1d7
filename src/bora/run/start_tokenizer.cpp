// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/run/changed_keys.h"
#include "bora/run/hub_name.h"
#include "bora/run/kept_tokenizer.h"
#include "bora/store/token_files.h"

namespace bora::run {
namespace {

// Whether a change of this key gives a tokenizer that is trained other texts, or makes another one of them.
bool decides_tokenizer(const std::string& key) {
  if (key.starts_with("data.train_tokenizer")) return true;
  const auto is_of = [&](const char* word) { return key.ends_with(word); };
  return key.starts_with("data.") && (is_of(".train_urls") || is_of(".id") || is_of(".name") ||
                                      is_of(".train_split") || is_of(".text_key") || is_of(".format.type"));
}

// The run whose weights these are, if its record is there: the folder itself, or the one above its export.
std::string run_of_weights(const std::string& directory) {
  for (auto place : {directory, parent_path(directory)})
    if (exists(path_join(place, "run.json"))) return place;
  return "";
}

// The first key that makes the tokenizer to be trained another one than that of the run.
std::string what_makes_another(const std::string& run, const LmConfig& config) {
  if (run.empty()) return "another one is trained";
  for (const auto& change : changed_keys(run, config).value_or(std::vector<ConfigChange>()))
    if (decides_tokenizer(change.key))
      return fmt::format("{} was {} for it and is {} now", change.key, change.before, change.after);
  return "";
}

}  // namespace

std::string first_other_piece(const Tokenizer& theirs, const Tokenizer& ours) {
  if (theirs.fingerprint() == ours.fingerprint()) return "";
  const auto both = static_cast<std::int32_t>(std::min(theirs.vocab_size(), ours.vocab_size()));
  for (std::int32_t id = 0; id < both; ++id) {
    const auto there = theirs.token(id), here = ours.token(id);
    if (!there || !here || *there == *here || (theirs.is_special(id) && ours.is_special(id))) continue;
    return fmt::format("id {} is \"{}\" there and \"{}\" here", id, *there, *here);
  }
  return "";
}

std::optional<ConfigProblem> other_tokenizer(const LmConfig& config, const std::optional<Tokenizer>& ours,
                                             bool accepted) {
  const auto from = model_to_start_from(config);
  const auto theirs = from.empty() ? "" : place_of_tokenizer(from);
  if (theirs.empty()) return std::nullopt;
  const auto& data = config.data;
  const auto why = ours                   ? first_other_piece(Tokenizer::load(theirs), *ours)
                   : data.train_tokenizer ? what_makes_another(run_of_weights(from), config)
                                          : "";
  if (why.empty()) return std::nullopt;
  const auto advice = [&](const std::string& instead) {
    return accepted ? std::string("another one is meant (--accept_changes)")
                    : instead + ", or --accept_changes where another one is meant";
  };
  if (data.train_tokenizer)
    return ConfigProblem{
        "", "data.train_tokenizer",
        fmt::format(
            "trains a tokenizer, but the weights of {} were trained with {}: {}; {}", from, theirs, why,
            advice(fmt::format("give it instead (data.tokenizer: {}, data.train_tokenizer: null)", theirs)))};
  return ConfigProblem{
      "", "data.tokenizer",
      fmt::format("is {}, but the weights of {} were trained with {}: {}; {}", data.tokenizer_name(), from,
                  theirs, why, advice("data.tokenizer: " + theirs))};
}

std::optional<Tokenizer> tokenizer_of(const data::DataConfig& data, const RunPlace& place) {
  try {
    const auto trained = path_join(place.directory, "tokenizer");
    if (data.train_tokenizer)
      return is_kept(trained, data) ? std::optional(Tokenizer::load(trained)) : std::nullopt;
    const auto path = local_path(data.tokenizer, store::HubFiles::Tokenizer);
    return exists(path) ? std::optional(Tokenizer::load(path)) : std::nullopt;
  } catch (const Error&) {  // it is not the one that counts
    return std::nullopt;
  }
}

std::string take_tokenizer_of(const OpenedModel& model, const RunPlace& place, data::DataConfig& data) {
  if (!model.tokenizer) return "";
  const auto ours = tokenizer_of(data, place);
  if (ours && ours->fingerprint() == model.tokenizer->fingerprint()) return "";
  const auto before = data.tokenizer_name();
  const auto settle = [&](const std::string& name, data::SourceConfig& source) {
    const auto train = data.cache_directory(name, source, "train"),
               validation = data.cache_directory(name, source, "validation");
    const bool is_of_ids = store::holds_imported_tokens(train) || store::holds_imported_tokens(validation);
    source.cache_dir = is_of_ids ? std::optional(parent_path(train)) : std::nullopt;
  };
  settle("data", data.single);
  for (auto& [name, source] : data.configs) settle(name, source);
  const auto from = place_of_tokenizer(model.directory);
  data.tokenizer = from.empty() ? model.directory : from;
  data.train_tokenizer.reset();
  data.cache_dir = cache_folder_of(data);
  return fmt::format(
      "{} pieces, of the model; the configuration's {} does not count, and tokens are kept in {}",
      with_commas(model.tokenizer->vocab_size()), before, data.cache_dir);
}

}  // namespace bora::run

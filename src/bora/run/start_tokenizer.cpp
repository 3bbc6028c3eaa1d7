// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/run/changed_keys.h"
#include "bora/tokenize/formats/tokenizer_files.h"

namespace bora::run {
namespace {

// Beside a checkpoint it is that of its run; an export has one of its own.
std::string place_of_tokenizer(const std::string& directory) {
  for (auto place :
       {directory, path_join(directory, "tokenizer"), path_join(parent_path(directory), "tokenizer")})
    if (tokenize::holds_tokenizer(place)) return place;
  return "";
}

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
  for (const auto& change : changed_keys(run, config))
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

std::optional<ConfigProblem> other_tokenizer(const LmConfig& config, const std::optional<Tokenizer>& ours) {
  const auto from = model_to_start_from(config);
  const auto theirs = from.empty() ? "" : place_of_tokenizer(from);
  if (theirs.empty()) return std::nullopt;
  const auto& data = config.data;
  const auto why = ours                   ? first_other_piece(Tokenizer::load(theirs), *ours)
                   : data.train_tokenizer ? what_makes_another(run_of_weights(from), config)
                                          : "";
  if (why.empty()) return std::nullopt;
  constexpr const char* kAccept = "or --accept_changes where another one is meant";
  if (data.train_tokenizer)
    return ConfigProblem{
        "", "data.train_tokenizer",
        fmt::format("trains a tokenizer, but the weights of {} were trained with {}: {}; give it "
                    "instead (data.tokenizer: {}, data.train_tokenizer: null), {}",
                    from, theirs, why, theirs, kAccept)};
  return ConfigProblem{
      "", "data.tokenizer",
      fmt::format("is {}, but the weights of {} were trained with {}: {}; data.tokenizer: {}, {}",
                  data.tokenizer_name(), from, theirs, why, theirs, kAccept)};
}

}  // namespace bora::run

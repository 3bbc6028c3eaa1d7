// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/kept_tokenizer.h"

#include <fmt/core.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {
namespace {

std::string settings_path(const std::string& directory) { return path_join(directory, "trained_with.json"); }

Json settings_of(const data::TrainTokenizerConfig& c) {
  return {{"kind", c.kind},
          {"vocab_size", c.vocab_size},
          {"min_frequency", c.min_frequency},
          {"character_coverage", c.character_coverage}};
}

}  // namespace

bool is_kept(const std::string& directory, const data::TrainTokenizerConfig& wanted) {
  return exists(path_join(directory, "tokenizer.json")) && changed_settings(directory, wanted).empty();
}

std::vector<std::string> changed_settings(const std::string& directory,
                                          const data::TrainTokenizerConfig& wanted) {
  const auto path = settings_path(directory);
  if (!exists(path)) {
    const auto pieces = Tokenizer::load(directory).vocab_size();
    if (pieces <= wanted.vocab_size) return {};
    return {fmt::format("vocab_size {} -> {}", pieces, wanted.vocab_size)};
  }
  const Json before = parse_json(read_text(path), path), asked = settings_of(wanted);
  std::vector<std::string> changed;
  for (const auto& [key, now] : asked.items()) {
    const Json was = before.is_object() ? before.value(key, Json()) : Json();
    if (was != now) changed.push_back(fmt::format("{} {} -> {}", key, was.dump(), now.dump()));
  }
  return changed;
}

void write_settings(const std::string& directory, const data::TrainTokenizerConfig& trained) {
  write_atomically(settings_path(directory), settings_of(trained).dump(2) + "\n");
}

}  // namespace bora::run

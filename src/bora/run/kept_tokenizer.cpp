// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/kept_tokenizer.h"

#include <fmt/core.h>

#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/data/formats.h"
#include "bora/run/debian_text.h"
#include "bora/store/format.h"
#include "bora/store/urls.h"
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

constexpr const char* kTexts = "texts";

// A hash of the files' names, sizes and times; of those elsewhere, of their addresses.
std::string texts_of(const data::DataConfig& data) {
  Json all = Json::array();
  for (const auto& [name, source] : data.sources()) {
    Json texts = {name, source.id.value_or(""), source.format.type,
                  data::text_format(source.format).text_key};
    std::vector<std::string> here;
    for (const auto& url : source.urls(store::Split::Train)) {
      texts.push_back(url);
      if (!store::remote_scheme(url) && !is_debian_text(url)) here.push_back(url);
    }
    for (const auto& file : store::look_up_sources(store::find_files(here, store::Split::Train).files))
      texts.push_back({file.path, file.size, file.modified});
    all.push_back(std::move(texts));
  }
  return hash128(as_bytes(all.dump())).hex();
}

}  // namespace

bool is_kept_by_first(const std::string& directory, const data::DataConfig& data) {
  return exists(path_join(directory, "tokenizer.json")) &&
         changed_settings(directory, *data.train_tokenizer).empty();
}

bool is_kept(const std::string& directory, const data::DataConfig& data) {
  if (!is_kept_by_first(directory, data)) return false;
  const auto path = settings_path(directory);
  if (!checkpoint::committed_checkpoints(parent_path(directory)).empty()) return true;
  if (!exists(path)) return false;
  const auto before = parse_json(read_text(path), path);
  return before.is_object() && before.value(kTexts, "") == texts_of(data);
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

void write_settings(const std::string& directory, const data::DataConfig& data) {
  auto settings = settings_of(*data.train_tokenizer);
  settings[kTexts] = texts_of(data);
  write_atomically(settings_path(directory), settings.dump(2) + "\n");
}

}  // namespace bora::run

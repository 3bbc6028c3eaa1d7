// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/config.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/store/urls.h"

namespace bora::data {

void FormatConfig::bind(Binder& b) {
  b.choice("type", type, {"text", "chat", "supervised"}, "kind of records");
  b.field("text_key", text_key, "field of a jsonl object that holds the text");
  b.ignored("messages_field", "chat data is not built yet");
  b.ignored("chat_template", "chat data is not built yet");
  b.ignored("pack", "chat data is not built yet");
  b.ignored("mask_user_turns", "chat data is not built yet");
  b.ignored("single_turn", "chat data is not built yet");
}

void SourceConfig::bind(Binder& b) { bind_fields(b); }

void SourceConfig::bind_fields(Binder& b) {
  b.field("id", id, "a hub data set: give train_urls instead");
  b.field("train_urls", train_urls, "files, globs, directories; deb:PACKAGE/path for text out of a Debian package");
  b.field("validation_urls", validation_urls, "files for evaluation");
  b.field("cache_dir", cache_dir, "where the token cache goes; default: below data.cache_dir");
  b.field("format", format, "how records become text");
  b.ignored("name", "part of a hub data set");
  b.ignored("stream", "files are always streamed");
  b.ignored("tags", "evaluation is by source");
  b.ignored("splits", "part of a hub data set");
}

void TokenizerTraining::bind(Binder& b) {
  b.field("vocab_size", vocab_size, "ids in all");
  b.field("min_frequency", min_frequency, "rarer pairs are not merged");
}

namespace {

// {a: 0.6, b: 0.4}, or [[0, {a: 0.6, b: 0.4}], [1000, {...}]].
void bind_weights(Binder& b, std::vector<WeightStage>& stages) {
  if (b.reading() ? b.is_map("train_weights") : stages.size() <= 1) {
    if (b.reading()) stages.assign(1, {});
    if (!stages.empty()) b.field("train_weights", stages[0].weights, "share of each source, or a list of [step, shares]");
    return;
  }
  if (!b.enter_list("train_weights", "share of each source, or a list of [step, shares]")) return;
  if (b.reading()) stages.assign(b.list_size(), {});
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!b.enter_list(std::to_string(i))) continue;
    b.field("0", stages[i].start);
    b.field("1", stages[i].weights);
    b.leave();
  }
  b.leave();
}

// false, true, or the length of an era.
void bind_shuffle(Binder& b, Shuffle& shuffle) {
  std::string text = shuffle.kind == Shuffle::Kind::None ? "false" : shuffle.kind == Shuffle::Kind::Full ? "true" : std::to_string(shuffle.era_length);
  if (!b.reading()) return b.field("shuffle", text, "true, false, or the length of an era");
  auto found = b.text("shuffle");
  if (!found) return;
  b.mark_used("shuffle");
  if (*found == "true" || *found == "True") shuffle.kind = Shuffle::Kind::Full;
  else if (*found == "false" || *found == "False") shuffle.kind = Shuffle::Kind::None;
  else if (std::all_of(found->begin(), found->end(), [](char c) { return c >= '0' && c <= '9'; })) {
    shuffle.kind = Shuffle::Kind::Era;
    shuffle.era_length = std::stoll(*found);
  } else {
    b.problem("shuffle", fmt::format("should be true, false or a whole number but is \"{}\"", *found));
  }
}

void check_names(Binder& b, const DataConfig& c) {
  if (!b.reading()) return;
  auto known = [&](const std::string& name) {
    return std::any_of(c.configs.begin(), c.configs.end(), [&](const auto& s) { return s.first == name; });
  };
  for (const auto& stage : c.train_weights)
    for (const auto& [name, weight] : stage.weights) {
      if (!c.configs.empty() && !known(name)) b.problem("train_weights", fmt::format("{} is not one of data.configs", name));
      if (weight < 0) b.problem("train_weights", fmt::format("the weight of {} is {}; it must not be negative", name, weight));
    }
  for (const auto& [name, n] : c.num_validation_sequences) {
    if (!c.configs.empty() && !known(name)) b.problem("num_validation_sequences", fmt::format("{} is not one of data.configs", name));
    if (n < 0) b.problem("num_validation_sequences", fmt::format("{} for {}; it must not be negative", n, name));
  }
}

}  // namespace

void DataConfig::bind(Binder& b) {
  single.bind_fields(b);
  b.field("configs", configs, "several sources, by name");
  bind_weights(b, train_weights);
  b.field("tokenizer", tokenizer, "tokenizer.json, or a directory that holds one");
  b.field("train_tokenizer", train_tokenizer, "train a byte-level BPE tokenizer on the text instead");
  b.field("vocab_size", vocab_size, "rows of the embedding; default: the tokenizer's");
  if (b.reading() && single.cache_dir) cache_dir = *single.cache_dir;
  b.field("enforce_eos", enforce_eos, "end each document with the end-of-text token");
  b.field("ignore_token_id", ignore_token_id, "predicting it does not count");
  bind_shuffle(b, shuffle);
  b.choice("permutation_type", shuffle.permutation, {"feistel", "linear"}, "of the shuffle");
  b.field("mixture_block_size", mixture_block_size, "sequences in which the shares hold exactly");
  b.field("num_validation_sequences", num_validation_sequences, "by source: sequences held out for evaluation");
  b.ignored("stop_strategy", "sources start again where they end");
  b.ignored("cache_options", "the cache chooses its own shards");
  b.ignored("chat_template", "chat data is not built yet");
  b.ignored("max_train_batches", "not built yet");
  b.ignored("target_budget", "not built yet");
  b.ignored("experiment_budget", "not built yet");
  b.ignored("auto_build_caches", "caches are always built");
  check_names(b, *this);
}

std::vector<std::pair<std::string, SourceConfig>> DataConfig::sources() const {
  if (!single.train_urls.empty() || configs.empty()) return {{"train", single}};
  return configs;
}

double DataConfig::weight_of(const std::string& source) const {
  if (train_weights.empty()) return 1;
  for (const auto& [name, weight] : train_weights.front().weights)
    if (name == source) return weight;
  return sources().size() == 1 ? 1 : 0;
}

std::int64_t DataConfig::held_out(const std::string& source) const {
  std::int64_t largest = 0;
  for (const auto& [name, n] : num_validation_sequences) {
    if (name == source) return n;
    largest = std::max(largest, n);
  }
  return sources().size() == 1 && !single.train_urls.empty() && single.validation_urls.empty() ? largest : 0;
}

std::vector<ConfigProblem> DataConfig::missing_sources() const {
  std::vector<ConfigProblem> out;
  for (const auto& [name, source] : sources()) {
    auto key = configs.empty() || !single.train_urls.empty() ? std::string("data") : "data.configs." + name;
    if (source.train_urls.empty() && source.id) {
      out.push_back({"", key + ".id", fmt::format("the hub data set {} cannot be reached; download it and give {}.train_urls", *source.id, key)});
    } else if (source.train_urls.empty() && source.validation_urls.empty()) {
      out.push_back({"", key + ".train_urls", "names no files"});
    }
    for (const auto& url : source.train_urls) {
      if (auto scheme = store::remote_scheme(url)) {
        out.push_back({"", key + ".train_urls", fmt::format("{}:// cannot be read; download the files and give their paths", *scheme)});
        break;
      }
    }
  }
  return out;
}

std::int64_t DataConfig::vocabulary_hint() const {
  if (vocab_size) return *vocab_size;
  return train_tokenizer ? train_tokenizer->vocab_size : 50257;
}

}  // namespace bora::data

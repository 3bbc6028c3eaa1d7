// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "bora/base/config_changes.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/home_path.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/data/chat_processor.h"
#include "bora/data/mixture.h"
#include "bora/store/hub_data.h"
#include "bora/store/token_files.h"
#include "bora/store/urls.h"
#include "bora/tokenize/train/tokenizer_trainer.h"

namespace bora::data {
namespace {

/// Far beyond what is of use, and far below where sums end.
constexpr Range kWeight = from_to(0, 1e15);

/// A map of names to numbers, or one number, which then stands for the only data set.
void bind_by_name(Binder& b, std::string_view name, ByName<std::int64_t>& values, const Range& range,
                  std::string_view doc) {
  const bool single = b.reading() ? b.text(name).has_value() && !b.is_null(name)
                                  : values.size() == 1 && values.front().first.empty();
  if (!single) return b.field(name, values, range, doc);
  std::int64_t value = values.empty() ? 0 : values.front().second;
  b.field(name, value, range, doc);
  values = {{"", value}};
}

/// Stages as Levanter writes them: [[step, {name: weight}], ...].
void bind_stages(Binder& b, std::string_view name, std::vector<WeightStage>& stages, std::string_view doc) {
  if (!b.enter_list(name, doc)) return;
  if (b.reading()) stages.assign(b.list_size(), {});
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string number = std::to_string(i);
    if (!b.enter_list(number)) continue;
    if (b.reading() && b.list_size() != 2)
      b.problem("", "should be a list of two: the step and {name: weight}");
    b.field("0", stages[i].start, kStep);
    b.field("1", stages[i].weights, kWeight);
    b.leave();
  }
  b.leave();
}

}  // namespace

void SourceConfig::bind_fields(Binder& b) {
  b.field("id", id, "a data set of the Hugging Face hub, owner/name[@revision]; its files are fetched");
  b.field("name", name, "the hub data set's configuration; the name of a single data set");
  b.field("train_split", train_split, "the hub data set's split to train on; default train");
  b.field("validation_split", validation_split,
          "the hub data set's split to evaluate on; default validation, or test where there is none");
  b.field("stream", stream, "for hub data sets: no effect");
  bind_path(b, "train_urls", train_urls,
            "files to train on: paths, folders, globs, {a..b}; .txt, .jsonl, .json, plain, .gz, .zst, .bz2");
  bind_path(b, "validation_urls", validation_urls, "files to evaluate on");
  b.field("tags", tags, "groups that the data set belongs to; evaluation also gives the means of each");
  b.field("format", format, "how records become text");
  if (b.reading() && id && !store::parse_hub_repo(*id))
    b.problem("id", fmt::format("{} is no name on the hub; owner/name, or owner/name@revision", *id));
}

std::vector<std::string> SourceConfig::urls(store::Split split) const {
  const bool train = split == store::Split::Train;
  const auto& given = train ? train_urls : validation_urls;
  if (!id || !given.empty() || !train_urls.empty()) return given;
  const auto repo = store::parse_hub_repo(*id);
  if (!repo) return {};
  return {store::HubDataUrl{.repo = *repo,
                            .path = {},
                            .configuration = name.value_or(""),
                            .split = (train ? train_split : validation_split).value_or("")}
              .text()};
}

void SourceConfig::bind(Binder& b) {
  bind_fields(b);
  bind_path(b, "cache_dir", cache_dir,
            "where the tokens of this data set are kept; by default below data.cache_dir");
}

void TrainTokenizerConfig::bind(Binder& b) {
  b.choice("kind", kind, tokenizer_kind_names(),
           "byte-level BPE; BPE or unigram over characters with ▁ for spaces; BERT's WordPiece");
  b.field("vocab_size", vocab_size, from_to(1, 16'777'216),
          "ids of the tokenizer to train on the training text");
  b.field("min_frequency", min_frequency, kNonNegative,
          "pairs (unigram: substrings) met less often become no piece");
  b.field("character_coverage", character_coverage, Range{.least = 0, .most = 1, .above = true},
          "share of the text whose characters get an id each; the rest is spelled in bytes; not for bpe");
  const auto& kinds = tokenizer_kind_names();
  const bool known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  const std::int64_t least = known ? least_vocab_size(parse_tokenizer_kind(kind)) : 0;
  if (b.sound({"vocab_size"}) && vocab_size < least) {
    b.problem("vocab_size", fmt::format("should be at least {}: special tokens, bytes{}", least,
                                        kind == "bpe" ? "" : " and the characters of the text"));
  }
}

void DataConfig::bind(Binder& b) {
  single.bind_fields(b);
  bind_path(
      b, "tokenizer", tokenizer,
      "a folder with a tokenizer.json, the file, or a name on the Hugging Face hub, owner/name[@revision]");
  if (const auto word = b.text("train_tokenizer")) {
    const auto pieces = parse_int(*word).value_or(TrainTokenizerConfig().vocab_size);
    b.mark_used("train_tokenizer");
    train_tokenizer.emplace();
    b.problem("train_tokenizer",
              ascii_lower(*word) == "false"
                  ? "must be a map; leave it out, or null"
                  : fmt::format("must be a map, such as {{vocab_size: {}}}; {{}} has every default", pieces));
  } else {
    b.field("train_tokenizer", train_tokenizer,
            "trains a tokenizer on the training text instead of loading one");
  }
  if (train_tokenizer && b.text("tokenizer") && *b.text("tokenizer") != DataConfig().tokenizer) {
    b.problem(
        "train_tokenizer",
        fmt::format("is given beside tokenizer: {}; leave out one of them (--data.train_tokenizer=null, "
                    "--data.tokenizer=null)",
                    tokenizer));
  }
  b.field("vocab_size", vocab_size, kSize,
          "size of the vocabulary where no tokenizer tells it: for --dry_run");
  bind_path(
      b, "cache_dir", cache_dir,
      "where tokens are kept: <cache_dir>/<name>/train and .../validation; by default a folder of cache/ for "
      "each tokenizer and format");
  b.field("max_download", max_download, "largest file that is fetched from a URL");
  b.field("allow_private_addresses", allow_private_addresses,
          "fetch URLs from machines that are not in the public network too: this one, private networks");
  b.ignored("cache_options", "Bora cuts sources into shards by their size alone");
  b.ignored("shuffle_buffer_size", "no buffer is needed: data.shuffle mixes whole data sets");
  b.field("enforce_eos", enforce_eos,
          "end each document with the end-of-text token if the tokenizer does not");
  b.field("chat_template", chat_template,
          "of chat records whose format gives none: Jinja, or a .jinja file; default: the tokenizer's");
  if (is_template_file(chat_template)) expand_home(b, "chat_template", *chat_template);
  b.field("ignore_token_id", ignore_token_id, from_to(-0x80000000LL, 0x7FFFFFFF),
          "predicting this token does not count");
  shuffle.bind_as(b, "shuffle");
  b.choice("permutation_type", shuffle.permutation, {"feistel", "linear"},
           "linear is Levanter's default, and hardly shuffles sorted data");
  b.field("reshuffle_each_epoch", shuffle.reshuffle_each_epoch,
          "an order of its own for each pass over a data set; false: the first one again, as in Levanter");
  b.field("max_epochs", max_epochs, kSize,
          "passes over a data set, at most: training ends before one would be read once more "
          "(all_exhausted: when each has been read so often)");
  b.field(
      "block_cross_document_attention", block_cross_document_attention,
      "positions attend only within their document, and evaluation counts no prediction across documents");
  b.field(
      "spec_augment", spec_augment,
      "stripes of the features of sound are set to zero in training, others each time; {}: with every default");
  bind_mixture(b);
  if (b.reading()) check(b);
}

void DataConfig::bind_mixture(Binder& b) {
  b.field("configs", configs, "data sets of a mixture, by name");
  constexpr std::string_view kDoc =
      "weight of each data set, from step 0 or as [[step, {name: weight}], ...]; zero: evaluation only; "
      "absent: by size";
  const bool as_map = b.reading() ? b.is_map("train_weights") : train_weights.size() == 1;
  if (as_map) {
    if (train_weights.empty() || b.reading()) train_weights = {WeightStage{}};
    b.field("train_weights", train_weights.front().weights, kWeight, kDoc);
  } else {
    bind_stages(b, "train_weights", train_weights, kDoc);
  }
  b.choice("stop_strategy", stop_strategy, stop_strategy_names(),
           "restart: a data set that ends starts again; first_exhausted, all_exhausted: training ends when "
           "the first, or each, has been read completely");
  b.field("mixture_block_size", mixture_block_size, from_to(1, 65535),
          "sequences within which the weights hold, to whole sequences");
  b.field("target_budget", target_budget, kPositive,
          "tokens of the run that this one stands for; with experiment_budget: data sets are cut in "
          "proportion, to repeat as they would there");
  b.field("experiment_budget", experiment_budget, kPositive, "tokens of this run");
  bind_by_name(b, "max_train_batches", max_train_batches, kSize,
               "by data set, train on so many first batches only");
  bind_by_name(b, "num_validation_sequences", num_validation_sequences, kNonNegative,
               "by data set, hold back so many sequences at the end of the training text for evaluation");
  b.field("shuffle_before_trainval_split", shuffle_before_trainval_split,
          "hold back sequences from everywhere instead, always the same ones");
}

namespace {

// Folders may be nested, and do not lead out.
bool is_place_within(std::string_view name) {
  for (const auto& part : split(name, '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return !name.empty() && name.find('\0') == std::string_view::npos;
}

void add_with_parents(std::set<std::string>& groups, std::string name, bool itself) {
  if (itself) groups.insert(name);
  for (auto slash = name.rfind('/'); slash != name.npos && slash > 0; slash = name.rfind('/')) {
    name.resize(slash);
    groups.insert(name);
  }
}

// eval/<name>/... would be results of both.
void refuse_groups_called_like_sets(Binder& b, const ByName<SourceConfig>& sets) {
  for (const auto& [name, source] : sets)
    for (const auto& group : groups_of(name, source.tags))
      if (std::ranges::any_of(sets, [&](const auto& set) { return set.first == group; }))
        b.problem("configs",
                  fmt::format("{0} is a data set, and a group of which {1} is, by its name or tags: eval/{0} "
                              "would be the results of both; give one of them another name",
                              group, name));
}

// Keys of a single data set that say something, beside those of a mixture's.
std::set<std::string> keys_of_a_single_set(SourceConfig single) {
  SourceConfig nothing;
  std::set<std::string> out;
  for (const auto& change : config_changes(nothing, single))
    out.insert(change.key.substr(0, change.key.find('.')));
  return out;
}

void refuse_without_effect(Binder& b, const DataConfig& data) {
  for (const auto& key : keys_of_a_single_set(data.single))
    b.problem(key, key == "id"
                       ? "a mixture has its data sets in configs, not beside it"
                       : fmt::format("has no effect beside configs, which has the data sets; put it into {}",
                                     b.path("configs." + data.configs.front().first)));
}

}  // namespace

std::set<std::string> groups_of(const std::string& name, const std::vector<std::string>& tags) {
  std::set<std::string> groups;
  add_with_parents(groups, name, false);
  for (const auto& tag : tags) add_with_parents(groups, tag, true);
  groups.erase(name);
  return groups;
}

void DataConfig::check(Binder& b) const {
  refuse_groups_called_like_sets(b, configs);
  for (const auto& [name, source] : configs) {
    if (!source.cache_dir && !is_place_within(name))
      b.problem("configs",
                fmt::format("{} cannot be the name of a data set: its cache is a folder of this name in {}; "
                            "give another name, or cache_dir beside its files",
                            name.empty() ? "\"\"" : name, cache_dir));
  }
  std::vector<std::string> names;
  for (const auto& [name, source] : sources()) names.push_back(name);
  if (!configs.empty() && !single.train_urls.empty())
    names.push_back(single_name());  // takes the place of all
  const auto known = [&](const std::string& key, const std::string& name) {
    if (name.empty() && configs.empty()) return;
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    b.problem(key,
              fmt::format("there is no data set {}{}; there is {}", name.empty() ? "without a name" : name,
                          did_you_mean(name, names), join(names)));
  };
  if (!configs.empty() && single.train_urls.empty()) refuse_without_effect(b, *this);
  for (const auto& stage : train_weights) {
    for (const auto& [name, weight] : stage.weights) {
      known("train_weights", name);
    }
  }
  for (std::size_t i = 0; i < train_weights.size(); ++i) {
    const std::int64_t start = train_weights[i].start;
    if (i == 0 && start != 0)
      b.problem("train_weights",
                fmt::format("the first stage should start at step 0 but starts at {}", start));
    if (i > 0 && start <= train_weights[i - 1].start) {
      b.problem("train_weights", fmt::format("a stage at step {} follows one at step {}; starts should grow",
                                             start, train_weights[i - 1].start));
    }
  }
  if (target_budget && experiment_budget && *experiment_budget > *target_budget)
    b.problem("experiment_budget", fmt::format("is {} but should be at most target_budget = {}",
                                               *experiment_budget, *target_budget));
  if (target_budget.has_value() != experiment_budget.has_value()) {
    b.problem(target_budget ? "target_budget" : "experiment_budget",
              "target_budget and experiment_budget go together");
  }
  for (const auto& [name, n] : max_train_batches) known("max_train_batches", name);
  for (const auto& [name, n] : num_validation_sequences) known("num_validation_sequences", name);
  if (tokenizer == "passthrough" && !vocab_size) b.problem("tokenizer", "passthrough needs vocab_size");
}

store::DownloadOptions DataConfig::download_options() const {
  store::DownloadOptions options;
  options.max_bytes = max_download.bytes;
  options.allow_private = allow_private_addresses;
  return options;
}

std::string DataConfig::single_name() const { return single.name.value_or(single.id.value_or("data")); }

ByName<SourceConfig> DataConfig::sources() const {
  if (!configs.empty()) return configs;
  return {{single_name(), single}};
}

std::string DataConfig::tokenizer_name() const {
  if (!train_tokenizer) return redact(tokenizer);
  return fmt::format("{} of {} pieces trained on the text", train_tokenizer->kind,
                     train_tokenizer->vocab_size);
}

std::string DataConfig::cache_directory(const std::string& name, const SourceConfig& source,
                                        const std::string& split) const {
  if (source.cache_dir) return path_join(*source.cache_dir, split);
  return path_join(configs.empty() ? cache_dir : path_join(cache_dir, name), split);
}

std::vector<ConfigProblem> DataConfig::untrainable_sources() const {
  std::vector<ConfigProblem> out;
  for (const auto& [name, source] : sources())
    if (auto why = source.format->why_no_training(); !why.empty())
      out.push_back(
          {"", (configs.empty() ? "data" : "data.configs." + name) + ".format.type", std::move(why)});
  return out;
}

std::vector<ConfigProblem> DataConfig::training_problems() const {
  auto out = untrainable_sources();
  for (const auto& stage : train_weights) {
    const bool some = std::any_of(stage.weights.begin(), stage.weights.end(),
                                  [](const auto& weight) { return weight.second > 0; });
    if (some) continue;
    out.push_back(
        {"", "data.train_weights",
         fmt::format(
             "no data set has a weight above 0 from step {} on: there is nothing to train on; give one a larger weight",
             stage.start)});
    break;
  }
  return out;
}

std::vector<ConfigProblem> DataConfig::missing_sources() const {
  std::vector<ConfigProblem> out;
  for (const auto& [name, source] : sources()) {
    const std::string key = configs.empty() ? "data" : "data.configs." + name;
    const auto add = [&](const std::string& field, std::string message) {
      out.push_back({"", key + field, std::move(message)});
    };
    const auto imported = [this, &set = name, &from = source](const char* split) {
      return store::holds_imported_tokens(cache_directory(set, from, split));
    };
    if (source.urls(store::Split::Train).empty() && source.urls(store::Split::Validation).empty() &&
        !imported("train") && !imported("validation")) {
      add(".train_urls", "no files; give paths, for example [\"my/*.txt\"]");
    }
    const auto local = [&](const char* field, const std::vector<std::string>& urls) {
      for (const auto& url : urls) {
        if (const auto scheme = store::remote_scheme(url); scheme && !store::is_fetched(*scheme)) {
          return add(field,
                     fmt::format("{} is on {}://, which Bora does not read; download it and give local paths",
                                 redact(url), *scheme));
        }
      }
    };
    local(".train_urls", source.train_urls);
    local(".validation_urls", source.validation_urls);
    if (const auto scheme = store::remote_scheme(source.cache_dir.value_or("")))
      add(".cache_dir",
          fmt::format("{} is on {}://; give a local folder", redact(*source.cache_dir), *scheme));
  }
  if (tokenizer == "passthrough")
    out.push_back(
        {"", "data.tokenizer", "passthrough: text that is ids already is not read yet; give a tokenizer"});
  if (const auto scheme = store::remote_scheme(cache_dir)) {
    out.push_back({"", "data.cache_dir",
                   fmt::format("{} is on {}://; give a local folder", redact(cache_dir), *scheme)});
  }
  return out;
}

}  // namespace bora::data

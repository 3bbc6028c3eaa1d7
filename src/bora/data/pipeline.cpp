// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/pipeline.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/data/background_build.h"
#include "bora/data/epochs.h"
#include "bora/data/format_processor.h"
#include "bora/data/growing_dataset.h"
#include "bora/data/packed_dataset.h"
#include "bora/store/token_files.h"
#include "bora/store/urls.h"

namespace bora::data {
namespace {

/// The cache of a data set that names no files: one that was imported, or none.
std::shared_ptr<const store::TokenCache> imported_cache(const std::string& directory,
                                                        const store::Processor& processor) {
  if (!store::holds_imported_tokens(directory)) return nullptr;
  auto cache = store::TokenCache::open(directory);
  if (cache->ledger().vocab_size <= processor.vocab_size()) return cache;
  fail(ErrorKind::Config,
       "token cache {}: it has ids up to {} but this run's vocabulary has {}\nhint: the "
       "tokenizer that these ids come from",
       directory, cache->ledger().vocab_size - 1, processor.vocab_size());
}

void refuse_missing(const DataConfig& config, bool needs_tokenizer) {
  auto problems = config.missing_sources();
  if (!needs_tokenizer)
    std::erase_if(problems, [](const ConfigProblem& problem) { return problem.key == "data.tokenizer"; });
  if (problems.empty()) return;
  std::string lines;
  for (const auto& problem : problems) lines += fmt::format("\n  {}: {}", problem.key, problem.message);
  fail(ErrorKind::Config, "data: not everything can be read{}", lines);
}

template <class T>
const T* find(const ByName<T>& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name || key.empty()) return &value;  // without a name: the only data set
  }
  return nullptr;
}

/// One data set's sequences, cut as the configuration says.
struct Parts {
  DatasetPtr train, held_back;
};

class Assembly {
 public:
  Assembly(const DataConfig& config, std::int64_t seq_len, const TokenRules& rules,
           const BatchSchedule& schedule)
      : config_(config), seq_len_(seq_len), rules_(rules), schedule_(schedule) {
    rules_.block_cross_document_attention = config.block_cross_document_attention;
  }

  DatasetPtr whole(const std::shared_ptr<const store::TokenCache>& cache, const std::string& name) const {
    const DatasetPtr dataset = sequences(cache, name);
    if (dataset->size() < 1) {
      fail(ErrorKind::Config,
           "data: {} has {} tokens, fewer than one sequence of {}\nhint: more text, or a smaller "
           "model.seq_len",
           name, cache->num_tokens(), seq_len_);
    }
    return dataset;
  }

  DatasetPtr growing(const SourceCaches& caches, const Shuffle& shuffle, const Key& key) const {
    const auto* batches = find(config_.max_train_batches, caches.name);
    const std::int64_t limit = batches ? *batches * schedule_.batch_size(0) : kEndless;
    return endless_growing(caches.growing, seq_len_, rules_, limit, shuffle, key);
  }

  Parts train_parts(const SourceCaches& caches) const {
    DatasetPtr train = whole(caches.train, caches.name);
    Parts parts;
    if (config_.shuffle_before_trainval_split && find(config_.num_validation_sequences, caches.name)) {
      train = shuffled(train, {.kind = Shuffle::Kind::Full}, Key::from_seed(0).fold(caches.name));
    }
    if (const auto* n = find(config_.num_validation_sequences, caches.name); n && *n > 0) {
      if (*n >= train->size()) {
        fail(ErrorKind::Config,
             "data: num_validation_sequences is {} but {} has {} sequences\nhint: hold back fewer", *n,
             caches.name, train->size());
      }
      parts.held_back = slice(train, train->size() - *n, train->size());
      train = slice(train, 0, train->size() - *n);
    }
    parts.train = slice(train, 0, std::min(train->size(), budget(caches.name, train->size())));
    return parts;
  }

 private:
  DatasetPtr sequences(const std::shared_ptr<const store::TokenCache>& cache, const std::string& name) const {
    const FormatConfig& format = format_of(name);
    if (format.is_concatenated()) return std::make_shared<TokenDataset>(cache, seq_len_, rules_);
    const PackRules pack = format.pack_rules(seq_len_);
    auto dataset = in_context(fmt::format("data set {}", name),
                              [&] { return std::make_shared<PackedDataset>(cache, pack, rules_); });
    if (dataset->overlong() > 0) {
      log_warning(
          "data set {}: {} of {} documents are longer than a sequence of {}; {} of {} tokens are left out",
          name, dataset->overlong(), cache->num_documents(), seq_len_, dataset->lost_tokens(),
          cache->num_tokens());
    }
    return dataset;
  }

  const FormatConfig& format_of(const std::string& name) const {
    const auto at = std::find_if(config_.configs.begin(), config_.configs.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    return at == config_.configs.end() ? config_.single.format : at->second.format;
  }

  /// Simulated epoching: the part of a set that keeps the number of its repetitions as in the bigger run.
  std::int64_t budget(const std::string& name, std::int64_t sequences) const {
    std::int64_t limit = sequences;
    if (config_.target_budget && config_.experiment_budget && *config_.target_budget > 0) {
      const double ratio = *config_.experiment_budget / *config_.target_budget;
      limit = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::min(1.0, ratio) * static_cast<double>(sequences)));
    }
    if (const auto* batches = find(config_.max_train_batches, name)) {
      limit = std::min(limit, *batches * schedule_.batch_size(0));
    }
    return limit;
  }

  const DataConfig& config_;
  std::int64_t seq_len_;
  TokenRules rules_;
  const BatchSchedule& schedule_;
};

/// Weights in the order of the sources; by size if the configuration gives none.
std::vector<double> weights_of(const ByName<double>* given, const std::vector<Mixture::Source>& sources,
                               const std::vector<std::int64_t>& sizes) {
  std::vector<double> out;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    double weight = given ? 0.0 : static_cast<double>(sizes[i]);
    for (std::size_t j = 0; given && j < given->size(); ++j) {
      if ((*given)[j].first == sources[i].name) weight = (*given)[j].second;
    }
    out.push_back(weight);
  }
  return out;
}

std::int64_t start_of(const WeightStage& stage, const BatchSchedule& schedule, std::int64_t block) {
  const std::int64_t start = schedule.offset(stage.start), rounded = (start + block - 1) / block * block;
  if (rounded != start) {
    log_warning(
        "the weights of step {} take effect {} sequences later, where a block of mixture_block_size = {} "
        "ends",
        stage.start, rounded - start, block);
  }
  return rounded;
}

std::vector<MixtureStage> stages_of(const DataConfig& config, const BatchSchedule& schedule,
                                    const std::vector<Mixture::Source>& sources,
                                    const std::vector<std::int64_t>& sizes) {
  if (config.train_weights.empty()) return {{0, weights_of(nullptr, sources, sizes)}};
  std::vector<MixtureStage> stages;
  for (const auto& stage : config.train_weights) {
    MixtureStage next{start_of(stage, schedule, config.mixture_block_size),
                      weights_of(&stage.weights, sources, sizes)};
    if (!stages.empty() && stages.back().start == next.start)
      stages.pop_back();  // both in one block: the later counts
    stages.push_back(std::move(next));
  }
  return stages;
}

StopStrategy stop_strategy_of(const DataConfig& config) {
  const StopStrategy stop = parse_stop_strategy(config.stop_strategy);
  // A cap on epochs holds for every data set: the first that would be read once more ends the mixture.
  return stop == StopStrategy::Restart && config.max_epochs ? StopStrategy::FirstExhausted : stop;
}

bool is_trained_on(const DataConfig& config, const std::string& name) {
  return config.train_weights.empty() ||
         std::any_of(config.train_weights.begin(), config.train_weights.end(), [&](const WeightStage& stage) {
           const bool alone = config.configs.empty();
           return std::any_of(stage.weights.begin(), stage.weights.end(), [&](const auto& weight) {
             return (alone || weight.first == name) && weight.second > 0;
           });
         });
}

using Shared = std::shared_ptr<const store::Processor>;

/// Opens or builds the caches of each data set in turn.
class CacheBuilds {
 public:
  CacheBuilds(const DataConfig& config, std::function<Shared(const SourceConfig&)> processor_of, int threads,
              const std::function<void(const CacheReport&)>& report, const store::CacheTeam& team = {})
      : config_(config),
        processor_of_(std::move(processor_of)),
        threads_(threads),
        report_(report),
        team_(team) {}

  std::vector<SourceCaches> operator()(bool needs_tokenizer = true) {
    refuse_missing(config_, needs_tokenizer);
    std::vector<SourceCaches> out;
    for (const auto& [name, source] : config_.sources()) out.push_back(caches_of(name, source));
    if (background_) background_->start();
    return out;
  }

  /// Leaves to a thread what need not be waited for.
  void use_background() { background_ = std::make_shared<BackgroundBuild>(); }

 private:
  struct Wanted {
    std::string name, directory;
    std::vector<std::string> files;
    Shared processor;
    store::CacheOptions options;
  };

  SourceCaches caches_of(const std::string& name, const SourceConfig& source) {
    const std::string context = fmt::format("data set {}", name);
    SourceCaches out{name, source.tags, {}, {}, {}};
    in_context(context, [&] {
      const Shared processor = processor_of_(source);
      Wanted train = wanted(name, source, "train", source.train_urls, processor);
      out.growing = in_background(train);
      if (!out.growing) out.train = cache_of(train);
      out.validation = cache_of(wanted(name, source, "validation", source.validation_urls, processor));
    });
    return out;
  }

  Wanted wanted(const std::string& name, const SourceConfig& source, const std::string& split,
                const std::vector<std::string>& urls, const Shared& processor) const {
    store::CacheOptions options;
    options.threads = threads_;
    options.team = team_;
    options.format.text_key = source.format.text_key;
    options.format.invalid_utf8 = store::parse_invalid_text(source.format.invalid_utf8);
    if (report_) {
      options.progress = [report = report_, name, split](const store::CacheProgress& p) {
        report({name, split, p});
      };
    }
    return {name, config_.cache_directory(name, source, split), store::expand_urls(urls), processor,
            std::move(options)};
  }

  static std::shared_ptr<const store::TokenCache> cache_of(const Wanted& w) {
    if (w.files.empty()) return imported_cache(w.directory, *w.processor);
    return store::build_cache(w.directory, w.files, *w.processor, w.options);
  }

  /// Null if it is finished, or must be before training.
  std::shared_ptr<const store::GrowingCache> in_background(const Wanted& w) {
    if (!background_ || w.files.empty()) return nullptr;
    if (store::cache_is_finished(w.directory, w.files, *w.processor, w.options)) return nullptr;
    if (const std::string why = why_whole_cache(config_, w.name); !why.empty()) {
      log_info("training waits for the token cache of {}: {}", w.name, why);
      return nullptr;
    }
    return background_->add(w.name, w.directory, w.files, w.processor, w.options);
  }

  const DataConfig& config_;
  std::function<Shared(const SourceConfig&)> processor_of_;
  int threads_;
  std::function<void(const CacheReport&)> report_;
  store::CacheTeam team_;
  std::shared_ptr<BackgroundBuild> background_;
};

std::function<Shared(const SourceConfig&)> processors(const DataConfig& config, const Shared& text,
                                                      const Tokenizer& tokenizer) {
  return [&config, text, tokenizer](const SourceConfig& source) {
    if (source.format.type == "text") return text;
    return Shared(make_processor(source.format, config, tokenizer));
  };
}

/// For as long as the caller keeps it.
template <class P>
Shared borrowed(const P& processor) {
  return Shared(std::shared_ptr<void>(), &processor);
}

}  // namespace

std::string why_whole_cache(const DataConfig& config, const std::string& name) {
  const auto kind = config.shuffle.shuffle.kind;
  if (!is_trained_on(config, name)) return "it is not trained on";
  if (kind == Shuffle::Kind::Full) return "a full shuffle needs its length";
  if (kind == Shuffle::Kind::Block) return "a block shuffle takes its blocks from everywhere";
  for (const auto& entry : config.sources()) {
    const bool same = entry.first == name;
    if (same && !entry.second.format.is_concatenated()) return "whole documents are packed by their lengths";
  }
  if (const auto* held = find(config.num_validation_sequences, name); held && *held > 0)
    return "sequences are held back from its end";
  if (config.max_epochs || parse_stop_strategy(config.stop_strategy) != StopStrategy::Restart)
    return "where training ends depends on its length";
  if (config.train_weights.empty() && config.sources().size() > 1)
    return "weights go by the sizes of the sets";
  if (config.target_budget && config.experiment_budget) return "the budget is a share of its length";
  return "";
}

std::vector<SourceCaches> build_caches(const DataConfig& config, const store::Processor& processor,
                                       int threads, const std::function<void(const CacheReport&)>& report,
                                       const store::CacheTeam& team) {
  return CacheBuilds(
      config, [shared = borrowed(processor)](const SourceConfig&) { return shared; }, threads, report,
      team)();
}

std::vector<SourceCaches> build_caches(const DataConfig& config, const TokenizerProcessor& text, int threads,
                                       const std::function<void(const CacheReport&)>& report,
                                       const store::CacheTeam& team) {
  return CacheBuilds(config, processors(config, borrowed(text), text.tokenizer()), threads, report, team)();
}

std::vector<SourceCaches> build_passthrough_caches(const DataConfig& config, int threads,
                                                   const std::function<void(const CacheReport&)>& report,
                                                   const store::CacheTeam& team) {
  const auto processor = [&](const SourceConfig& source) {
    return Shared(make_processor(source.format, config));
  };
  return CacheBuilds(config, processor, threads, report, team)(false);
}

std::vector<SourceCaches> start_caches(const DataConfig& config,
                                       const std::shared_ptr<const store::Processor>& text, int threads,
                                       const std::function<void(const CacheReport&)>& report) {
  const auto* with_tokenizer = dynamic_cast<const TokenizerProcessor*>(text.get());
  const auto same = [text](const SourceConfig&) { return text; };
  CacheBuilds builds(config, with_tokenizer ? processors(config, text, with_tokenizer->tokenizer()) : same,
                     threads, report);
  builds.use_background();
  return builds();
}

Datasets make_datasets(const DataConfig& config, const std::vector<SourceCaches>& caches,
                       std::int64_t seq_len, const TokenRules& rules, const BatchSchedule& schedule,
                       const Key& key) {
  const Assembly assembly(config, seq_len, rules, schedule);
  Datasets out;
  std::vector<Mixture::Source> sources;
  std::vector<std::int64_t> sizes;
  for (const auto& set : caches) {
    if (set.validation) {
      out.validation.push_back(
          {set.name, set.tags, assembly.whole(set.validation, set.name), set.validation->num_bytes()});
    }
    if (set.growing) {
      sizes.push_back(1);  // the only set, or weights are given
      sources.push_back(
          {set.name, assembly.growing(set, config.shuffle.shuffle, key.fold(set.name)), kEndless});
    }
    if (!set.train) continue;
    const Parts parts = assembly.train_parts(set);
    if (parts.held_back) out.validation.push_back({set.name, set.tags, parts.held_back, -1});
    if (!is_trained_on(config, set.name)) continue;
    sizes.push_back(parts.train->size());
    sources.push_back({set.name, endless(parts.train, config.shuffle.shuffle, key.fold(set.name)),
                       parts.train->size() * config.max_epochs.value_or(1)});
  }
  if (sources.empty()) return out;
  auto mixture =
      std::make_shared<Mixture>(sources, stages_of(config, schedule, sources, sizes),
                                config.mixture_block_size, key.fold("mixture"), stop_strategy_of(config));
  for (const auto& name : mixture->starved()) {
    log_warning("data set {} has a weight but gets no sequence of a block; raise mixture_block_size = {}",
                name, config.mixture_block_size);
  }
  out.train = std::move(mixture);
  return out;
}

}  // namespace bora::data

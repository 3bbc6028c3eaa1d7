// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/source_caches.h"

#include <algorithm>
#include <tuple>

#include "bora/base/error.h"
#include "bora/data/formats.h"
#include "bora/data/mixture.h"
#include "bora/store/token_files.h"
#include "bora/store/urls.h"

namespace bora::data {
namespace {

/// The cache of a data set that names no files: one that was imported, or none.
std::shared_ptr<const store::TokenCache> imported_cache(const std::string& directory,
                                                        const store::Processor& processor,
                                                        const store::CacheOptions& options) {
  if (!store::holds_imported_tokens(directory)) return nullptr;
  auto cache = store::open_cache(directory, options);
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

using Shared = std::shared_ptr<const store::Processor>;

/// Opens or builds the caches of each data set in turn.
class CacheBuilds {
 public:
  CacheBuilds(const DataConfig& config, std::function<Shared(const SourceConfig&)> processor_of, int threads,
              CacheWatch watch, const store::CacheTeam& team)
      : config_(config),
        processor_of_(std::move(processor_of)),
        threads_(threads),
        watch_(std::move(watch)),
        team_(team) {}

  std::vector<SourceCaches> operator()(bool needs_tokenizer = true) {
    refuse_missing(config_, needs_tokenizer);
    std::vector<SourceCaches> out;
    for (const auto& [name, source] : config_.sources()) out.push_back(caches_of(name, source));
    return out;
  }

  /// Leaves to threads what need not be waited for.
  StartedCaches start() {
    background_ = std::make_shared<BackgroundBuild>();
    StartedCaches out{(*this)(), nullptr};
    if (background_->empty()) return out;
    background_->run(threads_);
    out.build = std::move(background_);
    return out;
  }

 private:
  SourceCaches caches_of(const std::string& name, const SourceConfig& source) {
    SourceCaches out{name, source.tags, {}, {}, {}, {}};
    in_context(fmt::format("data set {}", name), [&] {
      const Shared processor = processor_of_(source);
      const auto cache = [&](const std::string& split, const auto& urls) {
        const auto wanted = split == "train" ? store::Split::Train : store::Split::Validation;
        return cache_of(name, source, split, store::expand_urls(urls, wanted, config_.download_options()),
                        processor);
      };
      std::tie(out.train, out.growing) = cache("train", source.urls(store::Split::Train));
      std::tie(out.validation, out.growing_validation) =
          cache("validation", source.urls(store::Split::Validation));
    });
    return out;
  }

  /// The complete cache, or a growing one, or none.
  std::pair<std::shared_ptr<const store::TokenCache>, std::shared_ptr<const store::GrowingCache>> cache_of(
      const std::string& name, const SourceConfig& source, const std::string& split,
      const std::vector<std::string>& files, const Shared& processor) {
    const std::string directory = config_.cache_directory(name, source, split);
    const bool is_train = split == "train";
    const std::string why = is_train ? why_whole_cache(config_, name) : "";
    const bool early = background_ && why.empty();
    auto options = options_of(source);
    if (watch_.progress || early) options.progress = progress_of(name, split, early);
    if (files.empty()) return {imported_cache(directory, *processor, options), nullptr};
    auto build = std::make_unique<store::CacheBuild>(directory, files, *processor, std::move(options));
    if (build->start()) {
      if (early) {
        const bool urgent = is_train && is_trained_on(config_, name);
        return {nullptr, background_->add(processor, std::move(build), urgent)};
      }
      if (background_ && watch_.waits) watch_.waits(name, why);
      build->make_share();
      build->finish();
    }
    return {build->open(), nullptr};
  }

  /// Of what is waited for; a build in the background listens whether it should stop.
  std::function<void(const store::CacheProgress&)> progress_of(const std::string& name,
                                                               const std::string& split, bool early) const {
    const auto pulse = early ? background_->pulse() : std::function<void(const store::CacheProgress&)>();
    return [report = watch_.progress, name, split, pulse](const store::CacheProgress& p) {
      if (pulse && !p.checks) return pulse(p);
      if (report) report({name, split, p});
    };
  }

  store::CacheOptions options_of(const SourceConfig& source) const {
    store::CacheOptions options;
    options.threads = threads_;
    options.team = team_;
    options.format = text_format(source.format);
    options.tokenizer = config_.tokenizer_name();
    return options;
  }

  const DataConfig& config_;
  std::function<Shared(const SourceConfig&)> processor_of_;
  int threads_;
  CacheWatch watch_;
  store::CacheTeam team_;
  std::shared_ptr<BackgroundBuild> background_;
};

std::function<Shared(const SourceConfig&)> processors(const DataConfig& config, const Shared& text,
                                                      const Tokenizer& tokenizer) {
  return [&config, text, tokenizer](const SourceConfig& source) {
    if (source.format.config.get_if<TextFormat>() != nullptr) return text;
    return Shared(make_processor(source.format, config, tokenizer));
  };
}

/// For as long as the caller keeps it.
template <class P>
Shared borrowed(const P& processor) {
  return Shared(std::shared_ptr<void>(), &processor);
}

}  // namespace

bool is_trained_on(const DataConfig& config, const std::string& name) {
  return config.train_weights.empty() ||
         std::any_of(config.train_weights.begin(), config.train_weights.end(), [&](const WeightStage& stage) {
           const bool alone = config.configs.empty();
           return std::any_of(stage.weights.begin(), stage.weights.end(), [&](const auto& weight) {
             return (alone || weight.first == name) && weight.second > 0;
           });
         });
}

SourceCaches SourceCaches::when_complete() const {
  SourceCaches out{name, tags, train, validation, {}, {}};
  if (growing) out.train = growing->whole();
  if (growing_validation) out.validation = growing_validation->whole();
  return out;
}

std::string why_whole_cache(const DataConfig& config, const std::string& name) {
  if (!is_trained_on(config, name)) return "";
  const bool has_limit = find(config.max_train_batches, name) != nullptr;
  if (const auto& shuffle = *config.shuffle.config; !has_limit && !shuffle.needed(0))
    return shuffle.why_all();
  for (const auto& entry : config.sources()) {
    const bool same = entry.first == name;
    if (same && !entry.second.format->is_concatenated()) return "whole documents are packed by their lengths";
  }
  if (const auto* held = find(config.num_validation_sequences, name);
      held && *held > 0 && config.shuffle_before_trainval_split)
    return "sequences are held back from everywhere (data.shuffle_before_trainval_split)";
  if (config.max_epochs) return "data.max_epochs ends training by its length";
  if (parse_stop_strategy(config.stop_strategy) != StopStrategy::Restart)
    return "data.stop_strategy ends training by its length";
  if (config.train_weights.empty() && config.sources().size() > 1)
    return "weights go by the sizes of the sets (data.train_weights sets them)";
  if (config.target_budget && config.experiment_budget)
    return "data.experiment_budget is a share of its length";
  return "";
}

std::vector<SourceCaches> build_caches(const DataConfig& config, const store::Processor& processor,
                                       int threads, const std::function<void(const CacheReport&)>& report,
                                       const store::CacheTeam& team) {
  return CacheBuilds(
      config, [shared = borrowed(processor)](const SourceConfig&) { return shared; }, threads, {report, {}},
      team)();
}

std::vector<SourceCaches> build_caches(const DataConfig& config, const TokenizerProcessor& text, int threads,
                                       const std::function<void(const CacheReport&)>& report,
                                       const store::CacheTeam& team) {
  return CacheBuilds(config, processors(config, borrowed(text), text.tokenizer()), threads, {report, {}},
                     team)();
}

std::vector<SourceCaches> build_passthrough_caches(const DataConfig& config, int threads,
                                                   const std::function<void(const CacheReport&)>& report,
                                                   const store::CacheTeam& team) {
  const auto processor = [&](const SourceConfig& source) {
    return Shared(make_processor(source.format, config));
  };
  return CacheBuilds(config, processor, threads, {report, {}}, team)(false);
}

StartedCaches start_caches(const DataConfig& config, const std::shared_ptr<const store::Processor>& text,
                           int threads, const CacheWatch& watch, const store::CacheTeam& team) {
  const auto* with_tokenizer = dynamic_cast<const TokenizerProcessor*>(text.get());
  const auto same = [text](const SourceConfig&) { return text; };
  return CacheBuilds(config, with_tokenizer ? processors(config, text, with_tokenizer->tokenizer()) : same,
                     threads, watch, team)
      .start();
}

}  // namespace bora::data

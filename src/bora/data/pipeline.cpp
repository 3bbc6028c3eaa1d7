// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/pipeline.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/data/epochs.h"
#include "bora/data/formats.h"
#include "bora/data/growing_dataset.h"
#include "bora/data/packed_dataset.h"
#include "bora/data/speech_dataset.h"
#include "bora/store/urls.h"

namespace bora::data {
namespace {

constexpr std::string_view kTraining = "training";

/// One data set's sequences, cut as the configuration says.
struct Parts {
  DatasetPtr train, held_back;
};

class Assembly : public std::enable_shared_from_this<Assembly> {
 public:
  Assembly(DataConfig config, const SequenceShape& shape, const TokenRules& rules,
           const BatchSchedule& schedule, Warn warn)
      : config_(std::move(config)),
        shape_(shape),
        rules_(rules),
        schedule_(schedule),
        warn_(std::move(warn)) {
    rules_.block_cross_document_attention = config_.block_cross_document_attention;
  }

  DatasetPtr whole(const std::shared_ptr<const store::TokenCache>& cache, const std::string& name,
                   std::string_view use) const {
    DatasetPtr dataset = sequences(cache, name, use);
    if (dataset->size() < 1) {
      fail(ErrorKind::Config,
           "data: {} has {} tokens, fewer than one sequence of {}\nhint: more text, or a smaller "
           "model.seq_len",
           name, cache->num_tokens(), shape_.seq_len);
    }
    return dataset;
  }

  std::int64_t held_back(const std::string& name) const {
    const auto* n = find(config_.num_validation_sequences, name);
    return n ? std::max<std::int64_t>(0, *n) : 0;
  }

  Parts parts(const std::shared_ptr<const store::TokenCache>& cache, const std::string& name) const {
    DatasetPtr train = whole(cache, name, kTraining);
    Parts parts;
    if (config_.shuffle_before_trainval_split && find(config_.num_validation_sequences, name)) {
      train = shuffled(train, {"full", FullShuffle()}, Key::from_seed(0).fold(name));
    }
    if (const std::int64_t n = held_back(name); n > 0) {
      if (n >= train->size()) {
        fail(
            ErrorKind::Config,
            "data.num_validation_sequences: is {} for {}, which has {} sequences\nhint: hold back fewer than {}",
            n, name, train->size(), train->size());
      }
      parts.held_back = within_segments(slice(train, train->size() - n, train->size()));
      train = slice(train, 0, train->size() - n);
    }
    parts.train = slice(train, 0, std::min(train->size(), budget(name, train->size())));
    return parts;
  }

  DatasetPtr growing(const SourceCaches& caches, const Key& key) const {
    GrowingSource source{caches.growing, shape_.seq_len, held_back(caches.name), batches(caches.name),
                         [self = shared_from_this(), name = caches.name](const auto& cache) {
                           return self->parts(cache, name).train;
                         }};
    return endless_growing(std::move(source), config_.shuffle, key);
  }

  DatasetPtr growing_held_back(const SourceCaches& caches) const {
    return late(shape_, [self = shared_from_this(), cache = caches.growing, name = caches.name] {
      return self->parts(cache->whole(), name).held_back;
    });
  }

  DatasetPtr growing_validation(const SourceCaches& caches) const {
    return late(shape_, [self = shared_from_this(), cache = caches.growing_validation, name = caches.name] {
      return self->validation(cache->whole(), name);
    });
  }

  DatasetPtr validation(const std::shared_ptr<const store::TokenCache>& cache,
                        const std::string& name) const {
    return within_segments(whole(cache, name, "validation"));
  }

 private:
  DatasetPtr sequences(const std::shared_ptr<const store::TokenCache>& cache, const std::string& name,
                       std::string_view use) const {
    const FormatConfig& format = *source_of(name).format.config;
    require_sound(name, !format.sound_key().empty());
    if (format.is_concatenated()) return std::make_shared<TokenDataset>(cache, shape_.seq_len, rules_);
    const PackRules pack = format.pack_rules(shape_.seq_len);
    auto dataset = in_context(fmt::format("data set {}", name),
                              [&] { return std::make_shared<PackedDataset>(cache, pack, rules_); });
    if (dataset->overlong() > 0) {
      warn_(
          fmt::format("data set {}, {}: {} of {} documents are longer than a sequence of {}; {} of {} tokens "
                      "are left out",
                      name, use, dataset->overlong(), cache->num_documents(), shape_.seq_len,
                      dataset->lost_tokens(), cache->num_tokens()));
    }
    if (format.sound_key().empty()) return dataset;
    return in_context(fmt::format("data set {}", name), [&]() -> DatasetPtr {
      return std::make_shared<SpeechDataset>(dataset, sounds_of_source(name, use), shape_.sound);
    });
  }

  void require_sound(const std::string& name, bool is_speech) const {
    const bool hears = shape_.sound.size() > 0;
    if (hears == is_speech) return;
    fail(ErrorKind::Config, "data set {}: {}\nhint: {}", name,
         hears ? "records of text, but the model hears sound" : "records of speech, but the model reads text",
         hears ? "format: {type: speech}" : "model.type: whisper, or another format");
  }

  std::vector<std::string> sounds_of_source(const std::string& name, std::string_view use) const {
    const SourceConfig& source = source_of(name);
    const bool trained = use == kTraining;
    const auto files = store::expand_urls(trained ? source.train_urls : source.validation_urls,
                                          trained ? store::Split::Train : store::Split::Validation,
                                          config_.download_options());
    return sounds_of(files, text_format(source.format), source.format->sound_key());
  }

  const SourceConfig& source_of(const std::string& name) const {
    const auto at = std::find_if(config_.configs.begin(), config_.configs.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    return at == config_.configs.end() ? config_.single : at->second;
  }

  /// The sequences of max_train_batches.
  std::int64_t batches(const std::string& name) const {
    const auto* n = find(config_.max_train_batches, name);
    return n ? *n * schedule_.batch_size(0) : kEndless;
  }

  /// Simulated epoching: the part of a set that keeps the number of its repetitions as in the bigger run.
  std::int64_t budget(const std::string& name, std::int64_t sequences) const {
    std::int64_t limit = sequences;
    if (config_.target_budget && config_.experiment_budget && *config_.target_budget > 0) {
      const double ratio = *config_.experiment_budget / *config_.target_budget;
      limit = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::min(1.0, ratio) * static_cast<double>(sequences)));
    }
    return std::min(limit, batches(name));
  }

  DataConfig config_;
  SequenceShape shape_;
  TokenRules rules_;
  BatchSchedule schedule_;
  Warn warn_;
};

/// A product that 64 bits do not hold is endless.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kEndless : product;
}

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

std::int64_t start_of(const WeightStage& stage, const BatchSchedule& schedule, std::int64_t block,
                      const Warn& warn) {
  const std::int64_t start = schedule.offset(stage.start), rounded = (start + block - 1) / block * block;
  if (rounded != start) {
    warn(fmt::format(
        "the weights of step {} take effect {} sequences later, where a block of mixture_block_size = {} "
        "ends",
        stage.start, rounded - start, block));
  }
  return rounded;
}

std::vector<MixtureStage> stages_of(const DataConfig& config, const BatchSchedule& schedule,
                                    const std::vector<Mixture::Source>& sources,
                                    const std::vector<std::int64_t>& sizes, const Warn& warn) {
  if (config.train_weights.empty()) return {{0, weights_of(nullptr, sources, sizes)}};
  std::vector<MixtureStage> stages;
  for (const auto& stage : config.train_weights) {
    MixtureStage next{start_of(stage, schedule, config.mixture_block_size, warn),
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

}  // namespace

void log_one_warning(const std::string& text) { log_warning("{}", text); }

Datasets make_datasets(const DataConfig& config, const std::vector<SourceCaches>& caches,
                       const SequenceShape& shape, const TokenRules& rules, const BatchSchedule& schedule,
                       const Key& key, const Warn& warn) {
  const auto assembly = std::make_shared<const Assembly>(config, shape, rules, schedule, warn);
  Datasets out;
  std::vector<Mixture::Source> sources;
  std::vector<std::int64_t> sizes;
  for (const auto& set : caches) {
    const bool trained_on = is_trained_on(config, set.name);
    const auto evaluate_on = [&](DatasetPtr dataset, std::int64_t num_bytes = -1) {
      out.validation.push_back({set.name, set.tags, std::move(dataset), num_bytes});
    };
    const auto train_on = [&](DatasetPtr dataset, std::int64_t size, std::int64_t limit) {
      sizes.push_back(size);
      sources.push_back({set.name, std::move(dataset), limit});
    };
    const bool has_own = set.validation || set.growing_validation;
    const bool holds_back = assembly->held_back(set.name) > 0 && (set.growing || set.train);
    if (has_own && holds_back)  // one name, one evaluation, and Levanter's is this one
      warn(fmt::format(
          "data set {} is evaluated on the sequences that data.num_validation_sequences holds back, not on "
          "its validation text; leave out one of the two",
          set.name));
    else if (set.validation)
      evaluate_on(assembly->validation(set.validation, set.name), set.validation->num_bytes());
    else if (set.growing_validation)
      evaluate_on(assembly->growing_validation(set));
    if (set.growing) {
      if (holds_back) evaluate_on(assembly->growing_held_back(set));
      // Of its size nothing depends: it is the only set, or weights are given.
      if (trained_on) train_on(assembly->growing(set, key.fold(set.name)), 1, kEndless);
    } else if (set.train) {
      const Parts parts = assembly->parts(set.train, set.name);
      if (parts.held_back) evaluate_on(parts.held_back);
      if (!trained_on) continue;
      const std::int64_t size = parts.train->size();
      train_on(endless(parts.train, config.shuffle, key.fold(set.name)), size,
               times(size, config.max_epochs.value_or(1)));
    }
  }
  if (sources.empty()) return out;
  auto mixture =
      std::make_shared<Mixture>(sources, stages_of(config, schedule, sources, sizes, warn),
                                config.mixture_block_size, key.fold("mixture"), stop_strategy_of(config));
  for (const auto& name : mixture->starved()) {
    warn(
        fmt::format("data set {} has a weight but gets no sequence of a block; raise mixture_block_size = {}",
                    name, config.mixture_block_size));
  }
  out.train = std::move(mixture);
  return out;
}

}  // namespace bora::data

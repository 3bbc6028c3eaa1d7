// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "text_data.h"

#include <fmt/core.h>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/data/epochs.h"
#include "bora/data/mixture.h"
#include "bora/data/token_dataset.h"
#include "bora/store/cache_builder.h"
#include "bora/store/urls.h"
#include "bora/tokenize/bpe_trainer.h"
#include "bora/train/evaluate.h"
#include "debian_text.h"
#include "document_source.h"

namespace bora::app {
namespace {

// A tokenizer as the cache builder wants it: texts to ids, an end-of-text token after each document.
class TokenizerProcessor final : public store::Processor {
 public:
  TokenizerProcessor(Tokenizer tokenizer, bool enforce_eos)
      : tokenizer_(std::move(tokenizer)), enforce_eos_(enforce_eos) {}

  std::string fingerprint() const override {
    return fmt::format("{} eos={}", tokenizer_.fingerprint().hex(), enforce_eos_);
  }
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override {
    tokenizer_.encode_ids(piece.text, out);
    auto eos = tokenizer_.eos_id();
    if (piece.ends_document && enforce_eos_ && eos && (out.empty() || out.back() != *eos))
      out.push_back(*eos);
  }

 private:
  Tokenizer tokenizer_;
  bool enforce_eos_;
};

struct SourceFiles {
  std::string name;
  std::vector<std::string> train, validation;
  std::optional<std::string> cache_dir;
  store::TextFormat format;
};

// Files of these sources; sets `fetched` if a package had to be downloaded.
std::vector<std::string> local_files(const std::vector<std::string>& urls, track::Console& console,
                                     bool& fetched) {
  std::vector<std::string> patterns;
  for (const auto& url : urls) {
    if (is_debian_text(url) && !debian_text_is_here(url)) {
      console.progress("data", 0, 1, "fetching " + url);
      fetched = true;
    }
    patterns.push_back(is_debian_text(url) ? fetch_debian_text(url) : url);
  }
  return store::expand_urls(patterns);
}

void require_reachable(const data::DataConfig& config) {
  auto missing = config.missing_sources();
  if (missing.empty()) return;
  std::string text = "the data of this configuration is not on this machine; nothing was started.";
  for (const auto& p : missing) text += fmt::format("\n  {}  {}", p.key, p.message);
  throw Error(ErrorKind::Config, text);
}

std::vector<SourceFiles> find_files(const data::DataConfig& config, track::Console& console) {
  require_reachable(config);
  double started = monotonic_seconds(), bytes = 0;
  bool fetched = false;
  std::vector<SourceFiles> out;
  std::vector<std::string> shares;
  auto sources = config.sources();
  double total = 0;
  for (const auto& [name, source] : sources) total += config.weight_of(name);
  for (const auto& [name, source] : sources) {
    SourceFiles files{name,
                      local_files(source.train_urls, console, fetched),
                      local_files(source.validation_urls, console, fetched),
                      source.cache_dir,
                      {source.format.text_key}};
    for (const auto& path : files.train) bytes += static_cast<double>(bora::files().info(path)->size);
    if (sources.size() > 1)
      shares.push_back(fmt::format("{} {:.0f} %", name, 100 * config.weight_of(name) / total));
    out.push_back(std::move(files));
  }
  auto text = fmt::format("{} source{} · {}{}{}", out.size(), out.size() == 1 ? "" : "s", human_bytes(bytes),
                          shares.empty() ? "" : " · ", join(shares));
  if (fetched)
    console.progress("data", 1, 1, text);
  else
    console.fact("data", text, monotonic_seconds() - started);
  return out;
}

// Trained once; kept beside the run, so that a second start and other tools find it.
Tokenizer train_tokenizer(const data::DataConfig& config, const std::vector<SourceFiles>& sources,
                          const std::string& directory, track::Console& console) {
  if (exists(path_join(directory, "tokenizer.json"))) {
    auto tokenizer = Tokenizer::load(directory);
    console.fact("tokenizer",
                 fmt::format("{} pieces, from {}", with_commas(tokenizer.vocab_size()), directory));
    return tokenizer;
  }
  std::vector<std::string> paths;
  for (const auto& s : sources) paths.insert(paths.end(), s.train.begin(), s.train.end());
  BpeTrainerConfig trainer;
  trainer.vocab_size = config.train_tokenizer->vocab_size;
  trainer.min_frequency = config.train_tokenizer->min_frequency;
  trainer.progress = [&](std::int64_t done, std::int64_t total) {
    if (done < total)
      console.progress("tokenizer", static_cast<double>(done), static_cast<double>(total), "learning merges");
  };
  auto trained = train_bpe(document_source(paths), trainer);
  trained.tokenizer.save(directory);
  console.progress(
      "tokenizer", 1, 1,
      fmt::format("trained: byte-level BPE, {} pieces", with_commas(trained.tokenizer.vocab_size())));
  if (!trained.warning.empty()) console.line("            " + trained.warning);
  return trained.tokenizer;
}

Tokenizer choose_tokenizer(const LmConfig& config, const std::vector<SourceFiles>& sources,
                           const RunPlace& place, track::Console& console) {
  if (config.data.train_tokenizer)
    return train_tokenizer(config.data, sources, path_join(place.directory, "tokenizer"), console);
  if (!exists(config.data.tokenizer)) {
    fail(ErrorKind::NotFound,
         "data.tokenizer: {} is no file or directory\nhint: give a local tokenizer.json, or "
         "data.train_tokenizer: {{vocab_size: 4096}}; the hub is not reached",
         config.data.tokenizer);
  }
  auto tokenizer = Tokenizer::load(config.data.tokenizer);
  console.fact("tokenizer",
               fmt::format("{} pieces, from {}", with_commas(tokenizer.vocab_size()), config.data.tokenizer));
  return tokenizer;
}

// One bar for all caches of a run.
class CacheProgressBar {
 public:
  CacheProgressBar(const std::vector<SourceFiles>& sources, track::Console& console)
      : console_(console), started_(monotonic_seconds()) {
    for (const auto& s : sources)
      for (const auto* list : {&s.train, &s.validation})
        for (const auto& path : *list) total_ += static_cast<double>(files().info(path)->size);
  }
  void update(const store::CacheProgress& p) {
    built_ = true;
    double done = finished_ + static_cast<double>(p.bytes_done);
    if (done < total_) show(done, tokens_ + static_cast<double>(p.counts.tokens));
  }
  void finish(const store::TokenCache& cache, const std::vector<std::string>& paths) {
    for (const auto& path : paths) finished_ += static_cast<double>(files().info(path)->size);
    tokens_ += static_cast<double>(cache.num_tokens());
    bytes_ += static_cast<double>(cache.num_bytes());
  }
  void close(const std::string& directory) {
    if (built_)
      show(total_, tokens_);
    else
      console_.fact("cache", fmt::format("{} tokens, from {}", human_count(tokens_), directory),
                    monotonic_seconds() - started_);
    if (tokens_ > 0)
      console_.fact("tokens", fmt::format("{} · {:.2f} bytes each", human_count(tokens_), bytes_ / tokens_));
  }

 private:
  void show(double done, double tokens) {
    double seconds = std::max(monotonic_seconds() - started_, 1e-3);
    console_.progress("cache", done, total_, human_count(tokens) + " tokens",
                      human_bytes(done / seconds) + "/s");
  }
  track::Console& console_;
  double started_, total_ = 0, finished_ = 0, tokens_ = 0, bytes_ = 0;
  bool built_ = false;
};

std::shared_ptr<const store::TokenCache> cache_of(const std::string& directory,
                                                  const std::vector<std::string>& paths,
                                                  const TokenizerProcessor& processor,
                                                  const store::TextFormat& format, CacheProgressBar& bar) {
  store::CacheOptions options{.format = format};
  options.progress = [&](const store::CacheProgress& p) { bar.update(p); };
  auto cache = store::build_cache(directory, paths, processor, options);
  bar.finish(*cache, paths);
  return cache;
}

// The last `held_out` sequences are for evaluation alone; they are taken before any shuffle.
void split(TextSource& source, data::DatasetPtr all, std::int64_t held_out) {
  held_out = std::min(held_out, all->size() / 2);
  source.train = held_out > 0 ? data::slice(all, 0, all->size() - held_out) : all;
  if (held_out > 0 && !source.validation)
    source.validation = data::slice(all, all->size() - held_out, all->size());
}

TextSource open_source(const LmConfig& config, const SourceFiles& files, std::int64_t seq_len,
                       const TokenizerProcessor& processor, const Tokenizer& tokenizer,
                       CacheProgressBar& bar) {
  TextSource source{files.name, config.data.weight_of(files.name), nullptr, nullptr, nullptr};
  auto base = files.cache_dir.value_or(path_join(config.data.cache_dir, files.name));
  data::TokenRules rules{.eos_id = tokenizer.eos_id().value_or(-1),
                         .ignore_token_id = static_cast<std::int32_t>(config.data.ignore_token_id)};
  auto dataset = [&](auto cache) { return std::make_shared<data::TokenDataset>(cache, seq_len, rules); };
  if (!files.validation.empty()) {
    source.validation =
        dataset(cache_of(path_join(base, "validation"), files.validation, processor, files.format, bar));
  }
  if (files.train.empty()) return source;
  source.cache = cache_of(path_join(base, "train"), files.train, processor, files.format, bar);
  auto all = dataset(source.cache);
  if (all->size() == 0) {
    fail(ErrorKind::Config,
         "data: {} has {} tokens, not one sequence of model.seq_len = {}\nhint: more text, or a shorter "
         "seq_len",
         files.name, source.cache->num_tokens(), seq_len);
  }
  split(source, all, config.data.held_out(files.name));
  return source;
}

std::vector<data::MixtureStage> stages_of(const LmConfig& config, const std::vector<TextSource>& sources) {
  auto schedule = config.trainer.batch_schedule();
  std::vector<data::MixtureStage> stages;
  for (const auto& stage : config.data.train_weights) {
    std::vector<double> weights;
    for (const auto& s : sources) {
      if (!s.train) continue;
      double w = sources.size() == 1 ? 1 : 0;
      for (const auto& [name, weight] : stage.weights)
        if (name == s.name) w = weight;
      weights.push_back(w);
    }
    stages.push_back({schedule.offset(stage.start), weights});
  }
  if (!stages.empty()) return stages;
  return {{0, std::vector<double>(
                  static_cast<std::size_t>(std::count_if(sources.begin(), sources.end(),
                                                         [](auto& s) { return s.train != nullptr; })),
                  1.0)}};
}

data::DatasetPtr mix(const LmConfig& config, const std::vector<TextSource>& sources) {
  auto key =
      Key::from_seed(static_cast<std::uint64_t>(config.data_seed.value_or(config.trainer.seed))).fold("data");
  std::vector<data::Mixture::Source> parts;
  for (const auto& s : sources) {
    if (s.train) parts.push_back({s.name, data::endless(s.train, config.data.shuffle, key.fold(s.name))});
  }
  if (parts.empty()) fail(ErrorKind::Config, "data: no source has training text\nhint: data.train_urls");
  if (parts.size() == 1) return parts[0].dataset;
  return std::make_shared<data::Mixture>(parts, stages_of(config, sources), config.data.mixture_block_size,
                                         key.fold("mixture"));
}

}  // namespace

TextData prepare_text(const LmConfig& config, const RunPlace& place, std::int64_t seq_len,
                      track::Console& console, const std::optional<Tokenizer>& given) {
  auto files = find_files(config.data, console);
  TextData text{given ? *given : choose_tokenizer(config, files, place, console), {}, nullptr};
  TokenizerProcessor processor(text.tokenizer, config.data.enforce_eos);
  CacheProgressBar bar(files, console);
  for (const auto& f : files)
    text.sources.push_back(open_source(config, f, seq_len, processor, text.tokenizer, bar));
  bar.close(config.data.cache_dir);
  text.train = mix(config, text.sources);
  return text;
}

data::Batch read_step(const data::Dataset& train, const data::BatchSchedule& schedule, std::int64_t step) {
  data::Batch batch;
  batch.step = step;
  batch.sequences = schedule.batch_size(step);
  batch.seq_len = train.seq_len();
  auto n = static_cast<std::size_t>(batch.seq_len), first = static_cast<std::size_t>(schedule.offset(step));
  auto count = static_cast<std::size_t>(batch.sequences);
  batch.tokens.resize(n * count);
  batch.segments.resize(n * count);
  batch.loss_weights.resize(n * count);
  for (std::size_t i = 0; i < count; ++i) {
    batch.sources.push_back(
        train.read(static_cast<std::int64_t>(first + i),
                   {std::span(batch.tokens).subspan(i * n, n), std::span(batch.segments).subspan(i * n, n),
                    std::span(batch.loss_weights).subspan(i * n, n)}));
  }
  return batch;
}

std::vector<track::Metric> evaluate_sources(const nn::LanguageModel& model, const TextData& text,
                                            const LmConfig& config, track::Console& console) {
  std::vector<track::Metric> metrics;
  track::Table table{"eval", {"loss", "ppl", "bits/byte"}, {}};
  nn::LossOptions options{.compute = config.trainer.mp.compute, .chunk = config.cross_entropy_chunk};
  train::EvalResult all;
  double macro = 0;
  int sets = 0;
  for (const auto& s : text.sources) {
    if (!s.validation) continue;
    auto r = train::evaluate(model, *s.validation, 16, config.trainer.max_eval_batches.value_or(1 << 30),
                             text.tokenizer.bytes_per_token(), options);
    table.rows.push_back({s.name,
                          {fmt::format("{:.3f}", r.loss()), fmt::format("{:.1f}", r.perplexity()),
                           fmt::format("{:.3f}", r.bits_per_byte())}});
    metrics.push_back({"eval/" + s.name + "/loss", r.loss()});
    metrics.push_back({"eval/" + s.name + "/bpb", r.bits_per_byte()});
    all += r;
    macro += r.loss();
    ++sets;
  }
  if (sets == 0) return metrics;
  metrics.push_back({"eval/loss", all.loss()});
  metrics.push_back({"eval/bpb", all.bits_per_byte()});
  metrics.push_back({"eval/macro_loss", macro / sets});
  console.settle();
  console.table(table);
  return metrics;
}

}  // namespace bora::app

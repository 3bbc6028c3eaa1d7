// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/text_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/core/device.h"
#include "bora/data/chat_processor.h"
#include "bora/data/formats.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/run/debian_text.h"
#include "bora/run/document_source.h"
#include "bora/run/hub_name.h"
#include "bora/run/kept_tokenizer.h"
#include "bora/store/token_files.h"
#include "bora/store/urls.h"
#include "bora/tokenize/train/tokenizer_trainer.h"
#include "bora/train/grouped_eval.h"

namespace bora::run {
namespace {

// Replaces sources out of Debian packages by the files they became. True if something had to be downloaded.
bool resolve(std::vector<std::string>& urls, track::Console& console) {
  bool fetched = false;
  for (auto& url : urls) {
    if (!is_debian_text(url)) continue;
    if (!debian_text_is_here(url)) {
      console.progress("data", 0, 1, "fetching " + url);
      fetched = true;
    }
    url = fetch_debian_text(url);
  }
  return fetched;
}

double weight_of(const data::DataConfig& config, const std::string& name) {
  if (config.train_weights.empty()) return 0;
  for (const auto& [source, weight] : config.train_weights.front().weights)
    if (source == name) return weight;
  return 0;
}

void require_reachable(const data::DataConfig& config) {
  auto missing = config.missing_sources();
  if (missing.empty()) return;
  std::string text = "the data of this configuration cannot be read; nothing was started.";
  for (const auto& p : missing) text += fmt::format("\n  {}  {}", p.key, p.message);
  throw Error(ErrorKind::Config, text);
}

data::DataConfig find_files(data::DataConfig config, track::Console& console) {
  require_reachable(config);
  double started = monotonic_seconds(), bytes = 0, total = 0;
  bool fetched = false;
  auto prepare = [&](data::SourceConfig& source) {
    fetched = resolve(source.train_urls, console) || fetched;
    fetched = resolve(source.validation_urls, console) || fetched;
    for (const auto& path :
         store::expand_urls(source.urls(store::Split::Train), store::Split::Train, config.download_options()))
      bytes += static_cast<double>(files().info(path)->size);
  };
  if (config.configs.empty()) prepare(config.single);
  for (auto& [name, source] : config.configs) prepare(source);
  std::vector<std::string> shares;
  for (const auto& [name, source] : config.configs) total += weight_of(config, name);
  for (const auto& [name, source] : config.configs) {
    if (total > 0) shares.push_back(fmt::format("{} {:.0f} %", name, 100 * weight_of(config, name) / total));
  }
  auto count = std::max<std::size_t>(1, config.configs.size());
  auto text = fmt::format("{} source{} · {}{}{}", count, count == 1 ? "" : "s", human_bytes(bytes),
                          shares.empty() ? "" : " · ", join(shares));
  if (fetched)
    console.progress("data", 1, 1, text);
  else
    console.fact("data", text, monotonic_seconds() - started);
  return config;
}

void no_warning(const std::string&) {}  // of other workers: the first one says the same

std::vector<TextFile> training_files(const data::DataConfig& config) {
  std::vector<TextFile> out;
  for (const auto& [name, source] : config.sources()) {
    const auto format = data::text_format(source.format);
    for (auto& path :
         store::expand_urls(source.urls(store::Split::Train), store::Split::Train, config.download_options()))
      out.push_back({std::move(path), format});
  }
  return out;
}

// What a person sees while a tokenizer is trained: reading is the first half of the bar.
class TokenizerLines {
 public:
  TokenizerLines(track::Console& console, const std::vector<TextFile>& texts) : console_(console) {
    console.begin("tokenizer");
    for (const auto& text : texts)
      if (const auto info = files().info(text.path)) size_ += static_cast<double>(info->size);
  }

  DocumentSource watched(DocumentSource source) {
    return [this, source = std::move(source)] {
      const auto document = source();
      if (document) read(static_cast<double>(document->size()));
      return document;
    };
  }

  void learned(std::int64_t done, std::int64_t total) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    if (done < total) console_.progress("tokenizer", 1 + share, 2, "learning pieces");
  }

 private:
  // Compressed files hold more than their size: nobody knows how much is still to come.
  void read(double bytes) {
    constexpr double kBetween = 1 << 20, kMost = 0.98;
    bytes_ += bytes;
    if (bytes_ - told_ < kBetween) return;
    told_ = bytes_;
    console_.progress("tokenizer", std::min(bytes_ / std::max(size_, 1.0), kMost), 2,
                      fmt::format("reading, {} so far", human_bytes(bytes_)));
  }

  track::Console& console_;
  double size_ = 0, bytes_ = 0, told_ = 0;
};

// A tokenizer is trained on the texts of text records. (Others may have such a field, too.)
TrainedTokenizer learn(const data::DataConfig& config, TokenizerTrainerConfig trainer,
                       track::Console& console) {
  try {
    const auto texts = training_files(config);
    TokenizerLines lines(console, texts);
    trainer.progress = [&](std::int64_t done, std::int64_t total) { lines.learned(done, total); };
    return bora::train_tokenizer(lines.watched(document_source(texts)), trainer);
  } catch (const Error& e) {
    for (const auto& [name, source] : config.sources()) {
      if (source.format.config.get_if<data::TextFormat>() != nullptr || source.train_urls.empty()) continue;
      const std::string text = e.what();
      throw Error(
          e.kind(),
          fmt::format(
              "{}\nhint: data.train_tokenizer learns from records of type text, and those of data set "
              "{} are of type {}: train a tokenizer on other files (bora train-tokenizer FILES --out "
              "DIRECTORY) and give it as data.tokenizer",
              text.substr(0, text.find("\nhint: ")), name, source.format.type));
    }
    throw;
  }
}

// Only a run must keep it; whoever looks at its data where nothing may be written need not.
void keep_tokenizer(const Tokenizer& tokenizer, const data::DataConfig& config, const std::string& directory,
                    bool must_be_kept) {
  try {
    tokenizer.save(directory);
    write_settings(directory, config);
  } catch (const Error& e) {
    if (must_be_kept || e.kind() != ErrorKind::Io) throw;
    const std::string text = e.what();
    log_warning("{}; the tokenizer is not kept there, and the run trains it again",
                text.substr(0, text.find('\n')));
  }
}

// Trained once; kept beside the run, so that a second start and other tools find it. One of other settings is that of a
// start before the first checkpoint: a run with checkpoints refuses them.
Tokenizer train_tokenizer(const data::DataConfig& config, const std::string& directory,
                          track::Console& console, bool must_be_kept, bool is_first) {
  const data::TrainTokenizerConfig& wanted = *config.train_tokenizer;
  if (is_first ? is_kept(directory, config) : is_kept_by_first(directory, config)) {
    auto tokenizer = Tokenizer::load(directory);
    console.fact("tokenizer",
                 fmt::format("{} pieces, from {}", with_commas(tokenizer.vocab_size()), directory));
    return tokenizer;
  }
  TokenizerTrainerConfig trainer;
  trainer.kind = parse_tokenizer_kind(wanted.kind);
  trainer.vocab_size = wanted.vocab_size;
  trainer.min_frequency = wanted.min_frequency;
  trainer.character_coverage = wanted.character_coverage;
  auto trained = learn(config, trainer, console);
  keep_tokenizer(trained.tokenizer, config, directory, must_be_kept);
  console.progress(
      "tokenizer", 1, 1,
      fmt::format("trained: {}, {} pieces", wanted.kind == "bpe" ? "byte-level BPE" : wanted.kind,
                  with_commas(trained.tokenizer.vocab_size())));
  if (!trained.warning.empty()) console.line("            " + trained.warning);
  return trained.tokenizer;
}

Tokenizer choose_tokenizer(const data::DataConfig& config, const RunPlace& place, track::Console& console,
                           bool is_run, bool is_first) {
  if (config.train_tokenizer)
    return train_tokenizer(config, path_join(place.directory, "tokenizer"), console, is_run, is_first);
  const auto path = local_path(config.tokenizer, store::HubFiles::Tokenizer);
  if (!exists(path)) {
    fail(
        ErrorKind::NotFound,
        "data.tokenizer: {} is no file or directory and no name on the hub\nhint: give a local tokenizer.json, "
        "or data.train_tokenizer: {{vocab_size: 4096}}",
        config.tokenizer);
  }
  auto tokenizer = Tokenizer::load(path);
  console.fact("tokenizer",
               fmt::format("{} pieces, from {}", with_commas(tokenizer.vocab_size()), config.tokenizer));
  return tokenizer;
}

double source_bytes(const std::vector<data::SourceCaches>& caches) {
  double bytes = 0;
  for (const auto& c : caches) bytes += c.train ? static_cast<double>(c.train->num_bytes()) : 0;
  return bytes;
}

// What a person sees of caches that training waits for.
class CacheLines {
 public:
  explicit CacheLines(track::Console& console) : console_(console) { console.begin("cache"); }

  data::CacheWatch watch() {
    return {.progress = [this](const data::CacheReport& report) { progress(report); },
            .waits = [this](const std::string&, const std::string& why) { waits(why); }};
  }

  void end(const data::StartedCaches& started) {
    const double seconds = monotonic_seconds() - started_;
    const auto text = describe_caches(started.caches);
    if (started.build)
      console_.fact("cache", "being built while training begins");
    else if (built_)
      console_.progress("cache", 1, 1, text, human_bytes(source_bytes(started.caches) / seconds) + "/s");
    else
      console_.fact("cache", text, seconds);
  }

 private:
  void progress(const data::CacheReport& report) {
    const auto& p = report.progress;
    if (p.checks) return check_progress(report);
    built_ = true;
    if (p.bytes_done >= p.bytes_total) return;
    const double seconds = std::max(monotonic_seconds() - started_, 1e-3);
    console_.progress(
        "cache", static_cast<double>(p.bytes_done), static_cast<double>(p.bytes_total),
        fmt::format("{} {} tokens", report.name, human_count(static_cast<double>(p.counts.tokens))),
        human_bytes(static_cast<double>(p.bytes_done) / seconds) + "/s");
  }

  void check_progress(const data::CacheReport& report) {
    constexpr double kSilence = 0.3;  // a shorter check is not worth a line
    const auto& p = report.progress;
    const double seconds = monotonic_seconds() - started_;
    if (seconds < kSilence || p.bytes_done >= p.bytes_total) return;
    console_.progress("cache", static_cast<double>(p.bytes_done), static_cast<double>(p.bytes_total),
                      fmt::format("{} comparing {} with its hashes", report.name,
                                  human_bytes(static_cast<double>(p.bytes_total))));
  }

  void waits(const std::string& why) {
    if (told_.insert(why).second) console_.fact("cache", "waiting for all of it: " + why);
  }

  track::Console& console_;
  double started_ = monotonic_seconds();
  bool built_ = false;
  std::set<std::string> told_;
};

data::StartedCaches build_caches(const data::DataConfig& config, const Tokenizer& tokenizer,
                                 track::Console& console, const TextTeam& team, Caches caches) {
  CacheLines lines(console);
  const auto text = std::make_shared<const data::TokenizerProcessor>(tokenizer, config.enforce_eos);
  data::StartedCaches started;
  if (caches == Caches::Growing)
    started = data::start_caches(config, text, team.threads, lines.watch(), team.caches);
  else
    started.caches = data::build_caches(config, *text, team.threads, lines.watch().progress, team.caches);
  lines.end(started);
  return started;
}

/// Whether the first million tokens of a cache have this one inside of a document.
bool is_inside_documents(const store::TokenCache& cache, std::int32_t id) {
  const auto tokens = cache.tokens(0, std::min<std::int64_t>(1 << 20, cache.num_tokens()));
  for (auto at = std::find(tokens.begin(), tokens.end(), id); at != tokens.end();
       at = std::find(at + 1, tokens.end(), id)) {
    const std::int64_t t = at - tokens.begin(), d = cache.document_at(t);
    if (d == cache.num_documents()) return true;
    if (cache.document_begin(d) != t && cache.document_end(d) != t + 1) return true;
  }
  return false;
}

/// Files of another program may hold many texts as one document.
void warn_of_joined_texts(const TextData& text) {
  const auto eos = text.tokenizer.eos_id();
  for (const auto& set : text.caches) {
    for (const auto& cache : {set.train, set.validation}) {
      if (!eos || !cache || !cache->ledger().sources.empty() || !is_inside_documents(*cache, *eos)) continue;
      log_warning(
          "data set {}: the documents of {} have end-of-text tokens (id {}) inside: positions attend from "
          "one "
          "text to the next\nhint: import the files again with --eos {}",
          set.name, cache->directory(), *eos, *eos);
    }
  }
}

}  // namespace

void require_training_data(const TextData& text) {
  if (text.datasets.train) return;
  fail(ErrorKind::Config, "data: there is nothing to train on\nhint: data.train_urls, or a positive weight");
}

void require_held_out(const LoadedConfig& loaded) {
  const auto& data = loaded.config.data;
  if (const auto others = data.untrainable_sources(); !others.empty())
    fail(ErrorKind::Config, "eval: {}: {}\nhint: bora cache and bora data inspect take them",
         others.front().key, others.front().message);
  for (const auto& [name, source] : data.sources()) {
    const auto* held_back = data::find(data.num_validation_sequences, name);
    if (source.id || !source.validation_urls.empty() || (held_back != nullptr && *held_back > 0) ||
        store::holds_imported_tokens(data.cache_directory(name, source, "validation")))
      return;
  }
  const auto name = data.sources().front().first;
  fail(
      ErrorKind::Config,
      "eval: {} holds nothing out to evaluate on: {}.validation_urls is empty, and data.num_validation_sequences is "
      "0 for every data set\nhint: --{}.validation_urls='[\"held-out.txt\"]', or "
      "--data.num_validation_sequences='{{{}: 64}}' as in training",
      loaded.first_file, data.configs.empty() ? "data" : "data.configs." + name,
      data.configs.empty() ? "data" : "data.configs." + name, name);
}

std::string describe_caches(const std::vector<data::SourceCaches>& caches) {
  double tokens = 0, of_text = 0, bytes = 0;
  for (const auto& c : caches) {
    if (!c.train) continue;
    const auto n = static_cast<double>(c.train->num_tokens());
    tokens += n;
    if (c.train->num_bytes() == 0) continue;  // imported ids: nobody knows what they stand for
    of_text += n;
    bytes += static_cast<double>(c.train->num_bytes());
  }
  const auto all = human_count(tokens) + " tokens";
  return of_text > 0 ? fmt::format("{} · {:.2f} bytes each", all, bytes / of_text) : all;
}

data::SequenceShape sequences_of(const nn::ModelShape& shape) {
  return {shape.seq_len, {shape.mel_bins, shape.frames}};
}

TextData prepare_text(const LmConfig& config, const RunPlace& place, const data::SequenceShape& shape,
                      track::Console& console, const std::optional<Tokenizer>& given, const TextTeam& team,
                      Caches caches) {
  const bool first = team.caches.worker == 0;
  if (!first) team.meet();  // what the first one fetches and trains, the others find
  auto resolved = find_files(config.data, console);
  TextData text{given ? *given : choose_tokenizer(resolved, place, console, caches == Caches::Growing, first),
                {},
                {},
                {}};
  if (const auto chats = data::configured_chat_template(resolved))
    text.tokenizer = text.tokenizer.with_chat_template(*chats);
  if (first && team.meet) team.meet();
  auto started = build_caches(resolved, text.tokenizer, console, team, caches);
  text.caches = std::move(started.caches);
  text.build = std::move(started.build);
  if (first && resolved.block_cross_document_attention) warn_of_joined_texts(text);
  const data::TokenRules rules{.ignore_token_id = static_cast<std::int32_t>(resolved.ignore_token_id)};
  auto seed = static_cast<std::uint64_t>(config.data_seed.value_or(config.trainer.seed));
  text.datasets =
      data::make_datasets(resolved, text.caches, shape, rules, config.trainer.batch_schedule(),
                          Key::from_seed(seed).fold("data"), first ? data::log_one_warning : no_warning);
  return text;
}

namespace {

// How many sequences are computed together. On a device no more than in training, since attention may keep their scores.
std::int64_t evaluated_together(const train::TrainerConfig& config, std::int64_t seq_len) {
  if (core::default_device() == core::Device()) return train::kEvalSequences;
  const auto batch = config.batch_schedule().batch_size(0);
  const auto lanes = config.lanes.value_or(train::resolve_lanes(batch, seq_len, 1));
  const auto of_a_lane =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(batch / lanes, 1, train::kEvalSequences));
  return static_cast<std::int64_t>(std::bit_floor(of_a_lane));
}

}  // namespace

std::vector<track::Metric> evaluate_sources(const nn::LanguageModel& model, const TextData& text,
                                            const LmConfig& config, track::Console& console,
                                            mesh::Communicator* workers) {
  train::GroupedEval groups;
  track::Table table{"eval", {"loss", "ppl", "bits/byte"}, {}};
  nn::LossOptions options{.compute = config.trainer.mp.compute, .chunk = config.cross_entropy_chunk};
  for (const auto& set : text.datasets.validation) {
    const auto together = evaluated_together(config.trainer, set.dataset->seq_len());
    const auto batches =
        config.trainer.max_eval_batches.value_or(1 << 30) * (train::kEvalSequences / together);
    auto r = train::evaluate(model, *set.dataset, together, batches, text.tokenizer.bytes_per_token(),
                             options, workers);
    if (!std::isfinite(r.loss_sum)) {
      fail(
          ErrorKind::NonFinite,
          "eval: the loss on {} is {}\nhint: the model's weights are damaged, or its training diverged; take "
          "an earlier checkpoint",
          set.name, std::isnan(r.loss()) ? "nan" : "infinite");
    }
    if (!r.has_loss() && (workers == nullptr || workers->rank() == 0))
      log_warning("eval: no token of {} counts: all loss weights are 0; its loss is not known", set.name);
    const auto shown = [](bool is_there, std::string text) { return is_there ? std::move(text) : "-"; };
    table.rows.push_back({set.name,
                          {shown(r.has_loss(), fmt::format("{:.3f}", r.loss())),
                           shown(r.has_loss(), fmt::format("{:.1f}", r.perplexity())),
                           shown(r.has_bytes(), fmt::format("{:.3f}", r.bits_per_byte()))}});
    groups.add(set.name, set.tags, r);
  }
  if (!table.rows.empty()) {
    console.settle();
    console.table(table);
  }
  return groups.metrics();
}

}  // namespace bora::run

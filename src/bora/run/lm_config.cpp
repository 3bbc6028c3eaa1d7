// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/lm_config.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/home_path.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/base/typed_config.h"
#include "bora/optim/schedule.h"
#include "bora/run/hub_name.h"
#include "bora/run/levanter_files.h"

namespace bora::run {

void ModelField::bind(Binder& b) {
  auto type = config->type();
  if (b.reading() && b.present("type")) type = b.text("type").value_or("");
  auto chosen = models::make_model_config(type);
  if (!chosen) {
    const auto& types = models::model_types();
    const auto names = types.names();
    const auto near = nearest(type, names);
    if (!near) return refuse_type(b, types.unknown(type));
    b.mark_used("type");
    refuse_near_type(b, types.unknown(type));
    config = models::make_model_config(*near);
    return config->bind(b);
  }
  if (b.reading()) config = std::move(chosen);
  b.field("type", type, "architecture: " + join(models::model_types().names(), " or "));
  config->bind(b);
}

void SampleConfig::bind(Binder& b) {
  b.field("prompts", prompts, "texts to continue at the end of the run");
  b.field("max_new_tokens", max_new_tokens, kSize, "tokens to add to each");
  b.field("temperature", temperature, kNonNegative, "0: always the most probable token");
}

namespace {

// false, true (a default model of the type, in Levanter), a directory or a name on the hub.
void bind_initialize_from_hf(Binder& b, std::string& value) {
  if (!b.reading())
    return b.field(
        "initialize_from_hf", value,
        "start from the weights of a Hugging Face directory, or of a model on its hub: owner/name[@revision]");
  auto text = b.text("initialize_from_hf");
  if (!text) return;
  b.mark_used("initialize_from_hf");
  if (b.present("model_name_or_path") && b.present("supervised_data")) return;  // bind_older_fine_tuning
  if (*text == "false" || *text == "False")
    value.clear();
  else if (*text == "true" || *text == "True")
    b.problem("initialize_from_hf", "name a Hugging Face directory or a model of its hub (owner/name)");
  else
    expand_home(b, "initialize_from_hf", value = *text);
}

// Told now, and not when a training has ended.
bool is_export_dtype(const std::string& name) {
  try {
    const auto dtype = core::parse_dtype(name);
    return dtype == core::DType::f32 || dtype == core::DType::bf16 || dtype == core::DType::f16;
  } catch (const Error&) {
    return false;
  }
}

void bind_lora(Binder& b, LmConfig& config) {
  b.field("lora", config.lora, "train low-rank adapters of the model alone; {}: with every default");
  bind_path(b, "peft_save_path", config.peft_save_path,
            "directory of adapter files for PEFT: <run>/step-N, every hf_save_steps and at the end");
  if (!b.reading()) return;
  const bool shorter = b.present("max_train_length") && !b.is_null("max_train_length");
  std::int64_t length = 1;  // of load_config's shorten_sequences
  b.field("max_train_length", length, kSize);
  // With adapters an export in the Hugging Face layout is the merged model; Levanter calls it so.
  std::optional<std::string> merged;
  bind_path(b, "merged_hf_save_path", merged);
  if (merged && config.hf_save_path && *merged != *config.hf_save_path)
    b.problem("merged_hf_save_path", "hf_save_path says the same; give one of them");
  if (merged) config.hf_save_path = merged;
  // Levanter's program for adapters has them without a key of theirs, and takes the sizes of what it adapts.
  if (config.peft_save_path && !config.initialize_from_hf.empty() && !b.present("lora"))
    config.lora.emplace();
  if (config.lora && !config.initialize_from_hf.empty() && !b.present("model"))
    config.use_hf_model_config = true;
  if (config.lora) {
    if (config.initialize_from_hf.empty() && !config.checkpoint_to_start_from()) {
      b.problem("lora",
                "needs a model to adapt: initialize_from_hf, or trainer.initialize_from (a run of "
                "Bora's)");
    }
    if (!b.present("hf_save_steps")) config.hf_save_steps = 1000;
    return;
  }
  if (config.peft_save_path) b.problem("peft_save_path", "needs lora; lora: {} has every default");
  if (merged) b.problem("merged_hf_save_path", "needs lora; without it: hf_save_path");
  if (shorter)
    b.problem("max_train_length", "needs lora; without it: model.seq_len, the length of sequences");
}

}  // namespace

void LmConfig::bind(Binder& b) {
  b.field("data", data, "what to train on");
  b.field("model", model, "the architecture");
  b.field("trainer", trainer, "the training run");
  b.field("optimizer", optimizer, "optimizer and learning-rate schedule");
  bind_initialize_from_hf(b, initialize_from_hf);
  b.field("use_hf_model_config", use_hf_model_config, "take the model's sizes from initialize_from_hf");
  if (b.reading() && use_hf_model_config && initialize_from_hf.empty())
    b.problem("use_hf_model_config", "needs initialize_from_hf: a local Hugging Face directory");
  bind_path(b, "initialize_from_checkpoint_path", initialize_from_checkpoint_path,
            "start from a checkpoint's weights, at step 0");
  b.field("z_loss_weight", z_loss_weight, kNonNegative, "weight of logsumexp² in the loss");
  bind_path(
      b, "hf_save_path", hf_save_path,
      "directory of Hugging Face exports: <run>/step-N, every hf_save_steps and at the end; with lora the merged model "
      "(also: merged_hf_save_path)");
  b.field("hf_save_steps", hf_save_steps, at_least(1), "steps between exports; with lora 1000");
  b.field("hf_save_dtype", hf_save_dtype, "f32, bf16 or f16");
  if (b.reading() && !is_export_dtype(hf_save_dtype))
    b.problem("hf_save_dtype", "must be f32, bf16 or f16: what exports are stored in");
  bind_older_fine_tuning(b, *this);
  bind_lora(b, *this);
  b.field("hf_export", hf_export, "write <run>/hf at the end");
  b.field("data_seed", data_seed, kSeed, "seed of the data order; default trainer.seed");
  b.field("epoch", epoch, from_to(0, 0x7FFFFFFF),
          "> 0: data.max_epochs, passes over each data set at most; 0: as many as the steps need");
  b.field(
      "cross_entropy_chunk", cross_entropy_chunk, kSize,
      "positions of the head at a time; part of the bits of a run. null: 1,024, on a GPU as many as have scores of "
      "1 GiB, from 1,024 to 8,192");
  b.field("sample", sample, "texts to continue at the end");
  for (const char* upload : {"hf_upload", "peft_hf_upload", "merged_hf_upload"})
    b.ignored(upload, "exports stay local; upload the directory with your own tools");
  b.ignored("eval_harness", "task evaluation is not built yet");
  b.ignored("eval_harness_steps", "task evaluation is not built yet");
  b.ignored("log_entropy", "not built yet");
  if (!b.reading()) return;
  for (const auto& p : optim::schedule_problems(*optimizer.config, trainer.num_train_steps))
    b.problem("optimizer." + p.key, p.message);
  for (const auto& p : size_problems(*this)) b.problem(p.key, p.message);
}

std::vector<ConfigProblem> size_problems(const LmConfig& config) {
  std::vector<ConfigProblem> out;
  const auto& t = config.trainer;
  const auto schedule = t.batch_schedule();
  const auto seq_len = config.model.config->seq_len();
  const auto lanes = t.lanes.value_or(train::resolve_lanes(schedule.batch_size(0), seq_len, 1));
  const double of_lane =
      static_cast<double>(schedule.largest()) / static_cast<double>(lanes) * static_cast<double>(seq_len);
  if (of_lane > kSize.most) {  // the rows of a matrix product
    out.push_back(
        {"", "trainer.train_batch_size",
         fmt::format("times model.seq_len = {} in {} lane{} makes {:.3g} tokens in each; at most {:.0f} "
                     "can be computed together",
                     seq_len, lanes, lanes == 1 ? "" : "s", of_lane, kSize.most)});
  }
  const double in_all =
      static_cast<double>(schedule.offset(t.num_train_steps)) * static_cast<double>(seq_len);
  if (in_all >= 0x1p63) {
    out.push_back(
        {"", "trainer.num_train_steps",
         fmt::format("times trainer.train_batch_size = {} and model.seq_len = {} makes {:.3g} tokens; "
                     "at most {:.3g} can be counted",
                     schedule.largest(), seq_len, in_all, 0x1p63)});
  }
  return out;
}

const std::optional<std::string>& LmConfig::checkpoint_to_start_from() const {
  return initialize_from_checkpoint_path ? initialize_from_checkpoint_path : trainer.initialize_from;
}

std::string model_to_start_from(const LmConfig& config) {
  if (!config.initialize_from_hf.empty()) return config.initialize_from_hf;
  const auto& from = config.checkpoint_to_start_from();
  if (!from) return "";
  return exists(path_join(*from, "state.json")) ? parent_path(*from) : *from;  // a checkpoint, or its run
}

LmConfig training_part(const LmConfig& config) {
  const LmConfig fresh;
  auto part = older_training_part(config);
  auto& t = part.trainer;
  t.num_train_steps = fresh.trainer.num_train_steps;
  t.steps_per_eval = fresh.trainer.steps_per_eval;
  t.max_eval_batches = fresh.trainer.max_eval_batches;
  const auto forget_evaluation = [](data::SourceConfig& source) {
    source.validation_urls.clear();
    source.validation_split.reset();
    source.tags.clear();
  };
  forget_evaluation(part.data.single);
  for (auto& [name, source] : part.data.configs) forget_evaluation(source);
  return part;
}

LmConfig older_training_part(const LmConfig& config) {
  const LmConfig fresh;
  auto part = config;
  auto& t = part.trainer;
  t.id = fresh.trainer.id;
  t.tracker = fresh.trainer.tracker;
  t.wandb = fresh.trainer.wandb;
  t.checkpointer = fresh.trainer.checkpointer;
  t.load_checkpoint = fresh.trainer.load_checkpoint;
  t.profiler = fresh.trainer.profiler;
  t.crash_on_nan = fresh.trainer.crash_on_nan;
  t.crash_on_inf = fresh.trainer.crash_on_inf;
  t.stop_at_step = fresh.trainer.stop_at_step;
  t.device = fresh.trainer.device;
  t.cuda_graphs = fresh.trainer.cuda_graphs;
  t.threads = fresh.trainer.threads;
  t.worker_timeout = fresh.trainer.worker_timeout;
  t.check_replicas_every = fresh.trainer.check_replicas_every;
  t.peak_flops = fresh.trainer.peak_flops;
  t.fsdp_axis = fresh.trainer.fsdp_axis;
  t.mesh = fresh.trainer.mesh;
  part.hf_save_path = fresh.hf_save_path;
  part.peft_save_path = fresh.peft_save_path;
  part.hf_save_steps = fresh.hf_save_steps;
  part.hf_save_dtype = fresh.hf_save_dtype;
  part.hf_export = fresh.hf_export;
  part.sample = fresh.sample;
  part.data.cache_dir = fresh.data.cache_dir;
  part.data.max_download = fresh.data.max_download;
  part.data.allow_private_addresses = fresh.data.allow_private_addresses;
  part.data.single.cache_dir.reset();
  for (auto& [name, source] : part.data.configs) source.cache_dir.reset();
  return part;
}

namespace {

// "my.yaml" of "my.yaml:7".
std::string file_of(const std::string& place) { return place.substr(0, place.rfind(':')); }

// data.train_urls beside data.configs: the user's own files take the place of a recipe's sources.
void prefer_own_files(LoadedConfig& loaded, std::vector<ConfigProblem>& problems) {
  auto& data = loaded.config.data;
  if (data.configs.empty() || data.single.train_urls.empty()) return;
  const auto mine = loaded.tree.where("data.train_urls"), theirs = loaded.tree.where("data.configs");
  if (file_of(mine) == file_of(theirs))
    problems.push_back(
        {mine, "data.train_urls",
         fmt::format("is beside data.configs ({}) in one file; put the files into one of its data "
                     "sets, or leave out data.configs",
                     theirs)});
  const auto name = data.single_name();
  std::vector<std::string> replaced;
  for (const auto& [other, source] : data.configs) replaced.push_back(other);
  const auto only = [&](auto& values) {
    std::erase_if(values, [&](const auto& v) { return v.first != name; });
  };
  std::int64_t held_back = 0;
  for (const auto& [other, n] : data.num_validation_sequences) held_back = std::max(held_back, n);
  only(data.num_validation_sequences);
  only(data.max_train_batches);
  data.configs.clear();
  data.train_weights.clear();
  data.cache_dir += "-own";
  std::string evaluated;
  if (data.num_validation_sequences.empty() && data.single.validation_urls.empty() && held_back > 0) {
    data.num_validation_sequences = {{name, std::max<std::int64_t>(1, held_back / 8)}};
    evaluated = fmt::format(
        "; {} of their sequences are held back (data.num_validation_sequences={{{}: N}} for others)",
        data.num_validation_sequences.front().second, name);
  }
  loaded.warnings.push_back(
      fmt::format("data.train_urls takes the place of data.configs ({}), with tokens in {}{}", join(replaced),
                  data.cache_dir, evaluated));
}

}  // namespace

std::string cache_folder_of(const data::DataConfig& data) {
  data::DataConfig tokens;
  tokens.tokenizer = data.tokenizer;
  tokens.train_tokenizer = data.train_tokenizer;
  tokens.enforce_eos = data.enforce_eos;
  tokens.chat_template = data.chat_template;
  for (const auto& [name, source] : data.sources()) {
    data::SourceConfig decides;
    decides.format = source.format;
    if (data.train_tokenizer) decides.train_urls = source.urls(store::Split::Train);
    tokens.configs.emplace_back(name, std::move(decides));
  }
  auto word = data.train_tokenizer
                  ? fmt::format("{}-{}", data.train_tokenizer->kind, data.train_tokenizer->vocab_size)
                  : base_name(data.tokenizer);
  std::erase_if(word, [](char c) { return c == '/' || c == ' ' || static_cast<unsigned char>(c) < 0x20; });
  // A key that came after folders were first named: those from before are found.
  auto decides = config_identity(tokens);
  constexpr std::string_view kLater = "spec_augment: null\n";
  if (const auto at = decides.find(kLater); at != decides.npos) decides.erase(at, kLater.size());
  return path_join("cache", fmt::format("{}-{}", word, hash128(decides).hex().substr(0, 8)));
}

namespace {

// A model that hears has records of speech where the configuration does not say what they are.
void hear_records(const ConfigTree& tree, LmConfig& config, std::vector<ConfigProblem>& problems) {
  const bool hears = config.model.config->shape(1).hears();
  const auto settle = [&](const std::string& key, data::SourceConfig& source) {
    const bool given = tree.scalar(key + ".type").has_value();
    if (hears && !given && source.format.type == data::FormatChoice().type)
      source.format = data::FormatChoice("speech");
    if (hears == !source.format->sound_key().empty()) return;
    problems.push_back({tree.where(key), key + ".type",
                        hears
                            ? fmt::format("{}, but a model of type {} hears sound; format: {{type: speech}}",
                                          source.format.type, config.model.config->type())
                            : "speech is for models that hear sound; model.type: whisper"});
  };
  if (config.data.configs.empty()) settle("data.format", config.data.single);
  for (auto& [name, source] : config.data.configs) settle("data.configs." + name + ".format", source);
  if (hears && !config.sample.prompts.empty())
    problems.push_back({tree.where("sample.prompts"), "sample.prompts",
                        "a model of speech writes what it hears and continues no text; leave it out"});
  if (!hears && config.data.spec_augment)
    problems.push_back({tree.where("data.spec_augment"), "data.spec_augment",
                        "is for models that hear sound; model.type: whisper"});
}

}  // namespace

std::string resolved_text(const LmConfig& config) {
  auto copy = config;
  auto text = write_config(copy);
  if (!config.data.train_tokenizer) return text;
  ConfigTree tree;
  tree.merge_text(text, "the configuration");
  tree.override_value("data.tokenizer", "null");
  return tree.yaml();
}

namespace {

// The record of a run: it holds what the start made of the configuration.
bool is_record(const std::string& path) {
  return base_name(path) == "config.yaml" && exists(path_join(parent_path(path), "run.json"));
}

// The default said aloud is one tokenizer too many, too. (Records of runs had it beside the one that is trained.)
void refuse_two_tokenizers(const ConfigTree& tree, const std::vector<std::string>& paths,
                           const LmConfig& config, std::vector<ConfigProblem>& problems) {
  if (!config.data.train_tokenizer || tree.scalar("data.tokenizer") != data::DataConfig().tokenizer) return;
  if (std::any_of(paths.begin(), paths.end(), is_record)) return;
  problems.push_back(
      {tree.where("data.tokenizer"), "data.train_tokenizer",
       fmt::format("is given beside tokenizer: {}; leave out one of them (--data.train_tokenizer=null, "
                   "--data.tokenizer=null)",
                   config.data.tokenizer)});
}

// Levanter's key and Bora's own for the same. (Runs of before were recorded with one that had won.)
void settle_epochs(const ConfigTree& tree, const std::vector<std::string>& paths, LmConfig& config,
                   std::vector<ConfigProblem>& problems) {
  auto& most = config.data.max_epochs;
  if (config.epoch == 0 || most == config.epoch) return;
  if (!most) {
    most = config.epoch;
    return;
  }
  const auto is_said_now = [&](const char* key) { return tree.where(key).starts_with("--"); };
  if (std::any_of(paths.begin(), paths.end(), is_record) && !is_said_now("epoch") &&
      !is_said_now("data.max_epochs"))
    return;
  problems.push_back({tree.where("epoch"), fmt::format("epoch = {}", config.epoch),
                      fmt::format("says the same as data.max_epochs, which is {}; leave out one of them "
                                  "(--epoch=null, --data.max_epochs=null), or give both the same value",
                                  *most)});
}

}  // namespace

LoadedConfig load_config(const std::vector<std::string>& paths,
                         const std::vector<std::pair<std::string, std::string>>& overrides,
                         WrongConfig wrong) {
  LoadedConfig out;
  for (const auto& path : paths) {
    if (!exists(path) && path.find(".y") == path.npos && is_on_hub(path))
      fail(
          ErrorKind::Config,
          "{0}: there is no such file, and the name is that of a model on the hub\nhint: a configuration says how "
          "to train it: bora train CONFIG --initialize_from_hf={0}",
          path);
    out.tree.merge_file(path);
  }
  for (const auto& [key, value] : overrides) out.tree.override_value(key, value);
  out.first_file = paths.empty() ? "the command line" : paths.front();
  for (const auto& path : paths) out.command += (out.command.empty() ? "" : " ") + shell_word(path);
  for (const auto& [key, value] : overrides)
    out.command += " " + shell_word(fmt::format("--{}={}", key, value));
  out.name = paths.empty() ? "train" : base_name(paths.front());
  out.name = out.name.substr(0, out.name.find('.'));
  auto problems = read_config(out.tree, out.config);
  refuse_two_tokenizers(out.tree, paths, out.config, problems);
  prefer_own_files(out, problems);
  if (problems.empty()) hear_records(out.tree, out.config, problems);
  if (out.tree.scalar("data.cache_dir").value_or("").empty())
    out.config.data.cache_dir = cache_folder_of(out.config.data);
  if (out.config.lora && !out.config.use_hf_model_config) shorten_sequences(out.tree, out.config, problems);
  settle_epochs(out.tree, paths, out.config, problems);
  if (problems.empty()) return out;
  if (paths.size() == 1) explain_other_file(paths.front(), problems);
  if (wrong == WrongConfig::Recorded) {
    out.problems = std::move(problems);
    out.is_incomplete = true;
    return out;
  }
  throw Error(ErrorKind::Config, format_problems(out.first_file, problems));
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/levanter_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bora/base/config_node.h"
#include "bora/base/error.h"
#include "bora/base/home_path.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/data/formats.h"
#include "bora/data/mixture.h"
#include "bora/data/shuffle.h"

namespace bora::run {
namespace {

struct FineTuningSource : data::SourceConfig {
  std::string input_field = "prompt", output_field = "response";
  void bind(Binder& b) {
    SourceConfig::bind(b);
    b.field("input_field", input_field);
    b.field("output_field", output_field);
  }
};

struct FineTuning {
  std::string dataset_type = "chat_jsonl", messages_field = "messages";
  data::ByName<FineTuningSource> sources;

  data::FormatChoice format_of(const FineTuningSource& source) const {
    if (dataset_type == "chat_jsonl") {
      data::ChatFormat chat;
      chat.messages_field = messages_field;
      return {"chat", chat};
    }
    data::SupervisedFormat pairs;
    pairs.input_field = source.input_field;
    pairs.output_field = source.output_field;
    return {"supervised", pairs};
  }
};

// One data set, or several by name.
void bind_sources(Binder& b, data::ByName<FineTuningSource>& sources) {
  bool is_single = false;
  if (b.is_map("supervised_data") && b.enter("supervised_data")) {
    for (const auto& key : b.keys()) is_single = is_single || key == "train_urls" || key == "id";
    b.leave();
  }
  if (!is_single) return b.field("supervised_data", sources);
  sources = {{"data", {}}};
  b.field("supervised_data", sources.front().second);
}

// Who speaks is the chat template's matter, and so is whose words are trained.
void bind_roles(Binder& b) {
  for (const auto& [key, usual] : {std::pair("input_role", "user"), std::pair("output_role", "assistant")}) {
    std::string role = usual;
    b.field(key, role);
    if (role != usual)
      b.problem(key, fmt::format("must be {}: the chat template decides by roles what is trained", usual));
  }
}

void bind_weights(Binder& b, LmConfig& config) {
  if (!b.present("mixture_weights")) return;
  data::ByName<double> weights;
  b.field("mixture_weights", weights, from_to(0, 1e15));
  for (const auto& [name, weight] : weights) {
    const auto is_it = [&, &wanted = name](const auto& source) { return source.first == wanted; };
    if (std::none_of(config.data.configs.begin(), config.data.configs.end(), is_it))
      b.problem("mixture_weights", fmt::format("there is no data set {} in supervised_data", name));
  }
  config.data.train_weights = {{0, std::move(weights)}};
}

void bind_length(Binder& b, LmConfig& config) {
  auto length = config.model.config->seq_len();
  const bool is_given = b.present("max_seq_len");
  b.field("max_seq_len", length, kSize);
  if (is_given && b.sound({"max_seq_len"}) && length != config.model.config->seq_len()) {
    b.problem(
        "max_seq_len",
        fmt::format("and model.seq_len = {} differ: sequences are as long as model.seq_len says; give the "
                    "same length in both",
                    config.model.config->seq_len()));
  }
}

// Keys of a `true`, which the type's own default model is called by elsewhere.
void bind_start(Binder& b, LmConfig& config) {
  if (!b.present("model_name_or_path")) return;
  std::string name;
  bind_path(b, "model_name_or_path", name);
  const auto wanted = ascii_lower(b.text("initialize_from_hf").value_or("false"));
  if (wanted == "true") config.initialize_from_hf = name;
}

void bind_new_tokens(Binder& b) {
  if (!b.present("reinit_tokens")) return;
  b.mark_used("reinit_tokens");
  const auto text = b.text("reinit_tokens");
  const bool none = b.is_null("reinit_tokens") || (text && ascii_lower(*text) == "false");
  if (!none) b.problem("reinit_tokens", "new embeddings for some tokens are not built yet; leave it out");
  for (const char* key : {"reinit_lm_head", "reinit_embeddings"}) b.mark_used(key);
}

bool has_unknown_top(const std::vector<ConfigProblem>& problems, std::string_view key) {
  return std::any_of(problems.begin(), problems.end(), [&](const ConfigProblem& p) {
    return p.key == key && p.message.starts_with("unknown key");
  });
}

// ---- parts ----

struct Part {
  std::string block;
  std::vector<ConfigProblem> problems;
  std::size_t misfit = 0;
};

template <class Section>
void try_part(const ConfigTree& tree, std::string block, std::optional<Part>& best) {
  Section section;
  auto problems = read_config(tree, section);
  for (const auto& key : tree.root().children)
    if (has_unknown_top(problems, key.key)) return;
  // Of two blocks that have a type, the one that knows this one.
  auto misfit = problems.size();
  for (const auto& problem : problems)
    if (problem.key.starts_with("type = ")) misfit += 1'000'000;
  if (best && best->misfit <= misfit) return;
  for (auto& problem : problems) problem.key = block + "." + problem.key;
  best = Part{std::move(block), std::move(problems), misfit};
}

void explain_part(const std::string& path, const ConfigTree& tree) {
  std::optional<Part> part;
  try_part<data::DataConfig>(tree, "data", part);
  try_part<train::TrainerConfig>(tree, "trainer", part);
  try_part<optim::OptimizerChoice>(tree, "optimizer", part);
  try_part<ModelField>(tree, "model", part);
  if (!part) return;
  const auto rest = part->block == "data" ? "model and trainer" : "data, model and trainer";
  const auto hint = fmt::format("{}: !include {}, in a file that has {} too", part->block, path, rest);
  const auto about =
      fmt::format("{} is a part of a configuration: its keys are those of the block {}", path, part->block);
  if (part->problems.empty())
    fail(ErrorKind::Config, "{}, and all are understood; nothing was started\nhint: {}", about, hint);
  fail(ErrorKind::Config, "{}\n{}\nhint: {}", about, format_problems(path, part->problems), hint);
}

// ---- other programs ----

std::string first_text(const ConfigTree& tree, std::initializer_list<const char*> keys,
                       std::string otherwise) {
  for (const char* key : keys)
    if (const auto text = tree.scalar(key); text && !text->empty()) return shell_word(*text);
  return otherwise;
}

std::string model_of(const ConfigTree& tree) {
  return first_text(tree, {"hf_checkpoint", "checkpoint_path", "checkpoint.path"}, "MODEL");
}

std::string generate_words(const ConfigTree& tree, const std::string&) {
  auto out = "bora generate " + model_of(tree);
  out += " " + first_text(tree, {"prompts.0", "prompts", "prompt"}, "'Once upon a time'");
  for (const char* key : {"max_new_tokens", "temperature", "seed"})
    if (const auto value = tree.scalar(key)) out += fmt::format(" --{} {}", key, shell_word(*value));
  return out;
}
std::string export_words(const ConfigTree& tree, const std::string&) {
  return fmt::format("bora export {} {}", model_of(tree), first_text(tree, {"output_dir"}, "DIRECTORY"));
}
std::string import_words(const ConfigTree& tree, const std::string&) {
  return fmt::format("bora import {} {}", model_of(tree), first_text(tree, {"output_path"}, "DIRECTORY"));
}
std::string eval_words(const ConfigTree& tree, const std::string& path) {
  return fmt::format("bora eval {} --model {}", shell_word(path), model_of(tree));
}
std::string harness_words(const ConfigTree&, const std::string&) {
  return "its tasks are not built yet; bora eval gives the loss of a model on texts of yours, and bora export a "
         "directory that lm-eval reads";
}
std::string probabilities_words(const ConfigTree& tree, const std::string&) {
  return fmt::format("bora forward {} --ids FILE gives the logits of texts", model_of(tree));
}

struct Program {
  std::string_view name;
  std::vector<std::string_view> signs;  ///< keys at the top that a training has not, all of them
  std::string (*words)(const ConfigTree&, const std::string& path);
};

std::span<const Program> programs() {
  static const std::array<Program, 10> all = {
      Program{"export_lm_to_hf", {"output_dir", "checkpoint_path"}, export_words},
      Program{"export_hf_to_lm", {"hf_checkpoint", "output_path"}, import_words},
      Program{"sample_lm", {"prompts"}, generate_words},
      Program{"sample_lm", {"engine"}, generate_words},
      Program{"inference_repl", {"hf_checkpoint", "service"}, generate_words},
      Program{"viz_logprobs", {"num_docs"}, probabilities_words},
      Program{"viz_logprobs", {"comparison_model_path"}, probabilities_words},
      Program{"eval_harness", {"tokenizer"}, harness_words},
      Program{"eval_lm", {"hf_checkpoint"}, eval_words},
      Program{"eval_lm", {"checkpoint_path"}, eval_words}};
  return all;
}

// A training's file with a key in the wrong place is still a training's.
const Program* program_of(const ConfigTree& tree, const std::vector<ConfigProblem>& problems) {
  if (tree.has("optimizer")) return nullptr;
  for (const auto& program : programs()) {
    const bool reads_data = program.words == eval_words || program.words == probabilities_words;
    if (tree.has("data") && !reads_data) continue;
    if (program.words == harness_words && !tree.has("eval_harness")) continue;
    if (std::all_of(program.signs.begin(), program.signs.end(),
                    [&](std::string_view sign) { return has_unknown_top(problems, sign); }))
      return &program;
  }
  return nullptr;
}

// What it shares with a training is checked all the same.
void explain_program(const std::string& path, const ConfigTree& tree, std::vector<ConfigProblem> problems) {
  const auto* program = program_of(tree, problems);
  if (program == nullptr) return;
  std::erase_if(problems, [](const ConfigProblem& p) {
    return p.key.find('.') == std::string::npos && p.message.starts_with("unknown key");
  });
  const auto about =
      fmt::format("{} is a configuration of Levanter's {}, not of a training", path, program->name);
  const auto hint = program->words(tree, path);
  if (problems.empty()) fail(ErrorKind::Config, "{}; nothing was started\nhint: {}", about, hint);
  fail(ErrorKind::Config, "{}\n{}\nhint: {}", about, format_problems(path, problems), hint);
}

}  // namespace

void bind_older_fine_tuning(Binder& b, LmConfig& config) {
  if (!b.reading()) return;
  const bool is_one = b.present("supervised_data") || b.present("dataset_type") || b.present("max_seq_len");
  if (!is_one) return;
  if (b.present("data")) {
    b.problem("supervised_data", "and data are two ways to say the same; give one of them");
    for (const char* key :
         {"supervised_data", "dataset_type", "max_seq_len", "messages_field", "input_role", "output_role",
          "mixture_weights", "mixture_block_size", "stop_strategy", "tokenizer", "model_name_or_path",
          "reinit_tokens", "reinit_lm_head", "reinit_embeddings"})
      if (b.present(key)) b.mark_used(key);
    return;
  }
  FineTuning tuning;
  b.choice("dataset_type", tuning.dataset_type, {"chat_jsonl", "hf"});
  b.field("messages_field", tuning.messages_field);
  bind_roles(b);
  bind_sources(b, tuning.sources);
  for (auto& [name, source] : tuning.sources) {
    source.format = tuning.format_of(source);
    config.data.configs.emplace_back(name, std::move(source));
  }
  bind_weights(b, config);
  config.data.shuffle = {"full", data::FullShuffle()};  // as that program does, whatever the file says
  b.field("mixture_block_size", config.data.mixture_block_size, from_to(1, 65535));
  b.choice("stop_strategy", config.data.stop_strategy, data::stop_strategy_names());
  bind_path(b, "tokenizer", config.data.tokenizer);
  bind_length(b, config);
  bind_start(b, config);
  bind_new_tokens(b);
}

std::string key_as_written(const ConfigTree& tree, const std::string& key) {
  if (tree.has(key) || !tree.has("supervised_data")) return key;
  if (key == "data.tokenizer") return tree.has("tokenizer") ? "tokenizer" : key;
  constexpr std::string_view kSets = "data.configs.", kOnly = "data.configs.data.";
  for (const auto before : {kSets, kOnly}) {
    if (!key.starts_with(before)) continue;
    auto name = "supervised_data." + key.substr(before.size());
    if (tree.has(name)) return name;
  }
  return key;
}

void shorten_sequences(const ConfigTree& tree, LmConfig& config, std::vector<ConfigProblem>& problems) {
  const auto length = parse_int(tree.scalar("max_train_length").value_or(""));
  if (!length) return;
  auto& model = *config.model.config;
  const auto problem = [&](const std::string& words) {
    problems.push_back(
        {tree.where("max_train_length"), fmt::format("max_train_length = {}", *length), words});
  };
  if (*length > model.seq_len())
    return problem(fmt::format("is longer than the model's sequences of {}", model.seq_len()));
  if (*length == model.seq_len()) return;
  if (model.shape(0).learned_positions)
    return problem(
        fmt::format("a model of type {} learns its {} positions one by one, so its sequences cannot be "
                    "shorter; leave it out",
                    model.type(), model.seq_len()));
  ConfigTree shorter;
  shorter.override_value("seq_len", std::to_string(*length));
  (void)read_config(shorter, model);
}

void explain_other_file(const std::string& path, const std::vector<ConfigProblem>& problems) {
  ConfigTree tree;
  tree.merge_file(path);
  const auto& keys = tree.root().children;
  if (tree.root().kind != ConfigTree::Node::Kind::Map || keys.empty()) return;
  explain_program(path, tree, problems);
  if (std::all_of(keys.begin(), keys.end(),
                  [&](const auto& key) { return has_unknown_top(problems, key.key); }))
    explain_part(path, tree);
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a run would do, said before it costs anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finished dry_run(const std::string& folder, std::vector<std::string> more = {},
                 const std::string& config = "config.yaml") {
  std::vector<std::string> arguments = {"train", config, "--dry_run"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(folder, arguments);
}

// "1.49 GB" -> 1.49e9.
double bytes_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  std::string unit(trim(end).substr(0, 2));
  return value * (unit.starts_with("GB")   ? 1e9
                  : unit.starts_with("MB") ? 1e6
                  : unit.starts_with("kB") ? 1e3
                                           : 1);
}

struct Memory {
  double training, peak;
};
// Of the line "memory  about A, B with the copy ...".
Memory memory_of(const std::string& output) {
  auto about = output.find("about ", output.find("memory "));
  if (about == std::string::npos) return {0, 0};
  auto line = output.substr(about + 6, output.find('\n', about) - about);
  return {bytes_of(line), bytes_of(line.substr(line.find(", ") + 2))};
}

void expect_within(double ours, double measured, const std::string& what) {
  EXPECT_GT(ours, 0.7 * measured) << what;
  EXPECT_LT(ours, 1.3 * measured) << what;
}

TEST(DryRun, TellsAllAndWritesNothing) {
  auto folder = small_project("dry_run");
  auto before = files().list(folder);
  const std::vector<std::string> more = {"--hf_export=true", "--hf_save_path=exports"};
  auto done = dry_run(folder, more);
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, Not(HasSubstr("weight_decay: 0.1"))) << "that is --print_config";
  EXPECT_THAT(done.output, AllOf(HasSubstr("one 1 file, "), HasSubstr("tokens to be made"),
                                 HasSubstr("300 pieces, to be trained"), HasSubstr("this machine has "),
                                 HasSubstr(" free at "), HasSubstr("checkpoints 40 × 433 kB")));
  // 300·32 + 32·32 + 2·(12·32² + 13·32) + 2·32 parameters, 3 fp32 values each in a checkpoint.
  EXPECT_THAT(done.output, HasSubstr("gpt2 · 36.1 k parameters"));
  EXPECT_THAT(done.output, HasSubstr("256 per step · 10.2 k in 40 steps"));
  EXPECT_THAT(done.output, AllOf(HasSubstr("memory "), HasSubstr("gradients "), HasSubstr("optimizer "),
                                 HasSubstr("activations "), HasSubstr("process ")));
  EXPECT_THAT(done.output, HasSubstr("runs/run · 433 kB per checkpoint"));
  EXPECT_THAT(done.output, HasSubstr("cache · tokens of the data"));
  EXPECT_THAT(done.output, HasSubstr("runs/run/hf · Hugging Face export"));
  EXPECT_THAT(done.output,
              HasSubstr("exports/run · a Hugging Face export every 10,000 steps and at the end"));
  EXPECT_THAT(done.output, HasSubstr("nothing was started"));
  auto after = files().list(folder);
  std::erase(after, "output.txt");  // this test's own
  EXPECT_EQ(after, before);
}

// The resolved configuration, defaults and overrides with the rest: alone to be kept, or below the summary.
TEST(DryRun, TheResolvedConfigurationWhereItIsWished) {
  auto folder = small_project("dry_run_print");
  const auto alone = run(folder, {"train", "config.yaml", "--print_config", "--hf_export=true"});
  EXPECT_EQ(alone.code, 0) << alone.output;
  for (const char* words :
       {"hidden_dim: 32", "weight_decay: 0.1", "mixture_block_size: 16", "hf_export: true"})
    EXPECT_THAT(alone.output, HasSubstr(words));
  write_atomically(folder + "/resolved.yaml", alone.output);
  EXPECT_EQ(run(folder, {"train", "resolved.yaml", "--print_config"}).output, alone.output);
  const auto both = dry_run(folder, {"--print_config"});
  EXPECT_EQ(both.code, 0) << both.output;
  EXPECT_LT(both.output.find("parameters"), both.output.find("weight_decay: 0.1"));
  EXPECT_FALSE(exists(folder + "/runs"));
}

// Every line is an object whose fact has a name, and the last one before an error has it all as numbers.
std::vector<Json> objects_of(const std::string& output) {
  std::vector<Json> out;
  for (const auto& line : split(output, '\n'))
    if (line.starts_with('{')) out.push_back(Json::parse(line));
  return out;
}

TEST(DryRun, TellsProgramsItsNumbers) {
  const auto folder = small_project("dry_run_json");
  const auto good = objects_of(dry_run(folder, {"--json"}).output);
  const auto numbers =
      std::find_if(good.begin(), good.end(), [](const Json& o) { return o["event"] == "preflight"; });
  ASSERT_NE(numbers, good.end());
  EXPECT_TRUE((*numbers)["ok"]);
  EXPECT_GT((*numbers)["parameters"].get<double>(), 1000);
  EXPECT_GT((*numbers)["memory"]["parameters"].get<double>(), 1000);
  EXPECT_EQ((*numbers)["data"].size(), 2U);
  EXPECT_EQ((*numbers)["data"][0]["files"], 1);
  EXPECT_FALSE((*numbers)["disk"].empty());
  for (const auto& object : good) EXPECT_NE(object.value("name", "-"), "") << object;
  const auto wrong =
      dry_run(folder, {"--json", "--trainer.seedd=1", "--data.configs.one.train_urls=[none.txt]"});
  EXPECT_EQ(wrong.code, 2) << wrong.output;
  const auto last = objects_of(wrong.output).back();
  EXPECT_FALSE(last["ok"]);
  ASSERT_EQ(last["problems"].size(), 2U) << last;
  EXPECT_EQ(last["problems"][0]["key"], "trainer.seedd");
  EXPECT_EQ(last["problems"][0]["where"], "--trainer.seedd");
}

TEST(DryRun, AMistakeIsAMistake) {
  auto folder = small_project("dry_run_mistake");
  auto done = dry_run(folder, {"--model.num_heads=5"});
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("num_heads"), HasSubstr("nothing was started")));
}

TEST(DryRun, VocabularyOfTheTokenizerOrASaidGuess) {
  auto folder = small_project("dry_run_vocabulary");
  ASSERT_EQ(run(folder, {"train-tokenizer", "one.txt", "--vocab_size", "280", "--out", "words"}).code, 0);
  auto with = dry_run(folder, {"--data.train_tokenizer=null", "--data.tokenizer=words"});
  EXPECT_EQ(with.code, 0) << with.output;
  EXPECT_THAT(with.output, AllOf(HasSubstr("35.5 k parameters"), Not(HasSubstr("assumed"))));
  auto without = dry_run(folder, {"--data.train_tokenizer=null", "--data.tokenizer=gpt2"});
  EXPECT_EQ(without.code, 2) << without.output;
  EXPECT_THAT(without.output, HasSubstr("vocabulary of 50,257 assumed: gpt2 is not here"));
}

TEST(DryRun, MissingDataIsTold) {
  auto folder = small_project("dry_run_missing");
  auto done = dry_run(folder, {"--data.configs.one.train_urls=[\"hdfs://bucket/one.jsonl\"]"});
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("config.yaml has 1 problem; nothing was started."),
                                 HasSubstr("data.configs.one.train_urls"),
                                 HasSubstr("hdfs://bucket/one.jsonl is on hdfs://")));
}

// Dropout in the attention keeps scores of all pairs of positions.
void forget_dropout(const std::string& folder) {
  auto text = read_text(folder + "/config.yaml");
  auto from = text.find("  embed_pdrop"), to = text.find("trainer:");
  write_atomically(folder + "/config.yaml", text.substr(0, from) + text.substr(to));
}

// Peaks of `bora bench train` (4 sequences of 256, AdamW, fp32), resident MiB on x86-64: what the estimate is
// for.
TEST(DryRun, MemoryOfKnownModels) {
  auto folder = small_project("dry_run_known");
  forget_dropout(folder);
  struct Known {
    const char* name;
    double mebibytes;
    std::vector<std::string> model;
  };
  const std::vector<Known> all = {
      {"gpt2-124m",
       2878,
       {"--model.hidden_dim=768", "--model.num_heads=12", "--model.num_layers=12",
        "--data.train_tokenizer.vocab_size=50257"}},
      {"llama-nano",
       444,
       {"--model.type=llama", "--model.hidden_dim=128", "--model.num_kv_heads=2", "--model.num_layers=4",
        "--model.intermediate_dim=512", "--data.train_tokenizer.vocab_size=32000"}},
      {"quickstart",
       195,
       {"--model.type=llama", "--model.hidden_dim=128", "--model.num_kv_heads=2", "--model.num_layers=4",
        "--model.intermediate_dim=384", "--data.train_tokenizer.vocab_size=2048"}}};
  for (const auto& known : all) {
    auto more = known.model;
    more.insert(more.end(), {"--model.seq_len=256", "--trainer.train_batch_size=4", "--trainer.lanes=1",
                             "--trainer.num_train_steps=1"});  // whose checkpoints any disk holds
    auto done = dry_run(folder, more);
    ASSERT_EQ(done.code, 0) << done.output;
    expect_within(memory_of(done.output).training, known.mebibytes * 1024 * 1024, known.name);
  }
}

// Bytes at the peak of a run of one step, which the program writes with each step.
double measured_peak(const std::string& folder, std::vector<std::string> settings,
                     const std::string& config = "config.yaml") {
  remove_all(folder + "/runs");
  settings.insert(settings.begin(), {"train", config, "--trainer.id=run", "--trainer.threads=1",
                                     "--trainer.num_train_steps=1"});
  auto done = run(folder, settings);
  EXPECT_EQ(done.code, 0) << done.output;
  auto path = folder + "/runs/run/timing.jsonl";
  auto text = read_text(path);
  return parse_json(text.substr(0, text.find('\n')), path).at("memory/peak_mb").get<double>() * 1024 * 1024;
}

// The same against the peak of a run.
TEST(DryRun, MemoryOfARun) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  auto folder = small_project("dry_run_measured");
  forget_dropout(folder);
  const std::vector<std::string> sizes = {"--model.hidden_dim=128", "--model.num_layers=4",
                                          "--model.seq_len=256", "--trainer.train_batch_size=8",
                                          "--trainer.lanes=1"};
  auto dry = dry_run(folder, sizes);
  ASSERT_EQ(dry.code, 0) << dry.output;
  expect_within(memory_of(dry.output).peak, measured_peak(folder, sizes), dry.output);
}

// Attention keeps its probabilities, of all pairs of positions.
TEST(DryRun, MemoryOfDroppedAttention) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  auto folder = small_project("dry_run_dropped");
  for (const char* policy : {"false", "true", "2"}) {
    const std::vector<std::string> sizes = {
        "--model.hidden_dim=64", "--model.num_layers=4",
        "--model.seq_len=512",   "--trainer.train_batch_size=8",
        "--trainer.lanes=1",     std::string("--model.gradient_checkpointing=") + policy};
    auto dry = dry_run(folder, sizes);
    ASSERT_EQ(dry.code, 0) << dry.output;
    expect_within(memory_of(dry.output).peak, measured_peak(folder, sizes), dry.output);
  }
}

// Senses are values outside of the layers.
TEST(DryRun, MemoryOfABackpack) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  const auto folder = small_project("dry_run_backpack");
  auto config = read_text(folder + "/config.yaml");
  const auto begin = config.find("model:\n"), end = config.find("trainer:\n");
  config.replace(
      begin, end - begin,
      "model: {type: backpack, seq_len: 256, hidden_dim: 128, num_layers: 2, num_heads: 4, num_senses: 16}\n");
  write_atomically(folder + "/config.yaml", config);
  const std::vector<std::string> sizes = {"--trainer.train_batch_size=8", "--trainer.lanes=1"};
  const auto dry = dry_run(folder, sizes);
  ASSERT_EQ(dry.code, 0) << dry.output;
  expect_within(memory_of(dry.output).peak, measured_peak(folder, sizes), dry.output);
}

// Most of what is kept is the encoder's.
TEST(DryRun, MemoryOfSpeech) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  const auto folder = small_project("dry_run_speech");
  const auto make =
      std::string(BORA_SOURCE_DIR "/scripts/made_up_speech.sh ") + folder + "/made_up_speech 24 4";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const std::string recipe = BORA_SOURCE_DIR "/recipes/whisper_nano.yaml";
  const std::vector<std::string> sizes = {"--model.d_model=128",
                                          "--model.encoder_ffn_dim=512",
                                          "--model.decoder_ffn_dim=512",
                                          "--model.max_source_positions=500",
                                          "--trainer.train_batch_size=8",
                                          "--trainer.lanes=1",
                                          "--hf_export=false"};
  const auto dry = dry_run(folder, sizes, recipe);
  ASSERT_EQ(dry.code, 0) << dry.output;
  expect_within(memory_of(dry.output).peak, measured_peak(folder, sizes, recipe), dry.output);
}

// Frozen parameters have neither a gradient nor moments: 12 bytes of 16 each, which a run does not take.
TEST(DryRun, FrozenParametersTakeAQuarterOfTheMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  auto folder = small_project("dry_run_frozen");
  forget_dropout(folder);
  std::vector<std::string> sizes = {"--model.hidden_dim=512", "--model.num_heads=4", "--model.num_layers=6",
                                    "--trainer.train_batch_size=2", "--trainer.lanes=1"};
  const double all = measured_peak(folder, sizes);
  sizes.push_back("--trainer.freeze=[\"*.mlp\", \"*.attn\"]");
  const double without = measured_peak(folder, sizes);
  const double frozen = 6 * 12 * 512. * 512.;  // parameters
  EXPECT_GT(all - without, 0.9 * 12 * frozen) << all << " " << without;
}

TEST(DryRun, GradientCheckpointingSavesActivations) {
  auto folder = small_project("dry_run_remat");
  forget_dropout(folder);
  auto of = [&](const std::string& policy) {
    auto done =
        dry_run(folder, {"--model.num_layers=16", "--model.seq_len=4096", "--trainer.lanes=1",
                         "--data.num_validation_sequences={}", "--model.gradient_checkpointing=" + policy});
    EXPECT_EQ(done.code, 0) << done.output;
    return memory_of(done.output).training;
  };
  double none = of("false"), some = of("2"), full = of("true"), nested = of("nested");
  EXPECT_LT(some, 0.7 * none);
  EXPECT_LT(full, 0.5 * some);
  EXPECT_LT(nested, full);
}

}  // namespace
}  // namespace bora::golden

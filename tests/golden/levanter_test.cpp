// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Levanter's own configuration files: those that train a GPT-2 or a Llama on text bind, and train when their
// data is local; the others are refused with words that say why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"
#include "run_all.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kConfigs = BORA_SHARED_DIR "/data/levanter-config/";
const std::string kStories = BORA_SHARED_DIR "/data/models/stories260k";  // its tokenizer has 512 ids

const std::vector<std::string> kBind = {
    "backpack_nano",       "gpt2_micro",           "gpt2_nano",
    "gpt2_nano_harness",   "gpt2_nano_mixture",    "gpt2_nano_skip",
    "gpt2_nano_tb",        "gpt2_small_fast",      "gpt2_small_fast_batch_schedule",
    "gpt2_small_fast_ema", "gpt2_small_fast_mix",  "gpt2_small_fast_mix_chat",
    "llama2_nano",         "llama3_small_4k_yarn", "llama_small_fast_remat",
    "mixtral_8x7b"};

// What keeps each of the others from training, in the program's words.
const std::map<std::string, std::vector<std::string>> kRefused = {
    {"gpt2_small_fast_muon",
     {"optimizer.type = muon", "not built yet; available: adam",
      "without a known type its other keys were not looked at: learning_rate, weight_decay", "data.cache_dir",
      "is on gs://; give a local folder"}},
    {"gpt2_small_sophiah", {"gpt2_small_sophiah.yaml:19", "cannot include", "sophia-h_small.yaml"}},
    {"data/openwebtext_source",
     {"is a part of a configuration: its keys are those of the block data, and all are understood",
      "hint: data: !include ", "openwebtext_source.yaml, in a file that has model and trainer too"}},
    {"data/pile_mixture", {"those of the block data, and all are understood"}},
    {"data/wikitext_source", {"those of the block data, and all are understood"}},
    {"harness/harness_nano",
     {"is a configuration of Levanter's eval_harness, not of a training",
      "hint: its tasks are not built yet"}},
    {"olmo2_sft",
     {"supervised_data.tulu.cache_dir", "is on gs://; give a local folder",
      "allenai/OLMo-2-1124-7B: the model"}},
    {"sampler/sample_nano",
     {"is a configuration of Levanter's sample_lm",
      "hint: bora generate meta-llama/Llama-3.2-1B 'Four score and seven years ago, our' --max_new_tokens 32"}},
    {"sft_llama3.1_tulu3_mixture",
     {"supervised_data.tulu.cache_dir", "mixture.yaml:53 ", " tokenizer  ",
      "is on gs://; give a local folder", "meta-llama/Llama-3.1-8B: the model"}}};

// What trains on speech.
const std::string kSpeech = "whisper_tiny_librispeech";

// What begins with a model of the hub's, by its name there.
const std::map<std::string, std::string> kFromHub = {
    {"lora_llama2", "NousResearch/Llama-2-7b-hf: the model of revision main is not in "},
    {"gemma_2b", "google/gemma-2b: the model of revision main is not in "},
    {"lora/mpt_biomed",
     "mosaicml/mpt-7b: the model of revision 68e1a8e0ebb9b30f3c45c1ef6195980f29063ae2 is not in "}};

class Levanter : public testing::Test {
 protected:
  void SetUp() override {
    if (!exists(kConfigs)) GTEST_SKIP() << "no configurations of Levanter at " << kConfigs;
  }

  // `bora train`, with the files of a small project and a small tokenizer in the place of the
  // configuration's.
  static std::vector<std::string> arguments(const std::string& config, const std::vector<std::string>& more) {
    std::vector<std::string> out = {"train",
                                    "--config_path",
                                    kConfigs + config + ".yaml",
                                    "--data.tokenizer=" + kStories,
                                    "--data.cache_dir=cache",
                                    "--trainer.checkpointer.base_path=runs",
                                    "--trainer.id=run"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  static std::vector<std::string> own_files() {
    return {"--data.train_urls=[\"one.txt\"]", "--data.validation_urls=[\"two.txt\"]"};
  }
  static Finished train_three_steps(const std::string& folder, const std::string& config,
                                    std::vector<std::string> more) {
    more.insert(more.end(), {"--model.seq_len=32", "--trainer.train_batch_size=4",
                             "--trainer.num_train_steps=3", "--trainer.threads=1"});
    return run(folder, arguments(config, more));
  }
};

std::vector<Json> records_of(const std::string& folder) {
  std::vector<Json> out;
  auto path = folder + "/runs/run/metrics.jsonl";
  for (const auto& line : split(read_text(path), '\n'))
    if (!line.empty()) out.push_back(parse_json(line, path));
  return out;
}

void expect_trained(const std::string& folder, const Finished& done) {
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_TRUE(exists(folder + "/runs/run/step-3/manifest.json")) << done.output;
  int losses = 0;
  for (const auto& line : records_of(folder)) {
    if (!line.contains("train/loss")) continue;
    ++losses;
    EXPECT_NEAR(line["train/loss"].get<double>(), 6.2, 0.5) << "a new model guesses among 512 ids";
  }
  EXPECT_EQ(losses, 3);
}

TEST_F(Levanter, EveryFileIsInOneOfTheLists) {
  std::set<std::string> known(kBind.begin(), kBind.end());
  known.insert(kSpeech);
  for (const auto& [name, words] : kRefused) known.insert(name);
  for (const auto& [name, words] : kFromHub) known.insert(name);
  for (const std::string folder : {"", "data/", "harness/", "lora/", "sampler/"}) {
    for (const auto& name : files().list(kConfigs + folder)) {
      if (!name.ends_with(".yaml")) continue;
      EXPECT_TRUE(known.contains(folder + name.substr(0, name.size() - 5))) << folder << name;
    }
  }
}

TEST_F(Levanter, TextModelsBind) {
  auto folder = small_project("levanter_bind");
  std::vector<std::vector<std::string>> lines;
  for (const auto& name : kBind) {
    lines.push_back(arguments(name, {"--data.train_urls=[\"../one.txt\"]",
                                     "--data.validation_urls=[\"../two.txt\"]", "--dry_run"}));
  }
  auto done = run_all(folder, lines);
  for (std::size_t i = 0; i < kBind.size(); ++i) {
    // Some are too large for most machines, which is told in place of a start.
    if (done[i].code != 0) {
      EXPECT_THAT(done[i].output, HasSubstr("the optimizer's state take")) << kBind[i];
    }
    EXPECT_THAT(done[i].output, AllOf(HasSubstr("parameters"), HasSubstr("nothing was started"),
                                      Not(HasSubstr("unknown key")), Not(HasSubstr("no file"))))
        << kBind[i];
  }
  for (const char* place : {"/0", "/1"}) {
    for (const auto& name : files().list(folder + place)) EXPECT_EQ(name, "output.txt");
  }
}

TEST_F(Levanter, OthersSayWhyNot) {
  auto folder = small_project("levanter_refused");
  for (const auto& [name, words] : kRefused) {
    auto done = run(folder, {"train", "--config_path", kConfigs + name + ".yaml", "--dry_run"});
    EXPECT_EQ(done.code, 2) << name << "\n" << done.output;
    EXPECT_THAT(done.output, HasSubstr("nothing was started")) << name;
    for (const auto& word : words) EXPECT_THAT(done.output, HasSubstr(word)) << name;
  }
}

TEST_F(Levanter, ModelsOfTheHubAreNamed) {
  auto folder = small_project("levanter_hub");
  for (const auto& [name, words] : kFromHub) {
    auto done = run(folder, {"train", "--config_path", kConfigs + name + ".yaml", "--dry_run"});
    EXPECT_EQ(done.code, 2) << name;
    EXPECT_THAT(done.output, HasSubstr(words)) << name;
  }
  // In the place of the last one's a model that is here, and its names.
  const auto done = run(folder, {"train", "--config_path", kConfigs + "lora/mpt_biomed.yaml", "--dry_run",
                                 "--initialize_from_hf=" + kStories, "--use_hf_model_config=true",
                                 "--data.tokenizer=" + kStories});
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, HasSubstr("Wqkv is no linear map"));
}

TEST_F(Levanter, RemoteDataIsNamed) {
  auto folder = small_project("levanter_remote");
  auto remote = run(folder, arguments("llama2_nano", {"--data.cache_dir=gs://levanter-data/tokenized"}));
  EXPECT_EQ(remote.code, 2) << remote.output;
  EXPECT_THAT(remote.output, HasSubstr("gs://levanter-data/tokenized is on gs://"));
  auto hub = run(folder, arguments("gpt2_nano", {}));
  EXPECT_EQ(hub.code, 2) << hub.output;
  EXPECT_THAT(hub.output,
              AllOf(HasSubstr("dlwh/wikitext_103_detokenized: the data set of revision main is not"),
                    HasSubstr("give files: train_urls")));
  auto dry = run(folder, arguments("gpt2_nano", {"--dry_run"}));
  EXPECT_EQ(dry.code, 2) << dry.output;
  EXPECT_THAT(dry.output, AllOf(HasSubstr("data.id"), HasSubstr("dlwh/wikitext_103_detokenized")));
}

TEST_F(Levanter, WhisperTrainsOnSpeech) {
  const auto folder = small_project("levanter_whisper");
  const auto hub = run(folder, arguments(kSpeech, {"--dry_run"}));
  EXPECT_EQ(hub.code, 2) << hub.output;
  EXPECT_THAT(hub.output,
              AllOf(HasSubstr("WillHeld/librispeech_parquet"), HasSubstr("give files: train_urls")));
  ASSERT_EQ(std::system((BORA_SOURCE_DIR "/scripts/made_up_speech.sh " + folder + "/said 8 2").c_str()), 0);
  expect_trained(
      folder,
      run(folder, arguments(kSpeech, {"--data.configs.librispeech.train_urls=[said/train.jsonl]",
                                      "--data.configs.librispeech.validation_urls=[said/validation.jsonl]",
                                      "--data.configs.librispeech.cache_dir=cache/librispeech",
                                      "--model.d_model=16", "--model.encoder_attention_heads=2",
                                      "--model.decoder_attention_heads=2", "--model.encoder_ffn_dim=32",
                                      "--model.decoder_ffn_dim=32", "--model.max_source_positions=100",
                                      "--model.max_length=32", "--trainer.train_batch_size=2",
                                      "--trainer.num_train_steps=3", "--trainer.threads=1"})));
}

TEST_F(Levanter, Gpt2NanoTrains) {
  auto folder = small_project("levanter_gpt2_nano");
  expect_trained(folder, train_three_steps(folder, "gpt2_nano", own_files()));
}

TEST_F(Levanter, Gpt2NanoTbTrainsAndWritesForTensorBoard) {
  auto folder = small_project("levanter_gpt2_nano_tb");
  expect_trained(folder, train_three_steps(folder, "gpt2_nano_tb", own_files()));
  EXPECT_TRUE(exists(folder + "/tb_logs"));
}

TEST_F(Levanter, Gpt2NanoMixtureTrainsOnBothSources) {
  auto folder = small_project("levanter_mixture");
  auto done = train_three_steps(
      folder, "gpt2_nano_mixture",
      {"--data.configs.wikitext.train_urls=[\"one.txt\"]", "--data.configs.w2.train_urls=[\"two.txt\"]"});
  expect_trained(folder, done);
  EXPECT_TRUE(exists(folder + "/cache/wikitext/train/ledger.json"));
  EXPECT_TRUE(exists(folder + "/wikitext2_cache/train/ledger.json")) << "its own cache_dir";
}

TEST_F(Levanter, Llama2NanoTrainsAndIsEvaluated) {
  auto folder = small_project("levanter_llama2_nano");
  expect_trained(folder, train_three_steps(folder, "llama2_nano", own_files()));
  EXPECT_TRUE(records_of(folder).back().contains("eval/loss"));
}

// The older program for fine-tuning says the same in other keys.
TEST(LevanterFiles, OlderFineTuningTrains) {
  const auto folder = small_project("levanter_sft");
  std::string talks;
  for (int i = 0; i < 200; ++i)
    talks +=
        "{\"chat\": [{\"role\": \"user\", \"content\": \"the moon\"}, {\"role\": \"assistant\", "
        "\"content\": \"is light\"}]}\n";
  write_atomically(folder + "/a.jsonl", talks);
  write_atomically(folder + "/b.jsonl", talks);
  ASSERT_EQ(run(folder, {"train-tokenizer", "one.txt", "--out", "tok", "--vocab_size", "300"}).code, 0);
  const std::string template_text =
      "{% for m in messages %}{% generation %}{{ m.content }} {% endgeneration %}{% endfor %}";
  write_atomically(folder + "/tok/chat_template.jinja", template_text);
  const std::string config =
      "dataset_type: chat_jsonl\n"
      "supervised_data:\n"
      "  a: {train_urls: [a.jsonl], cache_dir: ca}\n"
      "  b: {train_urls: [b.jsonl], cache_dir: cb}\n"
      "mixture_weights: {a: 1, b: 0.5}\n"
      "mixture_block_size: 16\n"
      "stop_strategy: restart\n"
      "max_seq_len: 32\n"
      "tokenizer: tok\n"
      "messages_field: chat\n"
      "input_role: user\n"
      "output_role: assistant\n"
      "reinit_tokens: false\n"
      "model: {type: gpt2, seq_len: 32, hidden_dim: 32, num_heads: 4, num_layers: 2}\n"
      "trainer: {id: run, train_batch_size: 4, num_train_steps: 3, threads: 1, checkpointer: {base_path: runs}}\n";
  write_atomically(folder + "/sft.yaml", config);
  const auto done = run(folder, {"train", "sft.yaml"});
  EXPECT_EQ(done.code, 0) << done.output;
  const auto recorded = read_text(folder + "/runs/run/config.yaml");
  EXPECT_THAT(recorded, AllOf(HasSubstr("messages_field: chat"), HasSubstr("tokenizer: tok"),
                              HasSubstr("shuffle: true")))
      << "as that program does";
  EXPECT_THAT(done.output,
              HasSubstr("warning     data set a packs documents into sequences, and a model of type gpt2 "
                        "counts positions through a sequence: behind the first they stand at later ones "
                        "than alone; format.pack: pad gives each its own sequence"));
  EXPECT_EQ(run(folder, {"config", "diff", "sft.yaml", "runs/run"}).output, "")
      << "the record says the same run";

  write_atomically(folder + "/wrong.yaml", config + "data: {train_urls: [one.txt]}\n");
  EXPECT_THAT(run(folder, {"train", "wrong.yaml"}).output,
              HasSubstr("supervised_data  and data are two ways to say the same; give one of them"));
  const auto wrong = run(folder, {"train", "sft.yaml", "--max_seq_len=64", "--mixture_weights={c: 1}",
                                  "--input_role=human", "--reinit_tokens=[x]"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("max_seq_len = 64"), HasSubstr("and model.seq_len = 32 differ"),
                                  HasSubstr("there is no data set c in supervised_data"),
                                  HasSubstr("input_role = human  must be user"),
                                  HasSubstr("new embeddings for some tokens are not built yet")));
}

TEST(LevanterFiles, PartsAndOtherProgramsAreToldApart) {
  const auto folder = small_project("levanter_parts");
  const auto told = [&](const std::string& text) {
    write_atomically(folder + "/x.yaml", text);
    const auto done = run(folder, {"train", "x.yaml", "--dry_run"});
    EXPECT_EQ(done.code, 2) << done.output;
    return done.output;
  };
  EXPECT_EQ(
      told("learning_rate: 1e-3\nweight_decay: 0.1\n"),
      "bora: x.yaml is a part of a configuration: its keys are those of the block optimizer, and all are "
      "understood; nothing was started\n"
      "hint: optimizer: !include x.yaml, in a file that has data, model and trainer too\n");
  EXPECT_THAT(told("type: gpt2\nhidden_dim: 31\nnum_heads: 4\n"),
              AllOf(HasSubstr("its keys are those of the block model\n"),
                    HasSubstr("model.num_heads = 4  must divide hidden_dim = 31"),
                    HasSubstr("hint: model: !include x.yaml")));
  EXPECT_THAT(told("checkpoint_path: runs/a\noutput_dir: out\nupload_to_hf: x/y\ntokenizer: gpt2\n"
                   "model: {type: gpt2}\n"),
              AllOf(HasSubstr("is a configuration of Levanter's export_lm_to_hf, not of a training"),
                    HasSubstr("hint: bora export runs/a out\n")));
  EXPECT_THAT(
      told("checkpoint_path: runs/a\ndata: {train_urls: [one.txt]}\ntrainer: {sede: 1}\n"),
      AllOf(HasSubstr("is a configuration of Levanter's eval_lm"), HasSubstr("did you mean trainer.seed?"),
            HasSubstr("hint: bora eval x.yaml --model runs/a\n")));
  // A key in the wrong place makes no other program of it.
  EXPECT_THAT(told("data: {train_urls: [one.txt]}\nmodel: {type: gpt2}\nprompts: [a]\n"),
              testing::ContainsRegex("prompts +unknown key; did you mean sample.prompts"));
}

}  // namespace
}  // namespace bora::golden

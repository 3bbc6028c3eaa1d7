// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Speech from sounds to words: a small Whisper that trains on made-up speech, goes on to the bit, is exported, and
// writes what it hears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kScript = BORA_SOURCE_DIR "/scripts/made_up_speech.sh";

// A few sentences, and the recipe at a smaller size.
class Speech : public testing::Test {
 protected:
  Speech() : folder_(small_project("speech")) {
    const auto made = std::string(kScript) + " " + folder_ + "/made_up_speech 24 4";
    EXPECT_EQ(std::system(made.c_str()), 0);
    std::filesystem::create_directory_symlink(BORA_SOURCE_DIR "/recipes", folder_ + "/recipes");
  }
  ~Speech() override { remove_all(folder_); }

  static std::vector<std::string> line(const std::string& id, const std::vector<std::string>& more = {}) {
    std::vector<std::string> out = {"train",
                                    "recipes/whisper_nano.yaml",
                                    "--trainer.id=" + id,
                                    "--trainer.num_train_steps=6",
                                    "--trainer.steps_per_eval=6",
                                    "--trainer.train_batch_size=4",
                                    "--trainer.lanes=2",
                                    "--trainer.threads=1",
                                    "--optimizer.warmup=1",
                                    "--optimizer.lr_schedule=constant",
                                    "--data.train_tokenizer.vocab_size=270",
                                    "--model.d_model=16",
                                    "--model.encoder_ffn_dim=32",
                                    "--model.decoder_ffn_dim=32"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::vector<double> losses(const std::string& id) const {
    std::vector<double> out;
    const auto path = folder_ + "/runs/" + id + "/metrics.jsonl";
    for (const auto& text : split(read_text(path), '\n')) {
      if (text.empty()) continue;
      const auto json = parse_json(text, path);
      if (json.contains("train/loss")) out.push_back(json["train/loss"].get<double>());
    }
    return out;
  }
  void expect_same(const std::string& a, const std::string& b) const {
    const auto done = run(folder_, {"diff", "runs/" + a + "/step-6", "runs/" + b + "/step-6"});
    EXPECT_EQ(done.code, 0) << done.output;
  }

  std::string folder_;
};

TEST_F(Speech, FromSoundsToWords) {
  const auto done = run(folder_, line("a"));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("whisper · "), HasSubstr("made_up"),
                                 HasSubstr("bora transcribe runs/a my.wav")));
  const auto all = losses("a");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_LT(all.back(), all.front());

  // Stopped after three steps and gone on: the same bits, the stripes of SpecAugment among them.
  const auto part = run(folder_, line("b", {"--trainer.stop_at_step=3"}));
  EXPECT_EQ(part.code, 75) << part.output;
  const auto rest = run(folder_, line("b"));
  EXPECT_EQ(rest.code, 0) << rest.output;
  expect_same("a", "b");
  EXPECT_EQ(run(folder_, line("plain", {"--data.spec_augment=null"})).code, 0);
  EXPECT_NE(losses("plain").front(), all.front()) << "stripes change what is heard";
  for (const std::string policy : {"true", "nested"}) {
    EXPECT_EQ(run(folder_, line("remat_" + policy, {"--model.gradient_checkpointing=" + policy})).code, 0);
    expect_same("a", "remat_" + policy);
  }

  const auto evaluated = run(folder_, {"eval", "--model", "runs/a", "recipes/whisper_nano.yaml"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.output;
  EXPECT_THAT(evaluated.output, HasSubstr("made_up"));

  // The export says what a Hugging Face directory of Whisper says, and hears the same.
  const auto exported = folder_ + "/runs/a/hf/";
  const auto config = parse_json(read_text(exported + "config.json"), "config.json");
  EXPECT_EQ(config["model_type"], "whisper");
  EXPECT_EQ(config["decoder_start_token_id"], config["eos_token_id"]);
  EXPECT_EQ(parse_json(read_text(exported + "preprocessor_config.json"), "")["feature_size"], 40);
  const auto sounds = std::vector<std::string>{"made_up_speech/sounds/validation0000.wav",
                                               "made_up_speech/sounds/validation0001.wav"};
  const auto of_run = run(folder_, {"transcribe", "runs/a", sounds[0], sounds[1], "--jsonl", "--quiet"});
  ASSERT_EQ(of_run.code, 0) << of_run.output;
  EXPECT_EQ(run(folder_, {"transcribe", "runs/a/hf", sounds[0], sounds[1], "--jsonl", "--quiet"}).output,
            of_run.output);
  const auto lines = split(of_run.output, '\n');
  ASSERT_EQ(lines.size(), 3u) << of_run.output;
  const auto first = parse_json(lines[0], "transcribe");
  EXPECT_EQ(first["file"], sounds[0]);
  EXPECT_EQ(first["parts"].size(), 1u);
  const auto back = run(folder_, {"import", "runs/a/hf", "runs/imported"});
  EXPECT_EQ(back.code, 0) << back.output;
  EXPECT_EQ(run(folder_, {"transcribe", "runs/imported", sounds[0], sounds[1], "--jsonl", "--quiet"}).output,
            of_run.output);

  // What generation_config.json says in place of flags.
  auto generation = parse_json(read_text(exported + "generation_config.json"), "generation_config.json");
  generation["max_new_tokens"] = 1;
  write_atomically(exported + "generation_config.json", generation.dump());
  const auto told = run(folder_, {"transcribe", "runs/a/hf", sounds[0]});
  EXPECT_THAT(told.output, HasSubstr("bora: max_new_tokens 1 of runs/a/hf/generation_config.json\n"));
  const auto by_flag = run(folder_, {"transcribe", "runs/a", sounds[0], "--max_new_tokens", "1", "--quiet"});
  EXPECT_EQ(run(folder_, {"transcribe", "runs/a/hf", sounds[0], "--quiet"}).output, by_flag.output);
  const auto longer =
      run(folder_, {"transcribe", "runs/a/hf", sounds[0], "--max_new_tokens", "3", "--quiet"});
  EXPECT_EQ(longer.output,
            run(folder_, {"transcribe", "runs/a", sounds[0], "--max_new_tokens", "3", "--quiet"}).output);

  const auto refused = run(folder_, {"generate", "runs/a", "one"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output,
              HasSubstr("whisper: a model of speech writes what it hears, and here is no sound\nhint: bora "
                        "transcribe"));
  const auto wrong = run(folder_, {"transcribe", "runs/a", sounds[0], "--language", "en"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("transcribe: --language en, but "),
                                  HasSubstr("(lang_to_id in its generation_config.json)")));
  const auto no_times = run(folder_, {"transcribe", "runs/a", sounds[0], "--timestamps"});
  EXPECT_EQ(no_times.code, 2);
  EXPECT_THAT(no_times.output, HasSubstr("no_timestamps_token_id"));
}

TEST_F(Speech, TrainsTheSameOnTwoWorkers) {
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  const auto alone = run_workers(folder_, 1, line("a"));
  ASSERT_EQ(alone.code, 0) << alone.output;
  const auto sharded = run_workers(folder_, 2, line("b"));
  EXPECT_EQ(sharded.code, 0) << sharded.output;
  expect_same("a", "b");
  const auto cut = run_workers(
      folder_, 2,
      line("c", {"--trainer.model_axis_size=2", "--trainer.tensor_parallel_axes=[heads, mlp, vocab]"}));
  EXPECT_EQ(cut.code, 0) << cut.output;
  const auto want = losses("a"), got = losses("c");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-6 * want[i]) << i;
}

TEST_F(Speech, SaysWhatDoesNotFit) {
  const auto text = run(folder_, line("a", {"--data.configs.made_up.format.type=text"}));
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.output,
              HasSubstr("text, but a model of type whisper hears sound; format: {type: speech}"));
  const auto other = run(folder_, {"train", "config.yaml", "--data.spec_augment={}"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("is for models that hear sound; model.type: whisper"));
  const auto sample = run(folder_, line("a", {"--sample.prompts=[one]"}));
  EXPECT_EQ(sample.code, 2);
  EXPECT_THAT(sample.output, HasSubstr("a model of speech writes what it hears and continues no text"));
  const auto positions = run(folder_, line("a", {"--model.max_source_positions=99"}));
  EXPECT_EQ(positions.code, 2);
  EXPECT_THAT(positions.output, HasSubstr("model.max_source_positions = 99  must be a multiple of 50"));
  const auto heads = run(folder_, line("a", {"--model.decoder_attention_heads=3"}));
  EXPECT_THAT(heads.output, HasSubstr("model.decoder_attention_heads = 3  must divide model.d_model = 16"));
}

TEST(WordErrorRate, OfFiles) {
  const auto folder = small_project("wer");
  write_atomically(folder + "/said.txt",
                   "\xef\xbb\xbfthe cat sat\non the mat\n");  // with a mark of byte order
  write_atomically(folder + "/heard.jsonl", "{\"text\": \"the bat sat down\"}\n\n{\"text\": \"on mat\"}\n");
  const auto told = run(folder, {"wer", "said.txt", "heard.jsonl"});
  EXPECT_EQ(told.code, 0);
  EXPECT_EQ(told.output,
            "word error rate 50.00 % · 1 substitution, 1 deletion, 1 insertion in 6 words · 2 texts\n");
  const auto json = parse_json(run(folder, {"wer", "said.txt", "heard.jsonl", "--json"}).output, "wer");
  EXPECT_EQ(json["wer"], 0.5);
  EXPECT_EQ(json["hits"], 4);
  write_atomically(folder + "/one.txt", "the cat sat\n");
  const auto refused = run(folder, {"wer", "said.txt", "one.txt"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("wer: said.txt has 2 texts and one.txt has 1 text\nhint: "));
  const auto key = run(folder, {"wer", "said.txt", "heard.jsonl", "--text_key", "said"});
  EXPECT_EQ(key.code, 3);
  EXPECT_THAT(key.output, HasSubstr("heard.jsonl:1"));
  EXPECT_EQ(run(folder, {"wer", "said.txt"}).code, 2);
  remove_all(folder);
}

}  // namespace
}  // namespace bora::golden

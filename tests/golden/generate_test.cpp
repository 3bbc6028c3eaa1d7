// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora generate`: one text or many, the same ones whatever else is made beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

class Generate : public testing::Test {
 protected:
  Generate() : folder_(small_project("generate")) {
    const auto done =
        run(folder_, {"train", "config.yaml", "--trainer.num_train_steps=4", "--hf_export=true"});
    EXPECT_EQ(done.code, 0) << done.output;
  }
  ~Generate() override { remove_all(folder_); }

  std::string generate(std::vector<std::string> arguments, int code = 0) const {
    arguments.insert(arguments.begin(), {"generate", "runs/run/hf"});
    const auto done = run(folder_, arguments);
    EXPECT_EQ(done.code, code) << done.output;
    return done.output;
  }
  std::vector<Json> objects(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--jsonl", "--quiet", "--max_new_tokens", "6"});
    std::vector<Json> out;
    for (const auto& line : split(generate(arguments), '\n'))
      if (!line.empty()) out.push_back(Json::parse(line));
    return out;
  }
  void write_prompts() const {
    write_atomically(folder_ + "/p.txt", "a b\n\nc d e f g\n");
    write_atomically(folder_ + "/p.jsonl", "{\"prompt\": \"a b\"}\n{\"prompt\": \"c d e f g\"}\n");
  }

  std::string folder_;
};

TEST_F(Generate, WithWeightsInFewerBytes) {
  write_prompts();
  const auto file = folder_ + "/runs/run/hf/model.safetensors", before = read_text(file);
  for (const std::string type : {"bf16", "int8"}) {
    const auto all = objects({"--prompts", "p.txt", "--n", "3", "--weights", type});
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(objects({"c d e f g", "--weights", type}).at(0)["ids"], all[3]["ids"]);
  }
  EXPECT_EQ(read_text(file), before);
  EXPECT_EQ(objects({"a b", "--weights", "f32"}), objects({"a b"}));
  EXPECT_THAT(generate({"a b", "--weights", "int4"}, 2),
              HasSubstr("generate: --weights int4 is not one of f32, bf16, int8"));
}

// Rounded weights cost little, and something.
TEST_F(Generate, EvaluationSaysWhatFewerBytesCost) {
  const auto loss = [&](const std::string& type) {
    const auto done =
        run(folder_, {"eval", "config.yaml", "--model", "runs/run/hf", "--json", "--weights", type});
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_EQ(done.output.find(", weights " + type) != std::string::npos, type != "f32") << done.output;
    EXPECT_THAT(done.output, HasSubstr("\"weights\":\"" + type + "\""));
    for (const auto& line : split(done.output, '\n'))
      if (line.starts_with("{\"event\":\"evaluation\""))
        return Json::parse(line)["metrics"].begin().value().get<double>();
    ADD_FAILURE() << done.output;
    return 0.0;
  };
  const double f32 = loss("f32"), bf16 = loss("bf16"), int8 = loss("int8");
  EXPECT_GT(f32, 0);
  EXPECT_NE(bf16, f32);
  EXPECT_NE(int8, f32);
  EXPECT_NEAR(bf16, f32, 0.01 * f32);
  EXPECT_NEAR(int8, f32, 0.02 * f32);
}

TEST_F(Generate, ATextDoesNotDependOnTheOthers) {
  write_prompts();
  const auto all = objects({"--prompts", "p.txt", "--n", "3"});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all, objects({"--prompts", "p.jsonl", "--n", "3", "--batch", "2"}));
  EXPECT_NE(all[0]["ids"], all[1]["ids"]);
  EXPECT_NE(all[1]["ids"], all[2]["ids"]);
  EXPECT_EQ(all[5]["prompt_index"], 1);
  EXPECT_EQ(all[5]["sample"], 2);
  EXPECT_EQ(all[3]["prompt"], "c d e f g");
  const auto alone = objects({"c d e f g"});
  EXPECT_EQ(alone.at(0)["ids"], all[3]["ids"]);
  const auto plain = generate({"c d e f g", "--max_new_tokens", "6", "--quiet"});
  EXPECT_EQ(plain, "c d e f g" + all[3]["text"].get<std::string>() + "\n");
  EXPECT_THAT(generate({"--prompts", "p.txt", "--n", "3", "--max_new_tokens", "6"}),
              HasSubstr("--- prompt 2, text 1\n" + plain));
}

TEST_F(Generate, LogProbsAreOfTheWholeDistribution) {
  const auto made = objects({"a b", "--temperature", "0", "--log_probs", "3"}).at(0);
  ASSERT_EQ(made["log_probs"].size(), 6U);
  const auto& first = made["log_probs"][0];
  EXPECT_EQ(first["id"], made["ids"][0]);
  EXPECT_EQ(first["top"].size(), 3U);
  EXPECT_EQ(first["top"][0]["id"], first["id"]);
  EXPECT_EQ(first["top"][0]["log_prob"], first["log_prob"]);
  EXPECT_LT(first["log_prob"].get<double>(), 0);
  EXPECT_EQ(made["finish_reason"], "length");
}

TEST_F(Generate, AStopStringEndsTheTextBeforeIt) {
  const auto whole = objects({"a b", "--temperature", "0"}).at(0)["text"].get<std::string>();
  ASSERT_GE(whole.size(), 3U);
  const auto stop = whole.substr(1, 2);
  const auto cut = objects({"a b", "--temperature", "0", "--stop", stop, "--stop", "never there"}).at(0);
  EXPECT_EQ(cut["text"], whole.substr(0, whole.find(stop)));
  EXPECT_EQ(cut["finish_reason"], "stop");
  EXPECT_EQ(generate({"a b", "--temperature", "0", "--stop", stop, "--quiet"}),
            "a b" + whole.substr(0, whole.find(stop)) + "\n");
}

TEST_F(Generate, SaysWhenTheContextIsFull) {
  const auto told = generate({"a b", "--max_new_tokens", "5000"});
  EXPECT_THAT(told, HasSubstr("bora: the text ends where the model's context of "));
  const std::vector<std::string> many = {"a b", "--max_new_tokens", "5000", "--jsonl", "--quiet"};
  EXPECT_EQ(Json::parse(generate(many))["finish_reason"], "context");
}

TEST_F(Generate, PenaltiesChangeTheText) {
  const auto plain = objects({"a b", "--temperature", "0"}).at(0)["ids"];
  for (const auto* flag : {"--repetition_penalty", "--presence_penalty", "--frequency_penalty"})
    EXPECT_NE(plain, objects({"a b", "--temperature", "0", flag, "1.9"}).at(0)["ids"]) << flag;
  EXPECT_EQ(plain, objects({"a b", "--min_p", "1"}).at(0)["ids"]);
}

// generation_config.json, as transformers reads it: flags that are given win.
TEST_F(Generate, SettingsOfTheModelStandForFlags) {
  const auto file = folder_ + "/runs/run/hf/generation_config.json";
  const auto plain = objects({"a b"}), greedy = objects({"a b", "--temperature", "0"}),
             few = objects({"a b", "--top_k", "2", "--temperature", "0.5"});
  auto generation = exists(file) ? parse_json(read_text(file), file) : Json::object();
  generation["top_k"] = 2;
  generation["temperature"] = 0.5;
  write_atomically(file, generation.dump());
  EXPECT_EQ(objects({"a b"}), plain) << "without do_sample they say nothing";
  generation["do_sample"] = true;
  generation["no_repeat_ngram_size"] = 2;
  write_atomically(file, generation.dump());
  EXPECT_EQ(objects({"a b"}), few);
  EXPECT_EQ(objects({"a b", "--temperature", "0"}), greedy);
  EXPECT_EQ(objects({"a b", "--temperature", "1", "--top_k", "0"}), plain);
  const auto told = generate({"a b", "--max_new_tokens", "2", "--top_k", "3"});
  EXPECT_THAT(
      told,
      HasSubstr("bora: temperature 0.5 of runs/run/hf/generation_config.json\n"
                "bora: runs/run/hf/generation_config.json: no_repeat_ngram_size = 2 is not used here\n"));
  EXPECT_THAT(generate({"a b", "--max_new_tokens", "2", "--quiet"}), testing::Not(HasSubstr("bora: ")));
  generation["temperature"] = -1;
  write_atomically(file, generation.dump());
  EXPECT_THAT(generate({"a b"}, 3),
              HasSubstr("generation_config.json: temperature is -1; it must be at least 0\nhint: "
                        "--temperature takes its place"));
}

TEST_F(Generate, RefusesWhatDoesNotFitTogether) {
  write_prompts();
  write_atomically(folder_ + "/long.txt", "a\n" + std::string(2000, 'x') + "\n");
  EXPECT_THAT(generate({"a", "--prompts", "p.txt"}, 2),
              HasSubstr("generate: --prompts beside a prompt; give"));
  EXPECT_THAT(generate({"a", "--jsonl", "--ids"}, 2), HasSubstr("generate: --ids beside --jsonl"));
  EXPECT_THAT(generate({"a", "--log_probs", "2"}, 2), HasSubstr("generate: --log_probs without --jsonl"));
  EXPECT_THAT(generate({"a", "--stop", ""}, 2),
              HasSubstr("generate: --stop is empty\nhint: give it a value"));
  EXPECT_THAT(generate({"a", "--min_p", "2"}, 2), HasSubstr("--min_p is 2; it must be from 0 to 1"));
  EXPECT_THAT(generate({"a", "--repetition_penalty", "0"}, 2),
              HasSubstr("--repetition_penalty is 0; it must"));
  EXPECT_THAT(generate({"a", "--presence_penalty", "3"}, 2), HasSubstr("it must be from -2 to 2"));
  EXPECT_THAT(generate({"--prompts", "none.txt"}, 3), HasSubstr("none.txt"));
  EXPECT_THAT(generate({"--prompts", "long.txt"}, 1), HasSubstr("long.txt:2: generate: the prompt has "));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Adapters from the configuration: trained, stopped and gone on with, by several workers, and what is done with
// them afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A base model, and beside it the configuration that adapts it.
class Lora : public testing::Test {
 protected:
  Lora() : folder_(small_project("lora")) {
    const auto base = run(folder_, {"train", "config.yaml", "--trainer.id=base",
                                    "--trainer.num_train_steps=4", "--hf_export=true"});
    EXPECT_EQ(base.code, 0) << base.output;
  }
  ~Lora() override { remove_all(folder_); }

  static std::vector<std::string> arguments(const std::string& id, std::vector<std::string> more = {}) {
    std::vector<std::string> out = {"train",
                                    "config.yaml",
                                    "--trainer.id=" + id,
                                    "--trainer.num_train_steps=6",
                                    "--trainer.steps_per_eval=3",
                                    "--trainer.lanes=4",
                                    "--initialize_from_hf=runs/base/hf",
                                    "--optimizer.learning_rate=0.02",
                                    "--lora={target_modules: [c_attn, c_fc], r: 2, alpha: 4, dropout: 0.2}"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  Finished train(const std::string& id, const std::vector<std::string>& more = {}) const {
    auto done = run(folder_, arguments(id, more));
    EXPECT_TRUE(done.code == 0 || done.code == 75) << done.output;
    return done;
  }
  void expect_same(const std::string& a, const std::string& b) const {
    const auto diff = run(folder_, {"diff", "runs/" + a + "/step-6", "runs/" + b + "/step-6"});
    EXPECT_EQ(diff.code, 0) << diff.output;
    for (const char* file : {"/adapter/adapter_model.safetensors", "/adapter/adapter_config.json"})
      EXPECT_EQ(read_text(folder_ + "/runs/" + a + file), read_text(folder_ + "/runs/" + b + file)) << file;
  }
  std::string ids(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "generate");
    arguments.insert(arguments.end(),
                     {"a b", "--ids", "--quiet", "--temperature", "0", "--max_new_tokens", "8"});
    const auto done = run(folder_, arguments);
    EXPECT_EQ(done.code, 0) << done.output;
    return done.output;
  }

  std::string folder_;
};

TEST_F(Lora, TrainsEvaluatesGeneratesAndExports) {
  const auto done = train("one", {"--hf_export=true", "--peft_save_path=adapters", "--hf_save_steps=4"});
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("adapters    of 4 linear maps, rank 2, alpha 4, dropout 0.2"),
                    HasSubstr("1,152 of 37,248 parameters"), HasSubstr("adapter runs/one/adapter")));
  const auto config =
      parse_json(read_text(folder_ + "/adapters/one/step-4/adapter_config.json"), "adapter_config");
  EXPECT_EQ(config["base_model_name_or_path"], "runs/base/hf");
  EXPECT_EQ(config["target_modules"], Json({"c_attn", "c_fc"}));
  EXPECT_EQ(read_text(folder_ + "/adapters/one/step-6/adapter_model.safetensors"),
            read_text(folder_ + "/runs/one/adapter/adapter_model.safetensors"));

  // The run, its merged export, the base with the adapter, and the adapter, which names its base.
  const auto of_run = ids({"runs/one"});
  EXPECT_NE(of_run, ids({"runs/base"}));
  EXPECT_EQ(ids({"runs/one/hf"}), of_run);
  EXPECT_EQ(ids({"runs/base/hf", "--adapter", "runs/one/adapter"}), of_run);
  EXPECT_EQ(ids({"runs/one/adapter"}), of_run);
  ASSERT_EQ(run(folder_, {"export", "runs/one", "alone", "--peft"}).code, 0);
  ASSERT_EQ(run(folder_, {"export", "runs/base", "merged", "--adapter", "alone"}).code, 0);
  EXPECT_EQ(read_text(folder_ + "/alone/adapter_config.json"),
            read_text(folder_ + "/runs/one/adapter/adapter_config.json"));
  EXPECT_EQ(read_text(folder_ + "/merged/model.safetensors"),
            read_text(folder_ + "/runs/one/hf/model.safetensors"));

  EXPECT_THAT(run(folder_, {"inspect", "runs/one/step-6"}).output,
              HasSubstr("h.0.attn.c_attn.lora.a.weight"));
  const auto eval = run(folder_, {"eval", "config.yaml", "--model", "runs/base", "--adapter", "alone"});
  EXPECT_EQ(eval.code, 0) << eval.output;
  EXPECT_THAT(eval.output, HasSubstr("runs/base/step-4 + adapter alone\n"));
  const auto told =
      run(folder_, {"eval", "config.yaml", "--model", "runs/one/adapter", "--weights", "bf16", "--json"});
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("+ adapter runs/one/adapter, weights bf16"),
                    HasSubstr("\"adapter\":\"runs/one/adapter\""), HasSubstr("\"weights\":\"bf16\"")));
  // Above the table stand times, which no two runs share.
  const auto table = [](const std::string& output) {
    return output.substr(std::min(output.find("bits/byte"), output.size()));
  };
  EXPECT_THAT(table(eval.output), HasSubstr(" two   "));
  EXPECT_EQ(table(eval.output), table(run(folder_, {"eval", "config.yaml", "--model", "runs/one"}).output));
}

TEST_F(Lora, GoesOnWithTheSameBits) {
  train("whole");
  EXPECT_THAT(train("halves", {"--trainer.stop_at_step=3"}).output, HasSubstr("step 3 done"));
  const auto other = run(folder_, arguments("halves", {"--lora.alpha=5"}));
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_THAT(
      other.output,
      HasSubstr("other adapters: of 4 linear maps, rank 2, alpha 5, dropout 0.2 here, of 4 linear maps, "
                "rank 2, alpha 4"));
  EXPECT_THAT(train("halves").output,
              AllOf(HasSubstr("at step 3 of 6"), HasSubstr(" of them in this start · ")));
  expect_same("whole", "halves");
  train("again", {"--model.gradient_checkpointing=true"});
  expect_same("whole", "again");
}

TEST_F(Lora, SeveralWorkersTrainTheSameBits) {
  if (!can_run_workers()) GTEST_SKIP() << "no MPI here";
  train("whole");
  const auto two = run_workers(folder_, 2, arguments("two"));
  EXPECT_EQ(two.code, 0) << two.output;
  EXPECT_THAT(two.output, HasSubstr("2 workers, parameters sharded over them"));
  expect_same("whole", "two");
}

TEST_F(Lora, StartsFromARunAndItsAdapters) {
  const auto from_run = [&](const std::string& id, const std::string& from) {
    auto a = arguments(id, {"--trainer.initialize_from=" + from});
    std::erase_if(a, [](const std::string& x) { return x.starts_with("--initialize_from_hf"); });
    return run(folder_, a);
  };
  train("whole");
  EXPECT_EQ(from_run("of_a_run", "runs/base").code, 0);
  // The weights of a run and of its export are the same.
  EXPECT_EQ(read_text(folder_ + "/runs/whole/adapter/adapter_model.safetensors"),
            read_text(folder_ + "/runs/of_a_run/adapter/adapter_model.safetensors"));
  EXPECT_EQ(from_run("further", "runs/whole").code, 0);
  // Its adapters are for the model that those of the other run are for, and so is an export of them.
  const auto config = parse_json(read_text(folder_ + "/runs/further/adapter/adapter_config.json"), "further");
  EXPECT_EQ(config["base_model_name_or_path"], "runs/base/hf");
  EXPECT_EQ(ids({"runs/further/adapter"}), ids({"runs/further"}));
  ASSERT_EQ(run(folder_, {"export", "runs/further", "alone", "--peft"}).code, 0);
  EXPECT_EQ(read_text(folder_ + "/alone/adapter_config.json"),
            read_text(folder_ + "/runs/further/adapter/adapter_config.json"));
  const auto without =
      run(folder_, {"train", "config.yaml", "--trainer.id=w", "--trainer.initialize_from=runs/whole"});
  EXPECT_EQ(without.code, 2) << without.output;
  EXPECT_THAT(without.output,
              HasSubstr("has adapters of 4 linear maps, rank 2, alpha 4, dropout 0.2, and this run "
                        "none; bora export"));
}

// Their rows would be the mean of the others and frozen. A run that trains them makes the model to adapt.
TEST_F(Lora, NewIdsOfATokenizerAreTrainedFirst) {
  ASSERT_EQ(
      run(folder_, {"train-tokenizer", "one.txt", "two.txt", "--vocab_size", "301", "--out", "more"}).code,
      0);
  const std::vector<std::string> more = {"--data.train_tokenizer=null", "--data.tokenizer=more",
                                         "--data.cache_dir=cache-more", "--accept_changes"};
  for (const char* how : {"--dry_run", "--json"}) {
    const auto refused = run(folder_, with(with(arguments("refused"), more), {how}));
    EXPECT_EQ(refused.code, 2) << refused.output;
    EXPECT_THAT(
        refused.output,
        HasSubstr("the tokenizer (data.tokenizer) has 301 ids and runs/base/hf embeddings of 300: adapters"));
  }
  const auto rows =
      run(folder_, with({"train", "config.yaml", "--trainer.id=rows", "--trainer.num_train_steps=4",
                         "--initialize_from_hf=runs/base/hf", "--trainer.freeze=[h]", "--hf_export=true"},
                        more));
  EXPECT_EQ(rows.code, 0) << rows.output;
  const auto adapted = train("adapted", with({"--initialize_from_hf=runs/rows/hf"}, more));
  EXPECT_THAT(adapted.output, HasSubstr("adapter runs/adapted/adapter"));
  EXPECT_EQ(ids({"runs/adapted/adapter"}), ids({"runs/adapted"}));
}

TEST_F(Lora, DryRunCountsWhatIsTrained) {
  const auto plan = run(folder_, arguments("dry", {"--dry_run", "--world", "2"}));
  EXPECT_EQ(plan.code, 0) << plan.output;
  EXPECT_THAT(plan.output, AllOf(HasSubstr("1,152 of 37,248 parameters; the others are frozen"),
                                 HasSubstr("runs/dry/adapter")));
  const auto frozen = run(folder_, {"train", "config.yaml", "--trainer.freeze=[h.0]", "--dry_run"});
  EXPECT_THAT(frozen.output, HasSubstr("parameters; the others are frozen"));
  // Before any data is read, and by --dry_run in the same words.
  for (const char* more : {"--dry_run", "--json"}) {
    const auto wrong = run(folder_, arguments("wrong", {"--lora.target_modules=[c_atn]", more}));
    EXPECT_EQ(wrong.code, 2) << wrong.output;
    EXPECT_THAT(wrong.output, HasSubstr("c_atn is no linear map; did you mean `c_attn`?"));
  }
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// bora config: what a key means, what two configurations do not share, a schema for editors, Levanter's files rewritten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ConfigCommand, ExplainsAKey) {
  const auto folder = small_project("config_explain");
  const auto explain = [&](const std::string& key) { return run(folder, {"config", "explain", key}); };
  const auto size = explain("optimizer.learning_rate");
  EXPECT_EQ(size.code, 0) << size.output;
  EXPECT_THAT(size.output, AllOf(HasSubstr("optimizer.learning_rate\n"), HasSubstr("  type     number"),
                                 HasSubstr("  default  0.0006")));
  EXPECT_THAT(explain("data.configs.mine.train_urls").output, HasSubstr("type     list of strings"));
  EXPECT_THAT(explain("model.upcast_attn").output,
              HasSubstr("has no effect: attention scores are always fp32"));
  EXPECT_THAT(explain("model.rope.theta").output, AllOf(HasSubstr("model.rope.theta  (type "),
                                                        HasSubstr("llama"), HasSubstr("default  5000000")));
  EXPECT_THAT(explain("trainer.checkpointer").output, HasSubstr("trainer.checkpointer.base_path"));

  EXPECT_THAT(explain("lora.r").output,
              HasSubstr("rank of each adapter\n  type     integer, from 1 to 65536\n  default  8\n"));
  EXPECT_THAT(explain("lora").output, HasSubstr("lora.alpha lora.dropout"));
  EXPECT_THAT(explain("trainer.profiler.enabled").output, HasSubstr("the same as profiler: true"));
  EXPECT_THAT(run(folder, {"completion", "bash"}).output,
              AllOf(HasSubstr("\nlora.r\n"), HasSubstr("\ntrainer.profiler.start_step\n")));
  EXPECT_THAT(
      explain("trainer.seed.of").output,
      AllOf(HasSubstr("there is no key trainer.seed.of\nhint: docs"), Not(HasSubstr("lists the keys"))));

  const auto part = explain("learning_rate");
  EXPECT_EQ(part.code, 2);
  EXPECT_THAT(part.output,
              HasSubstr("config explain: learning_rate is no whole key\nhint: optimizer.learning_rate"));
  const auto misspelt = explain("optimizer.lerning_rate");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.output,
              HasSubstr("there is no key optimizer.lerning_rate; did you mean `optimizer.learning_rate`?"));
}

TEST(ConfigCommand, ComparesTwo) {
  const auto folder = small_project("config_diff");
  write_atomically(folder + "/other.yaml", read_text(folder + "/config.yaml") + "\nhf_export: true\n");
  const auto same = run(folder, {"config", "diff", "config.yaml", "config.yaml"});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.output, "");
  const auto other = run(folder, {"config", "diff", "config.yaml", "other.yaml"});
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.output, "hf_export: false -> true\n");
  const auto missing = run(folder, {"config", "diff", "config.yaml", "none.yaml"});
  EXPECT_NE(missing.code, 0);
  EXPECT_THAT(missing.output, HasSubstr("none.yaml"));
  const auto one = run(folder, {"config", "diff", "config.yaml"});
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.output, HasSubstr("config: 1 argument given\nhint: bora config diff a.yaml b.yaml"));
}

TEST(ConfigCommand, GivesASchemaOfAllKeys) {
  const auto folder = small_project("config_schema");
  const auto done = run(folder, {"config", "schema"});
  ASSERT_EQ(done.code, 0) << done.output;
  const auto schema = Json::parse(done.output);
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto& trainer = schema["properties"]["trainer"];
  EXPECT_EQ(trainer["additionalProperties"], false);
  EXPECT_EQ(trainer["properties"]["num_train_steps"]["anyOf"][0]["anyOf"][0]["type"], "integer");
  EXPECT_TRUE(trainer["properties"]["checkpointer"]["properties"].contains("base_path"));
  EXPECT_GT(schema["properties"]["model"]["allOf"].size(), 15U) << "a rule for each type of model";
}

// The file that is made says the same run as Levanter's, and is made of itself again.
TEST(ConfigCommand, RewritesAFile) {
  const auto folder = small_project("config_migrate");
  write_atomically(folder + "/levanter.yaml",
                   read_text(folder + "/config.yaml") + "\nuse_hf_model_config: null\n");
  const auto made = run(folder, {"config", "migrate", "levanter.yaml"});
  ASSERT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(made.output, HasSubstr("# Made by bora config migrate from levanter.yaml"));
  write_atomically(folder + "/mine.yaml", made.output);
  const auto difference = run(folder, {"config", "diff", "levanter.yaml", "mine.yaml"});
  EXPECT_EQ(difference.code, 0) << difference.output;
}

// Another type's keys, a block in the place of a default, and a null.
TEST(ConfigCommand, RewritesWhatStandsInThePlaceOfDefaults) {
  const auto folder = small_project("config_migrate_blocks");
  write_atomically(folder + "/blocks.yaml",
                   "data: {train_urls: [one.txt], format: {type: chat, messages_field: talk}}\n"
                   "model: {type: gpt2}\n"
                   "trainer: {fsdp_axis: null, checkpointer: {save_interval: null}}\n"
                   "optimizer: {skip_bad_steps: {rolling_interval_length: 40, sigma_factor: 5}}\n");
  const auto made = run(folder, {"config", "migrate", "blocks.yaml"});
  ASSERT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(made.output, AllOf(HasSubstr("sigma_factor: 5"), HasSubstr("messages_field: talk"),
                                 HasSubstr("save_interval: null"), testing::Not(HasSubstr("text_key"))));
  write_atomically(folder + "/mine.yaml", made.output);
  const auto difference = run(folder, {"config", "diff", "blocks.yaml", "mine.yaml"});
  EXPECT_EQ(difference.code, 0) << difference.output;
}

TEST(ConfigCommand, RewritesAllButWhatIsNotBuilt) {
  const auto folder = small_project("config_migrate_rest");
  write_atomically(folder + "/odd.yaml",
                   "data: {train_urls: [one.txt]}\nmodel: {type: gpt2, hidden_dim: 48}\n"
                   "optimizer: {type: zebra, learning_rate: 0.01, stripes: 3}\ntrainer: {seed: 7}\n");
  const auto made = run(folder, {"config", "migrate", "odd.yaml"});
  EXPECT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(
      made.output,
      AllOf(HasSubstr("# optimizer.type = zebra (odd.yaml:3) could not be written: zebra is not built yet"),
            HasSubstr("hidden_dim: 48"), HasSubstr("seed: 7"),
            HasSubstr("could not be written; comments say which")));
}

TEST(ConfigCommand, RefusesWhatItDoesNotKnow) {
  const auto folder = small_project("config_wrong");
  const auto wrong = run(folder, {"config", "shema"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("config: shema is not one of explain, diff, schema, migrate; did you "
                                      "mean `schema`?"));
  EXPECT_EQ(run(folder, {"config"}).code, 2);
  EXPECT_THAT(run(folder, {"config", "schema", "x"}).output, HasSubstr("config: 1 argument given"));
}

TEST(EvalCommand, GivesItsNumbersAsJson) {
  const auto folder = small_project("eval_json");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.id=a", "--trainer.num_train_steps=2"}).code, 0);
  const auto done = run(folder, {"eval", "config.yaml", "--model", "runs/a", "--json"});
  ASSERT_EQ(done.code, 0) << done.output;
  const auto last = done.output.rfind('\n', done.output.size() - 2);
  const auto line = Json::parse(done.output.substr(last == std::string::npos ? 0 : last + 1));
  EXPECT_EQ(line["event"], "evaluation");
  EXPECT_GT(line["metrics"]["eval/loss"], 0.0);
  // a run keeps its configuration, with which its checkpoints are evaluated too
  for (const char* model : {"runs/a", "runs/a/step-2"})
    EXPECT_THAT(run(folder, {"eval", "--model", model, "--json"}).output, HasSubstr(line["metrics"].dump()));
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  const auto two =
      run(folder, {"launch", "-n", "2", "--", "eval", "config.yaml", "--model", "runs/a", "--json"});
  ASSERT_EQ(two.code, 0) << two.output;
  EXPECT_THAT(two.output, HasSubstr(line["metrics"].dump()));
  const auto wrong = run(folder, {"launch", "-n", "2", "--", "eval", "config.yaml", "--modle", "runs/a"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("eval: "), HasSubstr("--modle")));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/config_node.h"
#include "bora/optim/optimizer_types.h"
#include "bora/optim/schedule.h"
#include "bora/optim/sgd.h"
#include "bora/optim/test_builtin_optimizers.h"

namespace bora::optim {
namespace {

using testing::ElementsAre;

struct File {
  OptimizerChoice optimizer;
  void bind(Binder& b) { b.field("optimizer", optimizer); }
};

std::vector<std::string> problems_of(const std::string& yaml, OptimizerChoice& out) {
  ConfigTree tree;
  tree.merge_text("optimizer:\n" + yaml, "my.yaml");
  File file;
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, file)) lines.push_back(p.where + " " + p.key + " " + p.message);
  out = file.optimizer;
  return lines;
}

std::vector<std::string> problems_of(const std::string& yaml) {
  OptimizerChoice ignored;
  return problems_of(yaml, ignored);
}

OptimizerChoice read_choice(const std::string& yaml) {
  OptimizerChoice c;
  EXPECT_THAT(problems_of(yaml, c), ElementsAre()) << yaml;
  return c;
}

AdamConfig read(const std::string& yaml) { return read_choice(yaml).config.as<AdamConfig>(); }

TEST(OptimizerConfig, DefaultsAreLevanters) {
  EXPECT_EQ(OptimizerChoice().type, "adam");
  const AdamConfig c;
  EXPECT_EQ(c.learning_rate, 6e-4);
  EXPECT_EQ(c.weight_decay, 0.1);
  EXPECT_EQ(c.min_lr_ratio, 0.1);
  EXPECT_EQ(c.warmup, 0.01);
  EXPECT_EQ(c.lr_schedule.type, "cosine");
  EXPECT_EQ(c.beta2, 0.95);
  EXPECT_EQ(c.max_grad_norm, 1.0);
}

TEST(OptimizerConfig, ReadsLevantersSpellings) {
  const auto c = read(
      "  learning_rate: 1E-3\n  warmup: 2000\n  decay: 0.2\n  lr_schedule: linear\n  cycles: [300, 700]\n"
      "  max_grad_norm: null\n  weight_decay_modules: ['attn', 'mlp']\n  default_weight_decay_mask: true\n");
  EXPECT_EQ(c.learning_rate, 1e-3);
  EXPECT_EQ(c.warmup, 2000);
  EXPECT_EQ(c.decay, 0.2);
  EXPECT_EQ(c.lr_schedule.type, "linear");
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(c.cycles), (std::vector<std::int64_t>{300, 700}));
  EXPECT_FALSE(c.max_grad_norm.has_value());
  EXPECT_EQ(std::get<std::vector<std::string>>(c.weight_decay_modules).size(), 2u);
  EXPECT_EQ(c.default_weight_decay_mask, true);
}

TEST(OptimizerConfig, StateMayBeBf16) {
  EXPECT_EQ(read("  beta1: 0.9\n").state_dtype, core::DType::f32);
  for (const char* word : {"bf16", "bfloat16"})
    EXPECT_EQ(read(std::string("  state_dtype: ") + word + "\n").state_dtype, core::DType::bf16) << word;
  EXPECT_EQ(read_choice("  type: sgd\n  state_dtype: bf16\n")->state_dtype, core::DType::bf16);
  EXPECT_THAT(problems_of("  state_dtype: fp16\n"),
              ElementsAre("my.yaml:2 optimizer.state_dtype = fp16 not one of f32, bf16, float32, bfloat16"));
}

TEST(OptimizerConfig, OneValueIsNotAListOfOne) {
  EXPECT_EQ(std::get<std::int64_t>(read("  cycles: 3\n").cycles), 3);
  EXPECT_EQ(std::get<double>(read("  cycle_length: 0.25\n").cycle_length), 0.25);
  EXPECT_EQ(std::get<std::string>(read("  weight_decay_modules: .*attn.*\n").weight_decay_modules),
            ".*attn.*");
  EXPECT_EQ(read("  cycles: null\n").cycles.index(), 0u);
}

TEST(OptimizerConfig, HapsAreCycles) {
  using Steps = std::vector<std::int64_t>;
  EXPECT_EQ(std::get<Steps>(read("  haps: [30, 60]\n").cycles), (Steps{30, 60}));
  EXPECT_EQ(std::get<std::int64_t>(read("  haps: null\n  cycles: 3\n").cycles), 3);
  EXPECT_THAT(
      problems_of("  haps: [30, 60]\n  cycles: [30, 60]\n"),
      ElementsAre("my.yaml:2 optimizer.haps is an older name of cycles, which is given, too; leave it out"));
  EXPECT_THAT(problems_of("  haps: [60, 30]\n  cycle_length: 5\n"),
              ElementsAre("my.yaml:2 optimizer.haps must be rising steps above 0",
                          "my.yaml:3 optimizer.cycle_length = 5 excludes haps; give one of them"));
}

TEST(OptimizerConfig, SkipBadStepsHasFourSpellings) {
  EXPECT_FALSE(read("  skip_bad_steps: false\n").skip_bad_steps);
  EXPECT_FALSE(read("  skip_bad_steps: null\n").skip_bad_steps);
  const auto on = read("  skip_bad_steps: true\n").skip_bad_steps;
  ASSERT_TRUE(on);
  EXPECT_EQ(on->rolling_interval_length, 128);
  EXPECT_EQ(on->sigma_factor, 6);
  EXPECT_EQ(read("  skip_bad_steps: 64\n").skip_bad_steps->rolling_interval_length, 64);
  const auto map =
      read("  skip_bad_steps:\n    rolling_interval_length: 32\n    sigma_factor: 4\n").skip_bad_steps;
  ASSERT_TRUE(map);
  EXPECT_EQ(map->rolling_interval_length, 32);
  EXPECT_EQ(map->sigma_factor, 4);
  EXPECT_EQ(read("  clip_update_norm: true\n").clip_update_norm->sigma_factor, 3);
}

TEST(OptimizerConfig, TheShapeMayBeAMap) {
  const auto c = read("  lr_schedule:\n    type: power\n    batch_size: 128\n    seq_length: 1024\n");
  EXPECT_EQ(c.lr_schedule.type, "power");
  EXPECT_EQ(c.lr_schedule.seq_length, 1024);
}

TEST(OptimizerConfig, ATypeThatIsNotBuilt) {
  EXPECT_THAT(
      problems_of("  type: muon\n  momentum: 0.95\n"),
      ElementsAre(
          "my.yaml:2 optimizer.type = muon muon is not built yet; available: adam, sgd; without a known "
          "type its other keys were not looked at: momentum"));
  EXPECT_THAT(problems_of("  type: [adam]\n  momentum: 0.95\n"),
              ElementsAre(testing::HasSubstr("my.yaml:2 optimizer.type should be one of adam, sgd")));
}

TEST(OptimizerConfig, ATypeHasItsKeysAndThoseOfAll) {
  const auto c = read_choice("  type: sgd\n  momentum: 0.8\n  learning_rate: 0.5\n  skip_bad_steps: 32\n");
  EXPECT_EQ(c.type, "sgd");
  EXPECT_EQ(c.config.as<SgdConfig>().momentum, 0.8);
  EXPECT_EQ(c->learning_rate, 0.5);
  EXPECT_EQ(c->skip_bad_steps->rolling_interval_length, 32);
  EXPECT_THAT(problems_of("  type: sgd\n  beta1: 0.9\n  momentun: 0.8\n  warmup: -1\n"),
              ElementsAre(testing::StartsWith("my.yaml:3 optimizer.beta1 unknown key; valid here: type, "),
                          "my.yaml:4 optimizer.momentun unknown key; did you mean optimizer.momentum?",
                          "my.yaml:5 optimizer.warmup = -1 must be from 0 to 2147483647"));
}

TEST(OptimizerConfig, TheOrderOfKeysNamesRuns) {  // which are found again by what is written
  File file;
  std::vector<std::string> keys;
  ConfigTree tree;
  tree.merge_text(write_config(file), "written.yaml");
  for (const auto& child : tree.root().children[0].children) keys.push_back(child.key);
  EXPECT_THAT(keys, ElementsAre("type", "learning_rate", "min_lr_ratio", "warmup", "decay", "rewarmup",
                                "cycles", "cycle_length", "cooldown", "lr_schedule", "weight_decay",
                                "weight_decay_modules", "default_weight_decay_mask", "beta1", "beta2",
                                "epsilon", "max_grad_norm", "state_dtype", "nesterov", "adamc_weight_decay",
                                "update_rms_clipping", "clip_update_norm", "skip_bad_steps"));
}

TEST(OptimizerConfig, AWrongShapeListsTheValidOnes) {
  const auto lines = problems_of("  learning_rate: 1e-3\n  lr_schedule: cos\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::HasSubstr("my.yaml:3 optimizer.lr_schedule = cos"));
  EXPECT_THAT(lines[0], testing::HasSubstr(
                            "constant, cosine, inv, inv_sqrt, inv_sqrt_decay, linear, polynomial, power"));
}

TEST(OptimizerConfig, NumbersOfOtherShapesAreRefused) {
  EXPECT_THAT(
      problems_of("  lr_schedule: {type: cosine, power: 3}\n"),
      ElementsAre("my.yaml:2 optimizer.lr_schedule.power = 3 has no effect with optimizer.lr_schedule.type = "
                  "cosine, only with polynomial; change optimizer.lr_schedule.type, or leave it out"));
  EXPECT_EQ(problems_of("  lr_schedule: {decay_constant: 3}\n").size(), 1u);
  EXPECT_EQ(problems_of("  lr_schedule: {type: polynomial, power: 3, exponent: 2, a: 1}\n").size(), 2u);
  EXPECT_THAT(problems_of("  lr_schedule: {type: linear, power: 2, batch_size: null}\n"), ElementsAre());
  // A record says the numbers of all shapes.
  OptimizerChoice choice = read_choice("  lr_schedule: {type: polynomial, power: 3}\n");
  choice->lr_schedule.exponent = 2;
  File file{choice};
  ConfigTree tree;
  tree.merge_text(write_config(file), "my.yaml");
  EXPECT_TRUE(read_config(tree, file).empty());
  EXPECT_EQ(file.optimizer->lr_schedule.exponent, 2);
  tree.override_value("optimizer.lr_schedule.exponent", "3");
  EXPECT_EQ(read_config(tree, file).size(), 1u);
}

TEST(OptimizerConfig, ProblemsOfValues) {
  const auto lines = problems_of(
      "  warmup: 10.5\n  rewarmup: -1\n  min_lr_ratio: 2\n  beta1: 1\n  epsilon: 0\n  cycles: [30, 20]\n"
      "  cycle_length: 5\n  weight_decay: -1\n");
  EXPECT_THAT(lines, ElementsAre("my.yaml:2 optimizer.warmup = 10.5 10.5 is neither a fraction (up to 1.0) "
                                 "nor a whole number of steps; "
                                 "nearest: 10 or 11",
                                 "my.yaml:3 optimizer.rewarmup = -1 must be from 0 to 2147483647",
                                 "my.yaml:4 optimizer.min_lr_ratio = 2 must be from 0 to 1",
                                 "my.yaml:5 optimizer.beta1 = 1 must be at least 0 and below 1",
                                 "my.yaml:6 optimizer.epsilon = 0 must be from 1e-30 to 1000",
                                 "my.yaml:7 optimizer.cycles must be rising steps above 0",
                                 "my.yaml:8 optimizer.cycle_length = 5 excludes cycles; give one of them",
                                 "my.yaml:9 optimizer.weight_decay = -1 must be at least 0"));
  EXPECT_THAT(problems_of("  skip_bad_steps: 1\n  cycles: 0\n"),
              ElementsAre("my.yaml:2 optimizer.skip_bad_steps = 1 must be from 2 to 1000000",
                          "my.yaml:3 optimizer.cycles = 0 must be at least 1"));
  EXPECT_THAT(problems_of("  cycle_length: [0.5, 0]\n"),
              ElementsAre("my.yaml:2 optimizer.cycle_length.1 = 0 must be above 0 and at most 2147483647"));
  EXPECT_EQ(problems_of("  lr_schedule: power\n").size(), 1u);
  EXPECT_EQ(problems_of("  lr_schedule: inv\n  min_lr_ratio: 0\n").size(), 1u);
  EXPECT_EQ(problems_of("  update_rms_clipping: 1\n  clip_update_norm: true\n").size(), 1u);
}

TEST(OptimizerConfig, WritesWhatItReads) {
  for (const std::string yaml :
       {"  cycles: [300, 700]\n  skip_bad_steps: 32\n  max_grad_norm: null\n",
        "  cycle_length: 0.5\n  weight_decay_modules: .*attn\n  lr_schedule: {type: cosine, exponent: 2}\n",
        "  decay: 0.1\n  cycles: 2\n  clip_update_norm: true\n"}) {
    File file{read_choice(yaml)};
    ConfigTree tree;
    tree.merge_text(write_config(file), "written.yaml");
    File again;
    EXPECT_TRUE(read_config(tree, again).empty()) << write_config(file);
    EXPECT_EQ(write_config(again), write_config(file));
    const auto &was = file.optimizer.config.as<AdamConfig>(), &is = again.optimizer.config.as<AdamConfig>();
    EXPECT_EQ(is.cycles, was.cycles);
    EXPECT_EQ(is.lr_schedule, was.lr_schedule);
    EXPECT_EQ(is.skip_bad_steps.has_value(), was.skip_bad_steps.has_value());
    EXPECT_EQ(is.max_grad_norm, was.max_grad_norm);
  }
}

TEST(OptimizerConfig, Documents) {
  const std::string table = describe_config(*std::make_unique<File>());
  for (const char* key : {"cycle_length", "skip_bad_steps", "lr_schedule", "weight_decay_modules"}) {
    EXPECT_NE(table.find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace bora::optim

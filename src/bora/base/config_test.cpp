// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config.h"

#include <gtest/gtest.h>

#include <limits>

#include "bora/base/error.h"

namespace bora {
namespace {

using Names = std::vector<std::string>;

struct KeepConfig {
  std::int64_t every = 0;
  std::optional<std::int64_t> until;
  void bind(Binder& b) {
    b.field("every", every, kNonNegative, "steps between two");
    b.field("until", until, kNonNegative, "last step");
  }
  bool operator==(const KeepConfig&) const = default;
};

struct CheckpointerConfig {
  std::string base_path = "checkpoints/";
  Duration save_interval{900};
  std::vector<KeepConfig> keep = {{10000, {}}};
  void bind(Binder& b) {
    b.field("base_path", base_path, "where runs keep their checkpoints");
    b.field("save_interval", save_interval, kNonNegative, "time between temporary checkpoints");
    b.field("keep", keep, "permanent checkpoints");
  }
  bool operator==(const CheckpointerConfig&) const = default;
};

struct TrainerConfig {
  std::int64_t train_batch_size = 32;
  std::uint32_t seed = 0;
  bool quiet = false;
  float ema = 0.1f;
  std::optional<std::string> id;
  Names tags;
  CheckpointerConfig checkpointer;
  void bind(Binder& b) {
    b.field("train_batch_size", train_batch_size, at_least(1), "sequences per step");
    b.field("seed", seed, kNonNegative);
    b.field("quiet", quiet, "say nothing | little");
    b.field("ema", ema, kFinite);
    b.field("id", id, "name of the run");
    b.field("tags", tags, "for trackers");
    b.field("checkpointer", checkpointer, "when to save");
    b.ignored("ray", "Bora has no Ray");
  }
  bool operator==(const TrainerConfig&) const = default;
};

struct ModelConfig {
  std::string type = "gpt2";
  std::int64_t num_heads = 12;
  std::int64_t num_kv_heads = 12;
  void bind(Binder& b) {
    b.choice("type", type, {"gpt2", "llama"}, "the architecture");
    if (type == "llama") b.field("num_kv_heads", num_kv_heads, kSize, "key and value heads");
    b.field("num_heads", num_heads, kSize, "query heads");
    if (b.sound({"num_heads", "num_kv_heads"}) && num_heads % num_kv_heads != 0) {
      b.problem("num_kv_heads",
                "must divide model.num_heads = " + std::to_string(num_heads) + "; nearest: 4 or 6");
    }
  }
  bool operator==(const ModelConfig&) const = default;
};

struct OptimizerConfig {
  double learning_rate = 6e-4;
  std::string lr_schedule = "cosine";
  std::optional<double> max_grad_norm = 1.0;
  void bind(Binder& b) {
    b.field("learning_rate", learning_rate, kFinite, "peak");
    b.choice("lr_schedule", lr_schedule, {"constant", "cosine", "inv", "inv_sqrt", "linear", "power"});
    b.field("max_grad_norm", max_grad_norm, kPositive, "clip");
  }
  bool operator==(const OptimizerConfig&) const = default;
};

struct RunConfig {
  TrainerConfig trainer;
  ModelConfig model;
  OptimizerConfig optimizer;
  std::vector<std::pair<std::string, double>> train_weights;
  std::vector<std::pair<std::string, CheckpointerConfig>> places;
  std::optional<KeepConfig> extra;
  void bind(Binder& b) {
    b.field("trainer", trainer, "how to train");
    b.field("model", model, "what to train");
    b.field("optimizer", optimizer, "with what");
    b.field("train_weights", train_weights, kFraction, "share of each source");
    b.field("places", places);
    b.field("extra", extra, "one more");
  }
  bool operator==(const RunConfig&) const = default;
};

ConfigTree named_tree(std::string_view yaml, const std::string& name = "my.yaml") {
  ConfigTree tree;
  tree.merge_text(yaml, name);
  return tree;
}

// "where | key | message" of every problem.
Names listed(const std::vector<ConfigProblem>& problems) {
  Names lines;
  for (const auto& p : problems) lines.push_back(p.where + " | " + p.key + " | " + p.message);
  return lines;
}

Names problems_of(std::string_view yaml) {
  RunConfig config;
  return listed(read_config(named_tree(yaml), config));
}

RunConfig read_well(std::string_view yaml) {
  RunConfig config;
  EXPECT_EQ(listed(read_config(named_tree(yaml), config)), Names{});
  return config;
}

TEST(Config, ReadsEveryKindOfField) {
  const auto config = read_well(R"(
trainer:
  train_batch_size: 16
  seed: 7
  quiet: true
  ema: 0.25
  id: run-1
  tags: [a, "b"]
  checkpointer:
    base_path: "gs://x"
    save_interval: 5m
    keep:
      - every: 50
        until: 1e3
      - {every: 1_000}
model: {type: llama, num_kv_heads: 4}
optimizer:
  learning_rate: 1E-3
  max_grad_norm: ~
train_weights: {owt: 0.6, wikitext: .4}
places:
  here: {base_path: a}
  there:
extra: {every: 3}
)");
  EXPECT_EQ(config.trainer.train_batch_size, 16);
  EXPECT_EQ(config.trainer.seed, 7U);
  EXPECT_TRUE(config.trainer.quiet);
  EXPECT_EQ(config.trainer.ema, 0.25f);
  EXPECT_EQ(config.trainer.id, "run-1");
  EXPECT_EQ(config.trainer.tags, (Names{"a", "b"}));
  EXPECT_EQ(config.trainer.checkpointer.base_path, "gs://x");
  EXPECT_EQ(config.trainer.checkpointer.save_interval.seconds, 300);
  EXPECT_EQ(config.trainer.checkpointer.keep, (std::vector<KeepConfig>{{50, 1000}, {1000, {}}}));
  EXPECT_EQ(config.model.num_kv_heads, 4);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(config.optimizer.max_grad_norm, std::nullopt);
  ASSERT_EQ(config.train_weights.size(), 2U);
  EXPECT_EQ(config.train_weights[1], (std::pair<std::string, double>{"wikitext", 0.4}));
  ASSERT_EQ(config.places.size(), 2U);
  EXPECT_EQ(config.places[0].second.base_path, "a");
  EXPECT_EQ(config.places[1].second, CheckpointerConfig{});
  EXPECT_EQ(config.extra, (KeepConfig{3, {}}));
}

TEST(Config, NothingKeepsTheDefaults) {
  EXPECT_EQ(read_well(""), RunConfig{});
  EXPECT_EQ(read_well("# only a comment\n"), RunConfig{});
  EXPECT_EQ(read_well("trainer:\nmodel: {}\n"), RunConfig{});
}

TEST(Config, ListsReplaceTheirDefaultsAndOneValueIsAListOfOne) {
  auto config = read_well("trainer: {tags: one, checkpointer: {keep: {every: 5}}}");
  EXPECT_EQ(config.trainer.tags, Names{"one"});
  EXPECT_EQ(config.trainer.checkpointer.keep, (std::vector<KeepConfig>{{5, {}}}));
  config = read_well("trainer: {checkpointer: {keep: [{until: 5}]}}");
  EXPECT_EQ(config.trainer.checkpointer.keep,
            (std::vector<KeepConfig>{{0, 5}}));  // not the default's `every`
  EXPECT_TRUE(read_well("trainer: {checkpointer: {keep: []}}").trainer.checkpointer.keep.empty());
}

TEST(Config, SpellingsOfScalars) {
  for (auto word : {"true", "True", "TRUE", "\"true\""}) {
    EXPECT_TRUE(read_well(std::string("trainer: {quiet: ") + word + "}").trainer.quiet) << word;
  }
  for (auto word : {"16", "1.6e1", "16.0", "\"16\"", "1_6"}) {
    EXPECT_EQ(read_well(std::string("trainer: {train_batch_size: ") + word + "}").trainer.train_batch_size,
              16)
        << word;
  }
  EXPECT_EQ(read_well("optimizer: {learning_rate: 3}").optimizer.learning_rate, 3);
  EXPECT_EQ(read_well("trainer: {id: 123}").trainer.id, "123");
  EXPECT_EQ(read_well("trainer: {id: \"~\"}").trainer.id, "~");
  EXPECT_EQ(
      read_well("trainer: {checkpointer: {save_interval: 90}}").trainer.checkpointer.save_interval.seconds,
      90);
}

// As in Levanter's files: a key with nothing behind it.
TEST(Config, NullLeavesTheDefault) {
  const auto config = read_well(
      "trainer: {train_batch_size: null, quiet: ~, tags:, id: null, checkpointer: {base_path: null,\n"
      "save_interval: null, keep: null}}\noptimizer: {learning_rate: ~}");
  const auto plain = read_well("{}");
  EXPECT_EQ(config.trainer.train_batch_size, plain.trainer.train_batch_size);
  EXPECT_EQ(config.trainer.quiet, plain.trainer.quiet);
  EXPECT_EQ(config.trainer.tags, plain.trainer.tags);
  EXPECT_EQ(config.trainer.checkpointer.base_path, plain.trainer.checkpointer.base_path);
  EXPECT_EQ(config.trainer.checkpointer.save_interval, plain.trainer.checkpointer.save_interval);
  EXPECT_EQ(config.trainer.checkpointer.keep, plain.trainer.checkpointer.keep);
  EXPECT_EQ(config.optimizer.learning_rate, plain.optimizer.learning_rate);
}

TEST(ConfigProblems, WrongTypes) {
  EXPECT_EQ(
      problems_of("trainer:\n  train_batch_size: abc\n  quiet: yes\n  tags: ~\n  id: [x]\n  ema: high\n"
                  "  checkpointer:\n    save_interval: soon\n    base_path: ~\n"),
      (Names{"my.yaml:2 | trainer.train_batch_size | should be an integer but is \"abc\"",
             "my.yaml:3 | trainer.quiet | should be true or false but is \"yes\"; did you mean true?",
             "my.yaml:5 | trainer.id | should be a string but is a list",
             "my.yaml:6 | trainer.ema | should be a number but is \"high\"",
             "my.yaml:8 | trainer.checkpointer.save_interval | should be a duration such as 90s, 15m, 2h or "
             "1d but is \"soon\""}));
  EXPECT_EQ(problems_of("trainer: [1]\nmodel: gpt2\noptimizer: {learning_rate: {a: 1}}\ntrain_weights: [1]"),
            (Names{"my.yaml:1 | trainer | should be a map but is a list",
                   "my.yaml:2 | model | should be a map but is \"gpt2\"",
                   "my.yaml:3 | optimizer.learning_rate | should be a number but is a map",
                   "my.yaml:4 | train_weights | should be a map but is a list"}));
  EXPECT_EQ(problems_of("trainer: {train_batch_size: 1.5, quiet: 1}"),
            (Names{"my.yaml:1 | trainer.train_batch_size | should be an integer but is 1.5",
                   "my.yaml:1 | trainer.quiet | should be true or false but is 1; did you mean true?"}));
  EXPECT_EQ(problems_of("trainer: {train_batch_size: 0x10}"),
            (Names{"my.yaml:1 | trainer.train_batch_size | should be an integer but is \"0x10\""}));
  EXPECT_EQ(
      problems_of("- 1\n- 2\n"),
      (Names{"my.yaml:1 |  | should be a map but is a list; a configuration is made of lines `key: value`"}));
  EXPECT_EQ(
      problems_of("hello"),
      (Names{
          "my.yaml:1 |  | should be a map but is \"hello\"; a configuration is made of lines `key: value`"}));
}

TEST(ConfigProblems, ACommaInANumber) {
  EXPECT_EQ(problems_of("trainer: {train_batch_size: 1,000}"),
            Names{"my.yaml:1 | trainer.000 | unknown key; a comma ends a value: numbers are written without, "
                  "train_batch_size: 1000"});
}

TEST(ConfigProblems, NumbersThatDoNotFit) {
  EXPECT_EQ(problems_of("trainer: {seed: -1}"),
            (Names{"my.yaml:1 | trainer.seed = -1 | must be at least 0"}));
  EXPECT_EQ(problems_of("trainer: {seed: 4294967296}"),
            (Names{"my.yaml:1 | trainer.seed = 4294967296 | must be from 0 to 4294967295"}));
  for (const std::string huge : {"9223372036854775808", "9223372036854775807", "1e300"}) {
    EXPECT_EQ(
        problems_of("trainer: {train_batch_size: " + huge + "}"),
        (Names{"my.yaml:1 | trainer.train_batch_size = " + huge + " | must be from 1 to 9007199254740992"}));
  }
}

TEST(ConfigProblems, DefaultsStayWhereThereAreProblems) {
  RunConfig config;
  read_config(named_tree("trainer: {train_batch_size: x, seed: 5, tags: ~}"), config);
  EXPECT_EQ(config.trainer.train_batch_size, 32);
  EXPECT_EQ(config.trainer.seed, 5U);
}

TEST(ConfigProblems, InListsAndMaps) {
  EXPECT_EQ(
      problems_of("trainer:\n  checkpointer:\n    keep:\n    - every: 5\n    - evry: 5\n      until: x\n"),
      (Names{"my.yaml:5 | trainer.checkpointer.keep.1.evry | unknown key; did you mean "
             "trainer.checkpointer.keep.1.every?",
             "my.yaml:6 | trainer.checkpointer.keep.1.until | should be an integer but is \"x\""}));
  EXPECT_EQ(problems_of("trainer: {checkpointer: {keep: {every: x}}}"),
            (Names{"my.yaml:1 | trainer.checkpointer.keep.every | should be an integer but is \"x\""}));
  EXPECT_EQ(problems_of("trainer: {checkpointer: {keep: 5}}"),
            (Names{"my.yaml:1 | trainer.checkpointer.keep | should be a map but is 5"}));
  EXPECT_EQ(problems_of("train_weights: {a: x}"),
            (Names{"my.yaml:1 | train_weights.a | should be a number but is \"x\""}));
}

TEST(ConfigProblems, UnknownKeysNameTheNearest) {
  EXPECT_EQ(
      problems_of("trainer:\n  train_batchsize: 5\n"),
      (Names{"my.yaml:2 | trainer.train_batchsize | unknown key; did you mean trainer.train_batch_size?"}));
  EXPECT_EQ(problems_of("trainer: {batch_size: 3}"),
            (Names{"my.yaml:1 | trainer.batch_size | unknown key; did you mean trainer.train_batch_size?"}));
  EXPECT_EQ(problems_of("batch_size: 3"),
            (Names{"my.yaml:1 | batch_size | unknown key; did you mean trainer.train_batch_size?"}));
  EXPECT_EQ(problems_of("trainer.train_batch_size: 3"),
            (Names{"my.yaml:1 | trainer.train_batch_size | unknown key; blocks stand in each other: "
                   "trainer: {train_batch_size: ...}"}));
  EXPECT_EQ(problems_of("trianer: {}"), (Names{"my.yaml:1 | trianer | unknown key; did you mean trainer?"}));
}

TEST(ConfigProblems, UnknownKeysThatBelongElsewhere) {
  EXPECT_EQ(
      problems_of("model:\n  train_batch_size: 5\n"),
      (Names{"my.yaml:2 | model.train_batch_size | unknown key; did you mean trainer.train_batch_size?"}));
  EXPECT_EQ(problems_of("lerning_rate: 5\n"),
            (Names{"my.yaml:1 | lerning_rate | unknown key; did you mean optimizer.learning_rate?"}));
}

TEST(ConfigProblems, UnknownKeysWithNothingNearListTheValidOnes) {
  EXPECT_EQ(problems_of("optimizer: {heed: 1}"),
            (Names{"my.yaml:1 | optimizer.heed | unknown key; valid here: learning_rate, lr_schedule, "
                   "max_grad_norm"}))
      << "seed is near by chance";
  EXPECT_EQ(problems_of("optimizer: {zzzzzz: 1}"),
            (Names{"my.yaml:1 | optimizer.zzzzzz | unknown key; valid here: learning_rate, lr_schedule, "
                   "max_grad_norm"}));
  struct Empty {
    void bind(Binder&) {}
  } empty;
  EXPECT_EQ(listed(read_config(named_tree("a: 1"), empty)),
            (Names{"my.yaml:1 | a | unknown key; none is valid here"}));
  struct Wide {
    std::int64_t value = 0;
    void bind(Binder& b) {
      for (int i = 0; i < 14; ++i) b.field("field" + std::to_string(i), value, kFinite);
    }
  } wide;
  EXPECT_EQ(
      listed(read_config(named_tree("a: 1"), wide)),
      (Names{
          "my.yaml:1 | a | unknown key; valid here: field0, field1, field2, field3, field4, field5, field6, "
          "field7, field8, field9, field10, field11 and 2 more"}));
}

TEST(ConfigProblems, UnknownSectionsAreReportedOnce) {
  EXPECT_EQ(problems_of("zzzzzzzz: {a: {b: 1}, c: [1, 2]}").size(), 1U);
}

TEST(ConfigProblems, Choices) {
  EXPECT_EQ(problems_of("optimizer: {lr_schedule: cos}"),
            (Names{"my.yaml:1 | optimizer.lr_schedule = cos | not one of constant, cosine, inv, inv_sqrt, "
                   "linear, power"}));
  EXPECT_EQ(problems_of("optimizer: {lr_schedule: cosin}"),
            (Names{"my.yaml:1 | optimizer.lr_schedule = cosin | not one of constant, cosine, inv, inv_sqrt, "
                   "linear, power; "
                   "did you mean cosine?"}));
  EXPECT_EQ(problems_of("model: {type: [a]}"),
            (Names{"my.yaml:1 | model.type | should be one of gpt2, llama but is a list"}));
}

TEST(ConfigProblems, KeysOfAnUnknownTypeAreNotBlamed) {
  EXPECT_EQ(problems_of("model: {type: lama, rope: 1, num_kv_heads: 3}"),
            (Names{"my.yaml:1 | model.type = lama | not one of gpt2, llama; did you mean llama?"}));
}

TEST(ConfigProblems, KeysThatWereLookedAtButNotBound) {
  struct Looks {
    void bind(Binder& b) { b.present("maybe"); }
  } looks;
  EXPECT_EQ(listed(read_config(named_tree("maybe: 1"), looks)),
            (Names{"my.yaml:1 | maybe | not used together with the other keys here"}));
  EXPECT_EQ(listed(read_config(named_tree("maybe: [1]"), looks)),
            (Names{"my.yaml:1 | maybe | cannot be a list here"}));
}

TEST(ConfigProblems, OfTheProgramsOwn) {
  EXPECT_EQ(
      problems_of("model:\n  type: llama\n  num_kv_heads: 5\n"),
      (Names{"my.yaml:3 | model.num_kv_heads = 5 | must divide model.num_heads = 12; nearest: 4 or 6"}));
  // The value that is wrong is a default: the section is the place.
  EXPECT_EQ(problems_of("a: 1\nmodel:\n  num_heads: 7\n").at(1),
            "my.yaml:2 | model.num_kv_heads | must divide model.num_heads = 7; nearest: 4 or 6");
  struct Deep {
    std::int64_t a = 0;
    void bind(Binder& b) {
      b.ignored("x", "");
      b.field("a", a, kFinite);
      b.problem("x.y", "bad");
      b.problem("", "all bad");
      b.problem("a", std::string("long"));
      b.problem("a", std::string("long"));
    }
  } deep;
  EXPECT_EQ(listed(read_config(named_tree("a: 1234\nx:\n  y: 5"), deep)),
            (Names{"my.yaml:1 |  | all bad", "my.yaml:1 | a = 1234 | long", "my.yaml:3 | x.y = 5 | bad"}));
}

TEST(ConfigProblems, LongValuesAreClipped) {
  EXPECT_EQ(problems_of("optimizer: {lr_schedule: " + std::string(60, 'x') + "}").at(0).substr(12, 75),
            "optimizer.lr_schedule = " + std::string(40, 'x') + "... | not o");
}

TEST(ConfigProblems, SortedByFileAndLineOverridesLast) {
  ConfigTree tree = named_tree("zz1: 1\ntrainer:\n  seed: x\n", "b.yaml");
  tree.merge_text("trainer:\n  quiet: x\n", "a.yaml");
  tree.override_value("trainer.train_batch_size", "x");
  RunConfig config;
  const auto problems = listed(read_config(tree, config));
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_EQ(problems[0], "a.yaml:2 | trainer.quiet | should be true or false but is \"x\"");
  EXPECT_EQ(problems[1].substr(0, 12), "b.yaml:1 | z");
  EXPECT_EQ(problems[2], "b.yaml:3 | trainer.seed | should be an integer but is \"x\"");
  EXPECT_EQ(problems[3],
            "--trainer.train_batch_size | trainer.train_batch_size | should be an integer but is \"x\"");
}

TEST(ConfigProblems, LookLikeTheStoryboard) {
  const std::vector<ConfigProblem> problems{
      {"my.yaml:7", "trainer.train_batchsize", "unknown key; did you mean trainer.train_batch_size?"},
      {"my.yaml:12", "model.num_kv_heads = 5", "must divide model.num_heads = 12; nearest: 4 or 6"},
      {"my.yaml:15", "optimizer.lr_schedule = cos",
       "not one of constant, cosine, inv, inv_sqrt, linear, power"}};
  EXPECT_EQ(
      format_problems("my.yaml", problems),
      "my.yaml has 3 problems; nothing was started.\n"
      "  my.yaml:7    trainer.train_batchsize      unknown key; did you mean trainer.train_batch_size?\n"
      "  my.yaml:12   model.num_kv_heads = 5       must divide model.num_heads = 12; nearest: 4 or 6\n"
      "  my.yaml:15   optimizer.lr_schedule = cos  not one of constant, cosine, inv, inv_sqrt, linear, "
      "power");
  EXPECT_EQ(format_problems("é.yaml", {{"é.yaml:1", "ä", "x"}, {"é.yaml:10", "bc", "y"}}),
            "é.yaml has 2 problems; nothing was started.\n"
            "  é.yaml:1    ä   x\n"
            "  é.yaml:10   bc  y");
  EXPECT_EQ(format_problems("a", {{"a:1", "b", "c"}}), "a has 1 problem; nothing was started.\n  a:1   b  c");
  EXPECT_EQ(format_problems("a", {{"a:1", "b", "x"}, {"--c.d", "c.d = 3", "y"}, {"--c", "c.d", "z"}}),
            "a has 3 problems; nothing was started.\n"
            "  a:1   b    x\n"
            "  --c.d = 3  y\n"
            "  --c   c.d  z")
      << "a key that is its flag stands there once";
}

TEST(Config, IgnoredKeysAreListedWithTheirReason) {
  RunConfig config;
  const auto tree = named_tree("trainer:\n  ray: {address: x}\n  seed: 3\n");
  EXPECT_EQ(listed(read_config(tree, config)), Names{});
  EXPECT_EQ(listed(ignored_keys(tree, config)), Names{"my.yaml:2 | trainer.ray | Bora has no Ray"});
}

// A value with several spellings.
struct Schedule {
  std::int64_t constant = 1;
  std::vector<KeepConfig> steps;
  bool looked_null = false;
  std::string policy;
  void bind(Binder& b) {
    if (b.is_list("batch"))
      b.field("batch", steps);
    else
      b.field("batch", constant, kSize);
    looked_null = b.is_null("nothing");
    b.mark_used("nothing");
    if (auto text = b.text("policy")) policy = *text;
    b.mark_used("policy");
    if (b.is_map("policy")) policy = "map of " + b.path("policy");
  }
};

TEST(Config, SeveralSpellings) {
  Schedule schedule;
  EXPECT_EQ(listed(read_config(named_tree("batch: 5\nnothing: ~\npolicy: full"), schedule)), Names{});
  EXPECT_EQ(schedule.constant, 5);
  EXPECT_TRUE(schedule.looked_null);
  EXPECT_EQ(schedule.policy, "full");
  EXPECT_EQ(listed(read_config(named_tree("batch: [{every: 2}]\npolicy: {a: 1}"), schedule)), Names{});
  EXPECT_EQ(schedule.steps.size(), 1U);
  EXPECT_EQ(schedule.policy, "map of policy");
}

// Weights by step, as Levanter writes them: [0, {"owt": 0.8}].
struct Stage {
  std::int64_t start = 0;
  std::vector<std::pair<std::string, double>> weights;
  void bind(Binder& b) {
    b.field("0", start, kNonNegative);
    b.field("1", weights, kNonNegative);
  }
};
struct Stages {
  std::vector<std::pair<std::int64_t, double>> seen;
  void bind(Binder& b) {
    if (!b.reading() || !b.enter_list("train_weights")) return;
    for (std::size_t i = 0; i < b.list_size(); ++i) {
      if (!b.enter_list(std::to_string(i))) continue;
      Stage stage;
      stage.bind(b);
      for (const auto& [name, weight] : stage.weights) seen.emplace_back(stage.start, weight);
      b.leave();
    }
    b.leave();
  }
};

TEST(Config, FlowFormsOfStages) {
  Stages stages;
  EXPECT_EQ(listed(read_config(
                named_tree("train_weights:\n  - [0, {\"owt\": 0.8}]\n  - [1000, {\"owt\": 0.5}]\n"), stages)),
            Names{});
  EXPECT_EQ(stages.seen, (std::vector<std::pair<std::int64_t, double>>{{0, 0.8}, {1000, 0.5}}));
}

TEST(Config, BindingReadsKeysInOrder) {
  struct Keys {
    Names found;
    void bind(Binder& b) {
      if (!b.enter("m")) return;
      found = b.keys();
      for (const auto& key : found) b.mark_used(key);
      b.leave();
    }
  } keys;
  EXPECT_EQ(listed(read_config(named_tree("m: {b: 1, a: 2, a.b: 3}"), keys)), Names{});
  EXPECT_EQ(keys.found, (Names{"b", "a", "a.b"}));
}

TEST(Config, WritesAndReadsBack) {
  RunConfig config;
  config.trainer.id = "null";
  config.trainer.tags = {"a", "b, c", "12", "é", "yes", "", " x", "a: b", "line\nbreak", "-", "#1", "\x01"};
  config.trainer.ema = 0.1f;
  config.trainer.checkpointer.keep = {{1, 2}, {3, {}}};
  config.trainer.checkpointer.save_interval = {90};
  config.model.type = "llama";
  config.optimizer.learning_rate = 1e-5;
  config.optimizer.max_grad_norm = std::nullopt;
  config.train_weights = {{"owt", 1.0 / 3}, {"a.b", 1}, {"~", 0}};
  config.places = {{"x", {}}};
  const std::string yaml = write_config(config);
  EXPECT_EQ(read_well(yaml), config);
  EXPECT_EQ(yaml, R"(trainer:
  train_batch_size: 32
  seed: 0
  quiet: false
  ema: 0.1
  id: "null"
  tags: [a, "b, c", "12", "é", "yes", "", " x", "a: b", "line\nbreak", "-", "#1", "\x01"]
  checkpointer:
    base_path: checkpoints/
    save_interval: 90s
    keep:
      - every: 1
        until: 2
      - every: 3
        until: null
model:
  type: llama
  num_kv_heads: 12
  num_heads: 12
optimizer:
  learning_rate: 1.0e-05
  lr_schedule: cosine
  max_grad_norm: null
train_weights:
  owt: 0.3333333333333333
  a.b: 1
  "~": 0
places:
  x:
    base_path: checkpoints/
    save_interval: 15m
    keep:
      - every: 10000
        until: null
extra: null
)");
  EXPECT_EQ(read_well(write_config(*std::make_unique<RunConfig>())), RunConfig{});
}

TEST(Config, WritesDurationsShortAndExactly) {
  for (const auto& [seconds, text] :
       std::vector<std::pair<double, std::string>>{{0, "0"},
                                                   {90, "90s"},
                                                   {60, "1m"},
                                                   {7200, "2h"},
                                                   {86400, "1d"},
                                                   {0.5, "0.5"},
                                                   {1.0 / 3, "0.3333333333333333"}}) {
    CheckpointerConfig config;
    config.save_interval = {seconds};
    config.keep = {};
    EXPECT_EQ(write_config(config), "base_path: checkpoints/\nsave_interval: " + text + "\nkeep: []\n");
    CheckpointerConfig again;
    EXPECT_EQ(listed(read_config(named_tree(write_config(config)), again)), Names{});
    EXPECT_EQ(again, config);
  }
}

TEST(ConfigProblems, NumbersOutsideTheirRange) {
  EXPECT_EQ(problems_of("trainer:\n  train_batch_size: 0\n  checkpointer: {keep: [{every: 1}, {every: -5}]}\n"
                        "model: {num_heads: 4e9}\noptimizer: {max_grad_norm: 0}\n"
                        "train_weights: {a: 0.5, b: 1.5}\n"),
            (Names{"my.yaml:2 | trainer.train_batch_size = 0 | must be at least 1",
                   "my.yaml:3 | trainer.checkpointer.keep.1.every = -5 | must be at least 0",
                   "my.yaml:4 | model.num_heads = 4e9 | must be from 1 to 2147483647",
                   "my.yaml:5 | optimizer.max_grad_norm = 0 | must be above 0",
                   "my.yaml:6 | train_weights.b = 1.5 | must be from 0 to 1"}));
  for (const std::string word : {".inf", "-.inf"}) {
    EXPECT_EQ(problems_of("optimizer: {learning_rate: " + word + "}"),
              Names{"my.yaml:1 | optimizer.learning_rate = " + word + " | must be a finite number"});
  }
  for (const std::string word : {".nan", "nan", "inf"}) {
    EXPECT_EQ(problems_of("optimizer: {learning_rate: " + word + "}"),
              Names{"my.yaml:1 | optimizer.learning_rate | should be a number but is \"" + word + "\""});
  }
  EXPECT_EQ(problems_of("trainer: {ema: 1e39}").size(), 1U);  // beyond its type
}

template <class T>
concept BoundWithoutRange = requires(Binder& b, T& value) { b.field("key", value, "meaning"); };
template <class T>
concept BoundWithRange = requires(Binder& b, T& value) { b.field("key", value, kFinite, "meaning"); };

TEST(Config, NumbersCannotBeBoundWithoutARange) {
  using Counts = std::vector<std::pair<std::string, std::optional<std::int64_t>>>;
  static_assert(!BoundWithoutRange<std::int64_t> && BoundWithRange<std::int64_t>);
  static_assert(!BoundWithoutRange<double> && !BoundWithoutRange<Duration>);
  static_assert(!BoundWithoutRange<std::optional<double>> && BoundWithRange<std::optional<double>>);
  static_assert(!BoundWithoutRange<std::vector<double>> && !BoundWithoutRange<Counts>);
  static_assert(BoundWithoutRange<bool> && !BoundWithRange<bool>);
  static_assert(BoundWithoutRange<std::vector<std::string>> && BoundWithoutRange<RunConfig>);
}

TEST(ConfigProblems, OfValuesThatCameFromElsewhere) {
  RunConfig config, fresh;
  config.model = {.type = "llama", .num_heads = 0, .num_kv_heads = 5};
  config.optimizer.learning_rate = std::numeric_limits<double>::infinity();
  const KeyNames names = {{"model.num_heads", "n_head"}, {"model.num_kv_heads", "n_kv"}};
  EXPECT_EQ(listed(value_problems(config, fresh, names)),
            (Names{" | n_head = 0 | must be from 1 to 2147483647",
                   " | optimizer.learning_rate = .inf | must be a finite number"}));
  config = RunConfig{};
  config.model = {.type = "llama", .num_heads = 12, .num_kv_heads = 5};
  EXPECT_EQ(listed(value_problems(config, fresh, names)),
            Names{" | n_kv = 5 | must divide model.num_heads = 12; nearest: 4 or 6"});
}

TEST(Config, DescribesItself) {
  RunConfig config;
  EXPECT_EQ(describe_config(config), R"(| key | type | default | meaning |
|---|---|---|---|
| `trainer` | section |  | how to train |
| `trainer.train_batch_size` | integer, at least 1 | `32` | sequences per step |
| `trainer.seed` | integer, at least 0 | `0` |  |
| `trainer.quiet` | true or false | `false` | say nothing \| little |
| `trainer.ema` | number | `0.1` |  |
| `trainer.id` | string |  | name of the run |
| `trainer.tags` | list of strings | `[]` | for trackers |
| `trainer.checkpointer` | section |  | when to save |
| `trainer.checkpointer.base_path` | string | `checkpoints/` | where runs keep their checkpoints |
| `trainer.checkpointer.save_interval` | duration, at least 0 | `15m` | time between temporary checkpoints |
| `trainer.checkpointer.keep` | list of sections | `[{every: 10000, until: null}]` | permanent checkpoints |
| `trainer.checkpointer.keep[].every` | integer, at least 0 | `0` | steps between two |
| `trainer.checkpointer.keep[].until` | integer, at least 0 |  | last step |
| `trainer.ray` | anything |  | not used: Bora has no Ray |
| `model` | section |  | what to train |
| `model.type` | one of gpt2, llama | `gpt2` | the architecture |
| `model.num_heads` | integer, from 1 to 2147483647 | `12` | query heads |
| `optimizer` | section |  | with what |
| `optimizer.learning_rate` | number | `0.0006` | peak |
| `optimizer.lr_schedule` | one of constant, cosine, inv, inv_sqrt, linear, power | `cosine` |  |
| `optimizer.max_grad_norm` | number, above 0 | `1` | clip |
| `train_weights` | map of names to numbers, each from 0 to 1 | `{}` | share of each source |
| `places` | map of names to sections | `{}` |  |
| `places.<name>.base_path` | string | `checkpoints/` | where runs keep their checkpoints |
| `places.<name>.save_interval` | duration, at least 0 | `15m` | time between temporary checkpoints |
| `places.<name>.keep` | list of sections | `[{every: 10000, until: null}]` | permanent checkpoints |
| `places.<name>.keep[].every` | integer, at least 0 | `0` | steps between two |
| `places.<name>.keep[].until` | integer, at least 0 |  | last step |
| `extra` | section |  | one more |
| `extra.every` | integer, at least 0 |  | steps between two |
| `extra.until` | integer, at least 0 |  | last step |
)");
  EXPECT_EQ(config, RunConfig{});
}

struct Tree {
  std::vector<Tree> branches;
  void bind(Binder& b) { b.field("branches", branches); }
};

TEST(Config, StructsThatHoldThemselves) {
  Tree tree;
  EXPECT_EQ(listed(read_config(named_tree("branches: [{}, {branches: [{}]}]"), tree)), Names{});
  ASSERT_EQ(tree.branches.size(), 2U);
  EXPECT_EQ(tree.branches[1].branches.size(), 1U);
  EXPECT_EQ(write_config(tree), "branches:\n  - branches: []\n  - branches:\n      - branches: []\n");
  EXPECT_LT(describe_config(tree).size(), 5000U);
}

TEST(Config, NestedLists) {
  struct Matrix {
    std::vector<std::vector<std::int64_t>> rows;
    void bind(Binder& b) { b.field("rows", rows, at_least(0), "numbers"); }
  } matrix, again;
  matrix.rows = {{1, 2}, {}, {3}};
  EXPECT_EQ(write_config(matrix), "rows:\n  - [1, 2]\n  - []\n  - [3]\n");
  EXPECT_EQ(listed(read_config(named_tree(write_config(matrix)), again)), Names{});
  EXPECT_EQ(again.rows, matrix.rows);
  EXPECT_EQ(describe_config(matrix).substr(53),
            "| `rows` | list of lists of integers, each at least 0 | `[[1, 2], [], [3]]` | numbers |\n");
}

}  // namespace
}  // namespace bora

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a start lacks is told before any work, all at once; what a run is told anew, and what extends it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

Words train_with(Words more) {
  Words out = {"train", "config.yaml"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Words and_also(Words words, const std::string& more) {
  words.push_back(more);
  return words;
}

TEST(Preflight, EverythingThatIsMissingAtOnce) {
  const auto folder = small_project("preflight_missing");
  write_atomically(folder + "/file", "no folder");
  const auto wrong =
      train_with({"--data.configs.one.train_urls=[\"none/*.txt\"]", "--data.train_tokenizer=null",
                  "--data.tokenizer=nowhere", "--trainer.checkpointer.base_path=file/runs",
                  "--trainer.initialize_from=runs/old", "--initialize_from_hf=meta-llama/Llama-2-7b"});
  for (const auto& arguments : {wrong, and_also(wrong, "--dry_run")}) {
    const auto done = run(folder, arguments);
    EXPECT_EQ(done.code, 2) << done.output;
    EXPECT_THAT(
        done.output,
        AllOf(HasSubstr("config.yaml has 6 problems; nothing was started."),
              HasSubstr("data.configs.one.train_urls"), HasSubstr("no file matches \"none/*.txt\""),
              HasSubstr("nowhere is no file or directory here; give a local tokenizer.json"),
              HasSubstr("file/runs/run cannot be made: file is a file, no folder"),
              HasSubstr("runs/old does not exist"),
              HasSubstr("is runs/old beside initialize_from_hf = meta-llama/Llama-2-7b, whose weights"),
              HasSubstr("meta-llama/Llama-2-7b: the model of revision main is not in ")));
    EXPECT_FALSE(exists(folder + "/cache"));
    EXPECT_FALSE(exists(folder + "/runs"));
  }
}

// A run that is far from its end would find out what its exports and checkpoints lack.
TEST(Preflight, WhereAndHowARunIsKept) {
  const auto folder = small_project("preflight_places");
  const auto done =
      run(folder,
          train_with({"--trainer.checkpointer.base_path=gs://bucket/runs", "--hf_save_path=s3://bucket/hf"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(
      done.output,
      AllOf(
          HasSubstr("trainer.checkpointer.base_path  gs://bucket/runs/run is on gs://; give a local folder"),
          HasSubstr("s3://bucket/hf is on s3://; give a local folder"),
          HasSubstr("config.yaml has 2 problems"), Not(HasSubstr("are free there"))));
  EXPECT_FALSE(exists(folder + "/gs:"));
  for (const char* path : {"runs", "runs/../runs/"}) {
    const auto same = run(folder, train_with({fmt::format("--hf_save_path={}", path)}));
    EXPECT_EQ(same.code, 2) << same.output;
    EXPECT_THAT(same.output,
                HasSubstr(fmt::format(
                    "--hf_save_path  {} is where this run's checkpoints go, as step-N like these; give "
                    "another folder, such as runs/run-hf",
                    path_join(path, "run"))));
  }
  const auto dtype = run(folder, train_with({"--hf_export=true", "--hf_save_dtype=fp8"}));
  EXPECT_EQ(dtype.code, 2) << dtype.output;
  EXPECT_THAT(dtype.output,
              HasSubstr("hf_save_dtype = fp8  must be f32, bf16 or f16: what exports are stored in"));
  EXPECT_FALSE(exists(folder + "/runs"));
}

// What it says of modules is judged by the model that it is for, not by another.
TEST(Preflight, AModelThatIsNotHereIsNotJudged) {
  const auto folder = small_project("preflight_unknown");
  write_atomically(folder + "/lora.yaml",
                   "data: {train_urls: [\"none/*.txt\"], tokenizer: nobody/neox}\n"
                   "initialize_from_hf: mosaicml/mpt-7b\n"
                   "lora: {target_modules: [Wqkv]}\n");
  const auto done = run(folder, {"train", "lora.yaml", "--dry_run"});
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(
      done.output,
      AllOf(HasSubstr("lora.yaml has 3 problems"), HasSubstr("no file matches \"none/*.txt\""),
            HasSubstr("lora.yaml:1"), HasSubstr("nobody/neox"), HasSubstr("mosaicml/mpt-7b"),
            HasSubstr("sizes       of model, memory and disk are told when"), Not(HasSubstr("Wqkv"))));
}

// Whatever is wrong elsewhere.
TEST(Preflight, DataBesideTheModel) {
  const auto folder = small_project("preflight_beside");
  for (const auto* more : {"--quiet", "--dry_run"}) {
    const auto done = run(folder, train_with({"--trainer.id=q", "--model.num_heads=5", "--trainer.seedd=1",
                                              "--data.configs.one.train_urls=[\"nope/*.txt\"]",
                                              "--trainer.initialize_from=runs/none", more}));
    EXPECT_EQ(done.code, 2) << done.output;
    EXPECT_THAT(done.output,
                AllOf(HasSubstr("model.num_heads = 5"), HasSubstr("trainer.seedd"),
                      HasSubstr("no file matches \"nope/*.txt\""), HasSubstr("runs/none does not exist")));
  }
  ASSERT_EQ(run(folder, train_with({"--trainer.num_train_steps=1", "--hf_export=true"})).code, 0);
  const auto other =
      run(folder, train_with({"--trainer.id=q", "--initialize_from_hf=runs/run/hf", "--model.num_layers=1",
                              "--data.configs.one.train_urls=[nope.txt]"}));
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_THAT(
      other.output,
      AllOf(HasSubstr("the model block is not the model of runs/run/hf/config.json: layers: 1 "
                      "in the model block, 2 in config.json; use_hf_model_config: true takes all of it"),
            HasSubstr("no file matches \"nope.txt\"")));
}

// In the words of a file that says it in other keys, and where it says it.
TEST(Preflight, NamesTheKeysOfOlderFiles) {
  const auto folder = small_project("preflight_older");
  write_atomically(
      folder + "/sft.yaml",
      "dataset_type: chat_jsonl\n"
      "supervised_data:\n"
      "  talk:\n"
      "    train_urls: [\"none/*.jsonl\"]\n"
      "tokenizer: nowhere\n"
      "model: {type: llama, seq_len: 32, hidden_dim: 32, num_heads: 4, num_kv_heads: 4, num_layers: 1}\n"
      "trainer: {id: run, train_batch_size: 4, num_train_steps: 4}\n");
  const auto done = run(folder, {"train", "sft.yaml", "--dry_run"});
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("sft.yaml:4   supervised_data.talk.train_urls"),
                                 HasSubstr("sft.yaml:5   tokenizer")));
}

// Before anything is tokenized, and in a dry run with as many workers as the mesh needs.
TEST(Preflight, AMeshThatCannotBe) {
  const auto folder = small_project("preflight_mesh");
  const auto alone = run(folder, train_with({"--trainer.model_axis_size=2"}));
  EXPECT_EQ(alone.code, 2) << alone.output;
  EXPECT_THAT(alone.output, AllOf(HasSubstr("model 2 does not divide the 1 worker that was started; start a "
                                            "multiple of 2 workers"),
                                  HasSubstr("nothing was started")));
  const auto dry = run(folder, train_with({"--trainer.model_axis_size=2", "--dry_run"}));
  EXPECT_EQ(dry.code, 0) << dry.output;
  const auto uneven = run(folder, train_with({"--trainer.model_axis_size=3", "--dry_run"}));
  EXPECT_EQ(uneven.code, 2) << uneven.output;
  EXPECT_THAT(uneven.output,
              HasSubstr("h.0.attn.c_attn.weight: axis heads of size 4 cannot be cut into 3 equal shards "
                        "for the mesh axis model; another trainer.model_axis_size"));
  // In the newer spelling too.
  for (const bool is_dry : {false, true}) {
    auto words = train_with({"--trainer.mesh.axes={model: 3, data: 1}"});
    if (is_dry) words.emplace_back("--dry_run");
    const auto newer = run(folder, words);
    EXPECT_EQ(newer.code, 2) << newer.output;
    EXPECT_THAT(newer.output,
                AllOf(HasSubstr("trainer.mesh.axes  "),
                      HasSubstr(is_dry ? "axis heads of size 4 cannot be cut into 3 equal shards"
                                       : "is not the 1 worker that was started; start 3 workers")));
  }
  EXPECT_FALSE(exists(folder + "/cache"));
}

// With every other problem, in a dry run too.
// Found otherwise when training computes.
TEST(Preflight, NormsOfHeadsDoNotFollowTensorLanes) {
  const auto folder = small_project("preflight_tensor_lanes");
  auto text = read_text(folder + "/config.yaml");
  const auto from = text.find("model:"), to = text.find("trainer:");
  text.replace(from, to - from,
               "model: {type: qwen3, seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 2, "
               "num_heads: 4, num_kv_heads: 2}\n");
  write_atomically(folder + "/config.yaml", text);
  const auto plan = [&](const std::vector<std::string>& more) {
    return run(folder, with(train_with({"--dry_run", "--trainer.tensor_lanes=2"}), more));
  };
  const auto refused = plan({});
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(
      refused.output,
      HasSubstr("trainer.tensor_lanes  rms_norm: a sum over the axis kv_head on the mesh axis model does not "
                "follow the 2 fixed lanes; take kv_head out of the axes of model, or leave out "
                "trainer.tensor_lanes"));
  EXPECT_EQ(plan({"--trainer.tensor_parallel_axes=[mlp]"}).code, 0);
  EXPECT_EQ(plan({"--trainer.freeze=[\"*.q_norm\", \"*.k_norm\"]"}).code, 0);
  for (const auto* type : {"llama", "olmo2"}) {
    const auto fine = plan({std::string("--model.type=") + type});
    EXPECT_EQ(fine.code, 0) << fine.output;
  }
}

TEST(Preflight, ADeviceThatIsNotThere) {
  const auto folder = small_project("preflight_device");
  for (const bool dry : {false, true}) {
    auto words = train_with({"--trainer.device=cuda:1", "--trainer.checkpointer.base_path=gs://bucket/runs"});
    if (dry) words.emplace_back("--dry_run");
    const auto done = run(folder, words);
    EXPECT_EQ(done.code, 2) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("has 2 problems; nothing was started"),
                                   HasSubstr("device: cuda:1 is asked for, but ")));
  }
  EXPECT_FALSE(exists(folder + "/cache"));
}

TEST(Preflight, ATokenizerIsTrainedOnTexts) {
  const auto folder = small_project("preflight_texts");
  write_atomically(folder + "/x.jsonl", "{\"prompt\": \"a\", \"response\": \"b\"}\n");
  const auto done =
      run(folder, train_with({"--data.configs.one={train_urls: [x.jsonl], format: {type: supervised}}"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("x.jsonl:1: no field \"text\"; the object has prompt, response; "
                              "data.train_tokenizer learns from records of type text, and those of data "
                              "set one are of type supervised"),
                    Not(HasSubstr("format.text_key"))));
}

TEST(Preflight, AModelThatNoMachineTrains) {
  const auto folder = small_project("preflight_memory");
  const auto done = run(folder, train_with({"--model.hidden_dim=65536", "--model.num_layers=1000"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, HasSubstr("T parameters, their gradients and the optimizer's state take"));
  EXPECT_FALSE(exists(folder + "/cache"));
}

TEST(Preflight, ABatchThatNoMachineHolds) {
  const auto folder = small_project("preflight_batch");
  for (const auto& words : {train_with({"--trainer.train_batch_size=100000000"}),
                            train_with({"--trainer.train_batch_size=100000000", "--dry_run"})}) {
    const auto done = run(folder, words);
    EXPECT_EQ(done.code, 2) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("trainer.train_batch_size  the activations of a lane of"),
                                   HasSubstr("and this machine has")));
  }
}

TEST(Preflight, FilesWithoutText) {
  const auto folder = small_project("preflight_empty");
  write_atomically(folder + "/empty.txt", "");
  const auto done = run(folder, train_with({"--data.train_urls=[empty.txt]", "--trainer.id=lost"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output,
              HasSubstr("data.train_urls  every file of empty.txt is empty; give files with text"));
  EXPECT_FALSE(exists(folder + "/runs/lost") || exists(folder + "/checkpoints/lost"));
}

// What the first record, the number of bytes or a prompt shows.
TEST(Preflight, TextsThatCannotBeTrainedOn) {
  const auto folder = small_project("preflight_first_look");
  write_atomically(folder + "/body.jsonl", "{\"body\": \"the moon is a compiler\"}\n");
  write_atomically(folder + "/binary.txt", std::string("\x89PNG\x0d\x0a\xff\xfe\x00\x01", 10));
  write_atomically(folder + "/tiny.txt", "a");
  struct Case {
    std::string argument;
    Words words;
  };
  const std::vector<Case> cases = {
      {"--data.configs.one.train_urls=[body.jsonl]",
       {"data.configs.one.train_urls", "body.jsonl:1: no field \"text\"; the object has body"}},
      {"--data.configs.one.train_urls=[binary.txt]",
       {"data.configs.one.train_urls", "binary.txt:", "invalid UTF-8"}},
      {"--data.configs.one.train_urls=[tiny.txt]", {"model.seq_len", "one has at most 9 tokens"}},
      {"--model.seq_len=50000", {"is 50000, and one has at most ", "fewer than one sequence; more text"}},
      {"--data.num_validation_sequences={one: 100000}", {"is 100000 for one, which has at most "}},
      {"--data.configs.one.format={type: chat}",
       {"data.configs.one.format",
        "(bpe of 300 pieces trained on the text) has no chat template; data.chat_template", "one.txt"}},
      {"--sample.prompts=[\"\"]", {"sample.prompts", "prompt 1 is empty"}}};
  for (const auto& [argument, words] : cases) {
    const auto start = train_with({argument});
    for (const auto& arguments : {start, and_also(start, "--dry_run")}) {
      const auto done = run(folder, arguments);
      EXPECT_EQ(done.code, 2) << done.output;
      for (const auto& word : words) EXPECT_THAT(done.output, HasSubstr(word)) << argument;
      EXPECT_FALSE(exists(folder + "/cache") || exists(folder + "/runs")) << argument;
    }
  }
}

// With what an earlier start made: its tokenizer and the tokens.
TEST(Preflight, CachesAndPromptsOfAKnownTokenizer) {
  const auto folder = small_project("preflight_known");
  ASSERT_EQ(run(folder, train_with({"--trainer.stop_at_step=1"})).code, 75);
  const auto sized =
      run(folder, train_with({"--data.train_tokenizer.vocab_size=290", "--trainer.id=x", "--dry_run"}));
  EXPECT_EQ(sized.code, 2) << sized.output;
  EXPECT_THAT(sized.output,
              AllOf(HasSubstr("data.cache_dir"),
                    HasSubstr("cache/one/train was made with tokenizer bpe of 300 pieces trained on the "
                              "text and this run has bpe of 290 pieces trained on the text")));
  const auto held = run(
      folder, train_with({"--data.num_validation_sequences={one: 400}", "--accept_changes", "--dry_run"}));
  EXPECT_EQ(held.code, 2) << held.output;
  EXPECT_THAT(held.output,
              testing::ContainsRegex("is 400 for one, which has [0-9]+ sequences; hold back fewer than"));
  std::string prompt = "Zyx wvu, Tsr! qpo? Nml kji; Hgf edc. 0123 4567 8901 2345";
  const auto known = run(folder, train_with({"--sample.prompts=[\"" + prompt + "\"]", "--dry_run"}));
  EXPECT_EQ(known.code, 2) << known.output;
  EXPECT_THAT(known.output, testing::ContainsRegex("prompt 1 has [0-9]+ tokens, and model.seq_len is 32"));
  const auto trained = run(folder, train_with({"--sample.prompts=[\"" + prompt + "\"]", "--trainer.id=y"}));
  EXPECT_EQ(trained.code, 2) << trained.output;
  EXPECT_THAT(trained.output, AllOf(HasSubstr("--sample.prompts"), HasSubstr("and model.seq_len is 32")));
  EXPECT_FALSE(exists(folder + "/runs/y")) << "known before the first step";
}

TEST(Preflight, MoreThanTheDiskHolds) {
  const auto folder = small_project("preflight_disk");
  const auto done = run(folder, train_with({"--model.hidden_dim=1024", "--model.num_layers=8",
                                            "--trainer.checkpointer.keep=[{every: 1}]",
                                            "--trainer.num_train_steps=50000", "--dry_run"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("trainer.checkpointer.keep"), HasSubstr("TB at the end ("),
                                 HasSubstr("are free there; keep fewer")));
}

TEST(Preflight, LanesForTheWorkersThatArePlanned) {
  const auto folder = small_project("preflight_lanes");
  const auto planned =
      run(folder, {"train", "config.yaml", "--trainer.train_batch_size=3", "--trainer.lanes=null",
                   "--trainer.initialize_from=runs/none", "--dry_run", "--world", "2"});
  EXPECT_EQ(planned.code, 2) << planned.output;
  EXPECT_THAT(planned.output,
              AllOf(HasSubstr("has 2 problems; nothing was started"), HasSubstr("runs/none does not exist"),
                    HasSubstr("the batch of 3 sequences can be cut into 1 lane at most")));
  if (!can_run_workers()) return;
  const auto launched = run(folder, {"launch", "-n", "2", "--", "train", "config.yaml",
                                     "--trainer.train_batch_size=3", "--trainer.lanes=null", "--dry_run"});
  EXPECT_EQ(launched.code, 2) << launched.output;
  EXPECT_THAT(launched.output, HasSubstr("the batch of 3 sequences can be cut into 1 lane at most"));
}

// Neither in a dry run nor in a start, whose run's folder goes again.
TEST(Preflight, WhatCannotBeginLeavesNoRun) {
  const auto folder = small_project("preflight_no_run");
  const auto held_back = run(folder, train_with({"--data.num_validation_sequences={one: 100000}"}));
  EXPECT_EQ(held_back.code, 2) << held_back.output;
  EXPECT_THAT(held_back.output,
              HasSubstr("\n  --data.num_validation_sequences  is 100000 for one, which has "));
  EXPECT_FALSE(exists(folder + "/runs/run")) << "with the tokenizer that was trained for it";
}

// What a failed start of an older program, or one that was killed, has left.
TEST(Preflight, ATokenizerOfOtherSettingsIsTrainedAnew) {
  const auto folder = small_project("preflight_kept_tokenizer");
  ASSERT_EQ(run(folder, train_with({"--trainer.stop_at_step=1"})).code, 75);
  for (const auto& name : files().list(folder + "/runs/run"))
    if (name != "tokenizer") remove_all(folder + "/runs/run/" + name);
  const auto same = run(folder, train_with({"--dry_run"}));
  EXPECT_THAT(same.output, HasSubstr("300 pieces, from runs/run/tokenizer"));
  const auto other = run(folder, train_with({"--data.train_tokenizer.vocab_size=290",
                                             "--trainer.stop_at_step=1", "--data.cache_dir=other"}));
  EXPECT_EQ(other.code, 75) << other.output;
  EXPECT_THAT(other.output, HasSubstr("trained: byte-level BPE, 290 pieces"));
}

TEST(Preflight, ADamagedCheckpointIsPassedOver) {
  const auto folder = small_project("preflight_damaged");
  ASSERT_EQ(
      run(folder, train_with({"--trainer.stop_at_step=2", "--trainer.checkpointer.keep=[{every: 1}]"})).code,
      75);
  write_atomically(folder + "/runs/run/step-2/state.json", "{}");
  const auto plan = run(folder, train_with({"--dry_run"}));
  EXPECT_EQ(plan.code, 0) << plan.output;
  EXPECT_THAT(plan.output, AllOf(HasSubstr("step-2: state.json: has 2 bytes"), HasSubstr("it is set aside"),
                                 HasSubstr("at step 1 of ")));
}

TEST(Preflight, SaysHowLongItTakesAndWhatIsOdd) {
  const auto folder = small_project("preflight_time");
  const auto plan = run(folder, train_with({"--dry_run", "--optimizer.warmup=1000"}));
  EXPECT_EQ(plan.code, 0) << plan.output;
  EXPECT_THAT(
      plan.output,
      AllOf(
          testing::ContainsRegex("time  +about .* for the 40 steps left, an estimate by steps timed"),
          HasSubstr(
              "warning     optimizer.warmup makes 1000 steps, and the run has 40: the learning rate never reaches "
              "optimizer.learning_rate")));
}

TEST(Preflight, WhatDecaysIsSaidWhereItIsChosen) {
  const auto folder = small_project("preflight_decay");
  const std::string chosen = "--optimizer.weight_decay_modules=.*attn.*|.*mlp.*weight";
  const auto said =
      testing::ContainsRegex("decay +attn, mlp\\.[a-z_.]+weight, mlp\\.[a-z_.]+weight: 12 of 28 arrays");
  for (const auto* how : {"--dry_run", "--trainer.stop_at_step=1"})
    EXPECT_THAT(run(folder, train_with({how, chosen})).output, said);
  EXPECT_THAT(run(folder, train_with({"--dry_run"})).output, Not(HasSubstr("decay ")));
  const auto refused = run(folder, train_with({"--dry_run", chosen + "|.*token_embeddings"}));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output,
              HasSubstr("optimizer.weight_decay_modules  .*token_embeddings selects none of 28 parameters"));
}

// Levanter's batch would be 8.
TEST(Preflight, TheBatchOfADeviceIsThatOfAllWorkers) {
  const auto folder = small_project("preflight_device_batch");
  const auto plan = [&](Words more) {
    const auto done = run(
        folder,
        with(train_with({"--dry_run", "--trainer.train_batch_size=-1", "--trainer.per_device_parallelism=4"}),
             std::move(more)));
    EXPECT_EQ(done.code, 0) << done.output;
    return done.output;
  };
  EXPECT_THAT(
      plan({"--world", "2"}),
      HasSubstr("trainer.train_batch_size = -1 is 4 sequences (trainer.per_device_parallelism), whatever the "
                "number of workers, where Levanter multiplies them by those that share a batch; for more "
                "give trainer.train_batch_size a number"));
  EXPECT_THAT(plan({}), Not(HasSubstr("whatever the number of workers")));
}

// The end of the run is step 40.
TEST(Preflight, KeysThatChangeNothingBesideOthersAreTold) {
  const auto folder = small_project("preflight_idle");
  const std::vector<std::string> keys = {"--trainer.profiler=true",
                                         "--trainer.profiler_start_step=40",
                                         "--trainer.stop_at_step=40",
                                         "--hf_save_steps=5",
                                         "--trainer.checkpointer.keep=[{every: 50, until: 40}, {every: 10}]",
                                         "--optimizer.lr_schedule=constant",
                                         "--optimizer.min_lr_ratio=0.5"};
  const auto plan = run(folder, with(train_with({"--dry_run"}), keys));
  EXPECT_EQ(plan.code, 0) << plan.output;
  const std::string end = " is not before the end of the run, step 40 (trainer.num_train_steps): ";
  for (const auto& text :
       {"trainer.profiler_start_step = 40" + end + "no timeline is written; a smaller step",
        "trainer.stop_at_step = 40" + end + "it stops nothing; a smaller step",
        std::string("hf_save_steps = 5 writes nothing: there is no hf_save_path; give it a folder"),
        std::string(
            "trainer.checkpointer.keep: {every: 50, until: 40} keeps nothing: no multiple of 50 is from 1 to "
            "40; a smaller every, or a later until"),
        std::string(
            "optimizer.min_lr_ratio = 0.5 has no effect with optimizer.lr_schedule: constant, which falls to "
            "no floor; another lr_schedule")})
    EXPECT_THAT(plan.output, HasSubstr("warning     " + text));
  const auto start = run(folder, train_with({"--trainer.num_train_steps=2", "--trainer.stop_at_step=3"}));
  EXPECT_EQ(start.code, 0) << start.output;
  EXPECT_THAT(start.output,
              HasSubstr("warning     trainer.stop_at_step = 3 is not before the end of the run, step 2"));
  // Its record says every default.
  const auto again = run(folder, {"train", "runs/run/config.yaml", "--trainer.stop_at_step=1",
                                  "--optimizer.warmup=0", "--dry_run"});
  EXPECT_THAT(again.output, Not(HasSubstr("warning"))) << again.output;
  const auto useful = run(folder, with(train_with({"--dry_run", "--trainer.id=other"}),
                                       {"--trainer.profiler=true", "--trainer.profiler_start_step=39",
                                        "--trainer.stop_at_step=39", "--hf_save_steps=5", "--hf_save_path=hf",
                                        "--trainer.checkpointer.keep=[{every: 40, until: 40}, {every: 50}]",
                                        "--optimizer.min_lr_ratio=0.5"}));
  EXPECT_THAT(useful.output, Not(HasSubstr("warning"))) << useful.output;
}

TEST(Preflight, TwoNumbersOfEpochsAreOneTooMany) {
  const auto folder = small_project("preflight_epochs");
  const auto two = run(folder, train_with({"--dry_run", "--epoch=1", "--data.max_epochs=3"}));
  EXPECT_EQ(two.code, 2) << two.output;
  EXPECT_THAT(two.output,
              HasSubstr("epoch = 1  says the same as data.max_epochs, which is 3; leave out one of them "
                        "(--epoch=null, --data.max_epochs=null), or give both the same value"));
  for (const auto* more : {"--data.max_epochs=1", "--data.max_epochs=null"})
    EXPECT_EQ(run(folder, train_with({"--dry_run", "--epoch=1", more})).code, 0) << more;
  EXPECT_EQ(run(folder, train_with({"--epoch=1", "--trainer.stop_at_step=1"})).code, 75);
  const auto record = [&](const std::vector<std::string>& more) {
    return run(folder,
               with({"train", "runs/run/config.yaml", "--dry_run", "--trainer.stop_at_step=2"}, more));
  };
  EXPECT_EQ(record({}).code, 0);
  EXPECT_THAT(record({"--epoch=2"}).output,
              HasSubstr("epoch = 2  says the same as data.max_epochs, which is 1"));
  // Of before, when one of them won.
  auto text = read_text(folder + "/runs/run/config.yaml");
  text.replace(text.find("max_epochs: 1"), 13, "max_epochs: 3");
  write_atomically(folder + "/runs/run/config.yaml", text);
  EXPECT_THAT(record({}).output, Not(HasSubstr("says the same")));
}

TEST(Preflight, KeysWithoutEffectAreNamedInRuns) {
  const auto folder = small_project("preflight_ignored");
  const auto done =
      run(folder, train_with({"--trainer.model_averaging={beta: 0.9}", "--trainer.stop_at_step=1"}));
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("trainer.model_averaging (--trainer.model_averaging): not built yet"));
}

TEST(Preflight, ARunIsToldWhatChanged) {
  const auto folder = small_project("preflight_changed");
  ASSERT_EQ(run(folder, train_with({"--trainer.stop_at_step=2"})).code, 75);
  const auto same = run(folder, train_with({"--trainer.stop_at_step=2", "--dry_run"}));
  EXPECT_EQ(same.code, 2) << same.output;
  EXPECT_THAT(same.output, Not(HasSubstr("changed"))) << same.output;
  const auto faster = run(folder, train_with({"--trainer.stop_at_step=3", "--optimizer.learning_rate=1e-3"}));
  EXPECT_EQ(faster.code, 75) << faster.output;
  EXPECT_THAT(faster.output, AllOf(HasSubstr("optimizer.learning_rate: 0.003 -> 0.001"),
                                   HasSubstr("trainer.stop_at_step: 2 -> 3"), HasSubstr("at step 2 of 40")));
  const auto other =
      train_with({"--trainer.stop_at_step=4", "--trainer.seed=7", "--trainer.train_batch_size=4"});
  for (const auto& arguments : {other, and_also(other, "--dry_run")}) {
    const auto refused = run(folder, arguments);
    EXPECT_EQ(refused.code, 2) << refused.output;
    EXPECT_THAT(refused.output, AllOf(HasSubstr("config.yaml has 2 problems"), HasSubstr("trainer.seed"),
                                      HasSubstr("was 0 when runs/run was last started and is 7 now"),
                                      HasSubstr("trainer.train_batch_size"), HasSubstr("--accept_changes")));
  }
  const auto accepted = run(folder, and_also(other, "--accept_changes"));
  EXPECT_EQ(accepted.code, 75) << accepted.output;
  EXPECT_THAT(accepted.output, AllOf(HasSubstr("trainer.seed: 0 -> 7"), HasSubstr("at step 3 of 40")));
}

TEST(Preflight, MoreStepsExtendARun) {
  const auto folder = small_project("preflight_extended");
  ASSERT_EQ(run(folder, train_with({"--trainer.num_train_steps=3"})).code, 0);
  const auto plan = run(folder, train_with({"--trainer.num_train_steps=5", "--dry_run"}));
  EXPECT_EQ(plan.code, 0) << plan.output;
  EXPECT_THAT(plan.output, AllOf(HasSubstr("at step 3 of 5, from runs/run/step-3"),
                                 HasSubstr("trainer.num_train_steps: 3 -> 5")));
  const auto longer = run(folder, train_with({"--trainer.num_train_steps=5"}));
  EXPECT_EQ(longer.code, 0) << longer.output;
  EXPECT_TRUE(exists(folder + "/runs/run/step-5")) << longer.output;
  const auto shorter = run(folder, train_with({"--trainer.num_train_steps=4"}));
  EXPECT_EQ(shorter.code, 2) << shorter.output;
  EXPECT_THAT(shorter.output, HasSubstr("trainer.num_train_steps = 4  but runs/run is at step 5 already"));
}

// The same ids would be other pieces.
TEST(Preflight, WeightsGoOnWithTheirTokenizer) {
  const auto folder = small_project("preflight_weights");
  const auto base = train_with({"--trainer.num_train_steps=2", "--hf_export=true"});
  ASSERT_EQ(run(folder, base).code, 0);
  for (const char* from : {"--trainer.initialize_from=runs/run", "--trainer.initialize_from=runs/run/step-2",
                           "--initialize_from_hf=runs/run/hf"}) {
    const auto start = train_with({"--trainer.id=other", from, "--trainer.num_train_steps=1"});
    const auto other = with(start, {"--data.configs.one.train_urls=[two.txt]", "--data.cache_dir=other"});
    for (const auto& words : {other, and_also(other, "--dry_run")}) {
      const auto done = run(folder, words);
      EXPECT_EQ(done.code, 2) << done.output;
      EXPECT_THAT(done.output,
                  AllOf(HasSubstr("trains a tokenizer, but the weights of runs/run"),
                        HasSubstr("data.configs.one.train_urls was [one.txt] for it and is [two.txt] now"),
                        HasSubstr("(data.tokenizer: runs/run/"), HasSubstr("--accept_changes")));
      EXPECT_FALSE(exists(folder + "/runs/other"));
    }
    EXPECT_EQ(run(folder, and_also(start, "--dry_run")).code, 0) << from;
    const auto accepted = run(folder, with(other, {"--accept_changes", "--trainer.id=accepted", "--fresh"}));
    EXPECT_EQ(accepted.code, 0) << accepted.output;
    EXPECT_THAT(accepted.output,
                AllOf(HasSubstr("warning"), HasSubstr("; another one is meant (--accept_changes)"),
                      Not(HasSubstr("or --accept_changes"))));
    EXPECT_EQ(run(folder, and_also(start, "--fresh")).code, 0) << from;
    remove_all(folder + "/runs/other");
  }
  // Another text in the same file is known when the tokenizer is trained.
  write_atomically(folder + "/one.txt", read_text(folder + "/two.txt"));
  const auto late =
      run(folder,
          train_with({"--trainer.id=late", "--trainer.initialize_from=runs/run", "--data.cache_dir=late"}));
  EXPECT_EQ(late.code, 2) << late.output;
  EXPECT_THAT(late.output, AllOf(HasSubstr("data.train_tokenizer"), HasSubstr(" there and \""),
                                 HasSubstr("data.tokenizer: runs/run/tokenizer")));
  EXPECT_FALSE(exists(folder + "/runs/late"));
}

// Neither a new run elsewhere without a word, nor a run among the user's texts.
TEST(Preflight, FoldersAreTheRunsOwn) {
  const auto folder = small_project("preflight_folders");
  ASSERT_EQ(run(folder, train_with({"--trainer.num_train_steps=1", "--trainer.checkpointer.keep=[]"})).code,
            0);
  const auto model = run(folder, {"eval", "config.yaml"});
  EXPECT_EQ(model.code, 0) << model.output;
  EXPECT_THAT(model.output, HasSubstr("runs/run/step-1, of the configuration's run"));
  files().rename(folder + "/runs/run", folder + "/runs/moved");
  for (const Words& words :
       {Words{"train", "runs/moved/config.yaml"}, Words{"train", "runs/moved/config.yaml", "--dry_run"}}) {
    const auto moved = run(folder, words);
    EXPECT_EQ(moved.code, 2) << moved.output;
    EXPECT_THAT(moved.output,
                AllOf(HasSubstr("the run recorded in runs/moved/config.yaml would begin anew in runs/run"),
                      HasSubstr("--trainer.checkpointer.base_path=runs --trainer.id=moved")));
  }
  const auto there = run(folder, {"train", "runs/moved/config.yaml", "--trainer.checkpointer.base_path=runs",
                                  "--trainer.id=moved", "--dry_run"});
  EXPECT_THAT(there.output, HasSubstr("at step 1 of 1, from runs/moved/step-1"));
  remove_all(folder + "/runs/moved/step-1");
  const auto anew =
      run(folder, train_with({"--trainer.id=moved", "--trainer.num_train_steps=1", "--dry_run"}));
  EXPECT_EQ(anew.code, 0) << anew.output;
  EXPECT_THAT(anew.output, HasSubstr("runs/moved was started before and has no checkpoint (step-N)"));
  files().make_directories(folder + "/my");
  write_atomically(folder + "/my/text.txt", "the moon");
  const auto mine = run(folder, train_with({"--trainer.checkpointer.base_path=.", "--trainer.id=my",
                                            "--fresh", "--data.cache_dir=my"}));
  EXPECT_EQ(mine.code, 2) << mine.output;
  EXPECT_THAT(mine.output, AllOf(HasSubstr("my holds text.txt and is no run"), HasSubstr("data.cache_dir"),
                                 HasSubstr("my holds text.txt and no token caches")));
}

TEST(Preflight, TwoTokenizersAreOneTooMany) {
  const auto folder = small_project("preflight_two");
  const auto done = run(folder, train_with({"--data.tokenizer=words"}));
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("data.train_tokenizer"), HasSubstr("is given beside tokenizer: words")));
}

// Two configurations in one folder, each with tokens of its own.
TEST(Preflight, CachesOfTwoTokenizersDoNotMeet) {
  const auto folder = small_project("preflight_caches");
  const auto first = run(folder, train_with({"--data.cache_dir=null", "--trainer.stop_at_step=1"}));
  EXPECT_EQ(first.code, 75) << first.output;
  const auto second = run(folder, train_with({"--data.cache_dir=null", "--trainer.stop_at_step=1",
                                              "--trainer.id=b", "--data.train_tokenizer.vocab_size=290"}));
  EXPECT_EQ(second.code, 75) << second.output;
  EXPECT_EQ(files().list(folder + "/cache").size(), 2U);
}

// Of a server that nobody reaches no one knows how many files match.
TEST(Preflight, PatternsThatNobodyAnsweredForAreNoFiles) {
  const auto folder = small_project("preflight_patterns");
  const auto looked =
      run(folder,
          train_with({"--data.configs.one.train_urls=[\"http://127.0.0.1:9/a{1..128}.txt\"]", "--dry_run"}));
  EXPECT_EQ(looked.code, 2) << looked.output;
  EXPECT_THAT(looked.output, HasSubstr("one 1 pattern of files to be fetched"));
}

TEST(Preflight, NextCommandsMeanTheSameRun) {
  const auto folder = small_project("preflight_next");
  write_atomically(folder + "/short.yaml", "trainer: {num_train_steps: 1}\n");
  const auto done = run(folder, train_with({"short.yaml", "--trainer.id=my run"}));
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(
      done.output,
      AllOf(HasSubstr("bora generate 'runs/my run' \"The moon is\""),
            HasSubstr("bora inspect 'runs/my run/step-1'"),
            HasSubstr(
                "bora train config.yaml short.yaml --trainer.id='my run' --trainer.num_train_steps=2\n")));
}

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Wrong usage of every command: exit code 2, what is wrong, and the next action.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"
#include "run_all.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Wrong =
    std::vector<std::pair<std::vector<std::string>, std::string>>;  // a command line, and words of the answer

void expect_usage_error(const Finished& done, const std::string& words) {
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("bora: "), HasSubstr(words), Not(HasSubstr("internal error"))));
}

void expect_usage_errors(const std::string& folder, const Wrong& wrong) {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [arguments, words] : wrong) lines.push_back(arguments);
  auto done = run_all(folder, lines);
  for (std::size_t i = 0; i < wrong.size(); ++i) expect_usage_error(done[i], wrong[i].second);
}

TEST(Usage, UnknownFlagsAreRefused) {
  auto folder = small_project("usage_flags");
  const std::vector<std::vector<std::string>> wrong = {
      {"train", "config.yaml", "--nonsense"}, {"version", "--nonsense"}, {"inspect", ".", "--nonsense"}};
  for (const auto& arguments : wrong) {
    auto done = run(folder, arguments);
    expect_usage_error(done, "--nonsense");
    EXPECT_THAT(done.output, HasSubstr("hint: bora " + arguments[0] + " --help"));
  }
}

TEST(Usage, WhatPeopleTypeFirstIsAnswered) {
  auto folder = small_project("usage_first");
  expect_usage_errors(
      folder,
      {{{"train", "config.yaml", "--dry-run"}, "train has no flag --dry-run; did you mean `--dry_run`?"},
       {{"train", "config.yaml", "--resume"}, "there is no --resume: a run goes on by itself"},
       {{"train", "config.yaml", "-n", "4"}, "there is no -n: bora launch -n 4 -- train CONFIG"},
       {{"train", "config.yaml", "--gpu"}, "there is no --gpu: --trainer.device=cuda asks for a GPU; auto"},
       {{"train", "config.yaml", "--device", "cuda"}, "there is no --device: --trainer.device=cuda asks"},
       {{"generate", "m", "--gpus=1"}, "there is no --gpus=1: --device cuda asks for a GPU; auto"},
       {{"generate", "m", "The", "moon"}, "moon is one argument too many; in quotation marks"},
       {{"help", "trian"}, "unknown command trian; did you mean `train`?"}});
  for (const std::vector<std::string>& asks :
       {std::vector<std::string>{"help", "train"}, {"train", "--help"}}) {
    const auto told = run(folder, asks);
    EXPECT_EQ(told.code, 0);
    EXPECT_THAT(told.output, HasSubstr("Usage: bora train"));
  }
  EXPECT_EQ(run(folder, {"-V"}).output, run(folder, {"version"}).output);
}

TEST(Usage, TheDoctorEndsAsItFinds) {
  const auto folder = small_project("usage_doctor");
  const auto told = run(folder, {"doctor"}), json = run(folder, {"doctor", "--json"});
  const auto found = parse_json(json.output, "doctor");
  EXPECT_EQ(json.code, found.at("ok").get<bool>() ? 0 : 1);
  EXPECT_EQ(told.code, json.code);
  for (const auto& finding : found.at("findings")) {
    if (finding.at("name") == "memory" || finding.at("name") == "cache") continue;  // what is free changes
    EXPECT_THAT(told.output, HasSubstr(finding.at("text").get<std::string>()));
  }
}

TEST(Usage, MissingArgumentsAreNamed) {
  auto folder = small_project("usage_missing");
  auto none = run(folder, {});
  EXPECT_EQ(none.code, 2) << none.output;
  EXPECT_THAT(none.output, HasSubstr("Usage: bora COMMAND"));
  expect_usage_errors(folder,
                      {{{"train"}, "no configuration"},
                       {{"eval"}, "bora: eval: config is required\nhint: bora eval --help"},
                       {{"eval", "--model", "nowhere"},
                        "bora: eval: config is required, since nowhere is no run that has one\n"
                        "hint: bora eval recipes/quickstart.yaml --model nowhere, with a YAML file that "
                        "names your data"},
                       {{"generate"}, "model is required"},
                       {{"train-tokenizer", "one.txt"}, "--out is required"},
                       {{"tokenize", "encode"}, "--tokenizer is required"},
                       {{"cache"}, "config is required"},
                       {{"import", "model"}, "run is required"},
                       {{"export", "runs/run"}, "directory is required"},
                       {{"forward", "--model", "m", "--ids", "i"}, "--out is required"},
                       {{"diff", "a"}, "b is required"},
                       {{"inspect"}, "path is required"},
                       {{"bench"}, "what is required"}});
}

TEST(Usage, OutputThatCannotBeWrittenIsAnError) {
  auto folder = small_project("usage_output");
  auto full = run(folder, {"version"}, 0, "/dev/full");
  EXPECT_EQ(full.code, 1) << full.output;
  EXPECT_THAT(full.output, HasSubstr("bora: standard output cannot be written: No space left on device"));
  const auto at_once =
      run(folder, {"config", "schema"}, 0, "/dev/full");  // more than waits to be written at the end
  EXPECT_EQ(at_once.code, 1) << at_once.output;
  EXPECT_THAT(at_once.output, HasSubstr("bora: standard output cannot be written: No space left on device"));
}

TEST(Usage, SimdTargetCanBeCapped) {
  auto folder = small_project("usage_target");
  ::setenv("BORA_CPU_TARGET", "AVX2", 1);
  auto capped =
      run(folder, {"bench", "train", "--model", "quickstart", "--batch", "1", "--seq", "8", "--steps", "1"});
  auto without_units = run(folder, {"bench", "train", "--model", "quickstart", "--matmul", "amx"});
  ::setenv("BORA_CPU_TARGET", "AVX3", 1);
  auto vectors = run(folder, {"version"});
  ::setenv("BORA_CPU_TARGET", "AVX9", 1);
  auto unknown = run(folder, {"version"});
  ::unsetenv("BORA_CPU_TARGET");
  EXPECT_EQ(capped.code, 0) << capped.output;
  EXPECT_THAT(capped.output, testing::ContainsRegex("\"kernel_path\":\"(bora|mkl) AVX2\""));
  EXPECT_THAT(vectors.output, testing::ContainsRegex("matmul +(bora|mkl)\n"))
      << "no matrix units under a cap";
  expect_usage_error(without_units,
                     "--matmul is amx, and this CPU has no matrix units, or BORA_CPU_TARGET caps them");
  expect_usage_error(unknown, "BORA_CPU_TARGET is AVX9; it must be AVX3 or AVX2");
}

TEST(Usage, WrongValuesAreNamed) {
  auto folder = small_project("usage_values");
  expect_usage_errors(
      folder,
      {{{"genrate"}, "did you mean `generate`?"},
       {{"TRAIN", "x.yaml"}, "unknown command TRAIN; did you mean `train`?"},
       {{"x.yaml"}, "unknown command x.yaml\nhint: bora train x.yaml"},
       {{"--dry_run", "train", "x.yaml"}, "hint: the command comes first, then its flags"},
       {{"tokenize", "encod"},
        "tokenize: encod is not one of encode, decode, count, bench; did you mean `encode`?"},
       {{"tokenize", "--tokenizer", "t", "--jsonl", "encod"},
        "encod is not one of encode, decode, count, bench\nhint"},
       {{"bench", "trian"}, "bench: trian is not one of train, workers, generate; did you mean `train`?"},
       {{"train", "../config.yaml", "--trainer.seed"},
        "--trainer.seed has no value\nhint: --trainer.seed=VALUE"},
       {{"train", "trainer.seed=3"}, "there is no such file\nhint: a key is set by --trainer.seed=3"},
       {{"train", "../config.yaml", "--dry_run", "--world", "0"},
        "--world is 0; it must be from 1 to 1000000"},
       {{"eval", "none.yaml"}, "none.yaml: there is no such file"},
       {{"train", "../config.yaml", "--seed=3"}, "did you mean trainer.seed?"},
       {{"generate", "m", "text", "--temperature", "-1"}, "--temperature is -1; it must be at least 0"},
       {{"generate", "m", "text", "--top_k", "-2"}, "--top_k is -2; it must be at least 0"},
       {{"generate", "m", "text", "--top_p", "0"}, "--top_p is 0; it must be above 0 and at most 1"},
       {{"generate", "m", "text", "--max_new_tokens", "0"},
        "--max_new_tokens is 0; it must be from 1 to 2147483647"},
       {{"bench", "train", "--model", "gpt9"}, "bench: --model gpt9 is not one of gpt2-124m, gpt2-1.5b"},
       {{"bench", "train", "--seq", "2000"},
        "bench: --seq 2000 is more than the 1024 positions of gpt2-124m"},
       {{"bench", "generate", "--tokens", "1"}, "--tokens is 1; it must be from 2 to 2147483647"},
       {{"bench", "generate", "--model", "gpt9"},
        "bench generate: --model gpt9 is not one of gpt2-124m, gpt2-1.5b"},
       {{"bench", "train", "--compute", "i32"}, "bench: --compute i32 is not one of f32, bf16"},
       {{"bench", "train", "--matmul", "blas"},
        "bench: --matmul blas is not one of automatic, mkl, bora, amx"},
       {{"bench", "train", "--steps", "0", "--batch", "-1", "--seq", "x"},
        "bench: --batch is -1; it must be from 1 to 2147483647\n"
        "bench: --seq is x; it must be a whole number, from 1 to 2147483647\n"
        "bench: --steps is 0; it must be from 1 to 2147483647\nhint: bora bench --help"},
       {{"bench", "train", "--batch", "2000000", "--seq", "2000000"},
        "--batch 2000000 times --seq 2000000 are too many tokens for a step"},
       {{"bench", "everything"}, "everything is not one of train, workers, generate"},
       {{"export", "runs/x", "out", "--format", "onnx"},
        "export: --format onnx is not one of hf, gguf\nhint: bora export --help"},
       {{"export", "runs/x", "out", "--format", "gguf", "--peft"},
        "export: --peft writes adapters alone, which have no GGUF file here\nhint: give one"},
       {{"completion", "bish"}, "completion: bish is not one of bash, zsh, fish; did you mean `bash`?"},
       {{"help", "--man", "trian"}, "help --man: there is no command trian; did you mean `train`?"},
       {{"train-tokenizer", "../one.txt", "--out", "t", "--vocab_size", "3"}, "vocab_size"}});
}

// The other commands: src/bora/cli/flag_values_test.cpp.
TEST(Usage, NoValueOfAFlagOfLaunchIsAnInternalError) {
  auto folder = small_project("usage_launch");
  std::vector<std::vector<std::string>> lines;
  for (const char* flag : {"--workers", "--threads", "--restarts", "--workers-on-restart", "--hosts"})
    for (const char* value : {"-1", "1e18", "x", ""})
      lines.push_back({"launch", std::string(flag) + "=" + value, "--", "version", "--nonsense"});
  const auto done = run_all(folder, lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(done[i].code, 2) << join(lines[i], " ") << "\n" << done[i].output;
    EXPECT_THAT(done[i].output, AllOf(HasSubstr("bora: "), Not(HasSubstr("internal error"))));
  }
}

}  // namespace
}  // namespace bora::golden

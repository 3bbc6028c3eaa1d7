// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whole runs on the device of the tests: what a run on a GPU would do to the program, on any machine. The host
// dies where it touches an array there, and freed memory is NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int kSteps = 12, kHalf = 6;

// Dropout, two lanes, a mixture of two sources; clipping and recomputed blocks beside them.
Words training(const std::string& device, const Words& more = {}) {
  Words words{"train",
              "config.yaml",
              "--trainer.device=" + device,
              "--trainer.num_train_steps=" + std::to_string(kSteps),
              "--trainer.threads=1",
              "--model.gradient_checkpointing=true",
              "--optimizer.max_grad_norm=0.5",
              "--optimizer.learning_rate=1e-3",
              "--trainer.checkpointer.keep=[{every: " + std::to_string(kHalf) + "}]"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_ends_well(const Finished& finished) { ASSERT_EQ(finished.code, 0) << finished.output; }

constexpr double kRounding = 5e-6;

std::vector<Json> lines_of(const std::string& folder, const std::string& file) {
  std::vector<Json> out;
  for (const auto& line : split(read_text(folder + "/runs/run/" + file), '\n'))
    if (!line.empty()) out.push_back(parse_json(line, file));
  return out;
}

// By name; of each step.
std::map<std::string, std::vector<double>> metrics_of(const std::string& folder,
                                                      const std::string& file = "metrics.jsonl") {
  std::map<std::string, std::vector<double>> out;
  for (const auto& line : lines_of(folder, file))
    for (const auto& [name, value] : line.items())
      if (value.is_number()) out[name].push_back(value.get<double>());
  return out;
}

void expect_close(const std::string& there, const std::string& here) {
  auto a = metrics_of(there), b = metrics_of(here);
  for (const auto* name : {"train/loss", "optim/gradient_norm", "eval/loss", "eval/one/loss"}) {
    ASSERT_FALSE(b[name].empty()) << name;
    ASSERT_EQ(a[name].size(), b[name].size()) << name;
    for (std::size_t i = 0; i < b[name].size(); ++i)
      EXPECT_NEAR(a[name][i], b[name][i], kRounding * std::abs(b[name][i])) << name << " " << i;
  }
}

// One wait a step. The first line counts what came before it too, one after a checkpoint what that has copied; a second
// line of a step is that of the evaluation behind it.
void expect_one_wait_a_step(const std::string& folder) {
  int steps = 0, before = -1;
  for (const auto& line : lines_of(folder, "device.jsonl")) {
    const auto step = line.at("step").get<int>();
    const bool is_evaluation = step == std::exchange(before, step);
    if (step == 0 || step % kHalf == 0 || step >= kSteps || is_evaluation) continue;
    EXPECT_LE(line.at("waits").get<int>(), 1) << line;
    EXPECT_GT(line.at("kernels").get<int>(), 0) << line;
    ++steps;
  }
  EXPECT_EQ(steps, kSteps - 2);
}

void expect_same_bits(const std::string& a, const std::string& b) {
  const auto step = "/runs/run/step-" + std::to_string(kSteps);
  const auto diff = run(a, {"diff", a + step, b + step});
  EXPECT_EQ(diff.code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

// One project for all tests of this file: its tokenizer and caches are built once.
class WholeRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    here_ = small_project("fake_device_cpu");
    cpu_ = run(here_, training("cpu"));
    there_ = copy_project(here_, "fake_device", 0);
    device_ = run(there_, training("test", {"--hf_export=true", "--trainer.tracker=[{type: device}]"}));
  }
  static inline std::string here_, there_;
  static inline Finished cpu_, device_;
};

TEST_F(WholeRun, IsThatOfTheCpuWithinRounding) {
  expect_ends_well(cpu_);
  expect_ends_well(device_);
  expect_close(there_, here_);
}

TEST_F(WholeRun, WaitsAtMostOnceAStep) {
  expect_ends_well(device_);
  expect_one_wait_a_step(there_);
}

TEST_F(WholeRun, SaysWhereItComputes) {
  expect_ends_well(device_);
  EXPECT_THAT(device_.output, HasSubstr("device of the tests (test)"));
  const auto record = parse_json(read_text(there_ + "/runs/run/run.json"), "run.json");
  EXPECT_EQ(record.at("device"), "test");
  EXPECT_THAT(record.at("arithmetic").get<std::string>(), HasSubstr("device of the tests"));
  EXPECT_THAT(cpu_.output, Not(HasSubstr("device of the tests")));
  EXPECT_THAT(cpu_.output, Not(HasSubstr("at most on")));
}

// Between steps lie the parameters and what is kept beside them, and nothing that a step has left behind.
TEST_F(WholeRun, AccountsForTheMemoryOfTheDevice) {
  expect_ends_well(device_);
  std::vector<double> live;
  for (const auto& line : lines_of(there_, "device.jsonl")) live.push_back(line.at("live").get<double>());
  ASSERT_GE(live.size(), std::size_t{kSteps});
  for (std::size_t i = 2; i < kSteps; ++i) EXPECT_EQ(live[i], live[1]) << "step " << i;
  auto peak = metrics_of(there_, "timing.jsonl")["memory/device_peak_mb"];
  ASSERT_EQ(peak.size(), std::size_t{kSteps});
  constexpr double kState = 12. * 36'096;  // parameters and their moments
  EXPECT_GT(live[1], 2 * kState) << "graphs keep gradients and what they work in";
  EXPECT_GE(peak.back() * (1 << 20), live[1]);
  EXPECT_LT(peak.back(), peak.front() * 1.5);
  EXPECT_THAT(device_.output, ContainsRegex("memory +[0-9.]+ MB at most on test"));
  EXPECT_TRUE(metrics_of(here_, "timing.jsonl")["memory/device_peak_mb"].empty());
}

TEST_F(WholeRun, GoesOnFromACheckpointWithTheSameBits) {
  const auto again = copy_project(there_, "fake_device_resumed", kHalf);
  const auto finished = run(again, training("test"));
  expect_ends_well(finished);
  EXPECT_THAT(finished.output, Not(HasSubstr("last digits")));
  expect_same_bits(again, there_);
}

// Inputs of blocks rest on the host meanwhile, whenever the device copies them; a run that goes on may begin to.
TEST_F(WholeRun, HasTheSameBitsWithInputsOfBlocksOnTheHost) {
  const Words offload{"--model.gradient_checkpointing=offload", "--trainer.tracker=[{type: device}]"};
  for (const char* when : {"late", "early"}) {
    const auto sent = copy_project(there_, "fake_device_offload", 0),
               resumed = copy_project(there_, "fake_device_offload_resumed", kHalf);
    ::setenv("TEST_COPIES", when, 1);
    const auto whole = run(sent, training("test", offload)), rest = run(resumed, training("test", offload));
    ::unsetenv("TEST_COPIES");
    expect_ends_well(whole);
    expect_ends_well(rest);
    EXPECT_THAT(whole.output, Not(HasSubstr("no graph of a pass")));
    expect_same_bits(sent, there_);
    expect_same_bits(resumed, there_);
    expect_one_wait_a_step(sent);
    for (const auto& line : lines_of(sent, "device.jsonl"))
      EXPECT_EQ(line.at("copied_out"), line.at("copied_back")) << line;
    EXPECT_GT(lines_of(sent, "device.jsonl").at(3).at("copied_out").get<int>(), 0);
  }
  const auto plan = run(there_, training("test", {offload[0], "--dry_run"})).output;
  EXPECT_THAT(plan, ContainsRegex("inputs of blocks in pinned memory of the host [0-9.]+ kB"));
}

// Its lanes are graphs, as the device of its own counts.
TEST_F(WholeRun, HasTheSameBitsWithoutGraphs) {
  EXPECT_THAT(device_.output, Not(HasSubstr("no graph of a pass")));
  const auto without = copy_project(there_, "fake_device_without_graphs", 0);
  expect_ends_well(
      run(without, training("test", {"--trainer.cuda_graphs=false", "--trainer.tracker=[{type: device}]"})));
  expect_same_bits(without, there_);
  const auto kernels = [](const std::string& folder) {
    return lines_of(folder, "device.jsonl").at(kSteps - 1).at("kernels").get<double>();
  };
  EXPECT_LT(kernels(there_), kernels(without) / 2);
}

// A device that is lost in the middle ends the run in words; its last checkpoint is whole, and the same command goes on from it.
TEST_F(WholeRun, EndsWhereTheDeviceRefusesACopy) {
  const Words offload{"--model.gradient_checkpointing=offload", "--trainer.cuda_graphs=false"};
  const auto refused = [&](const char* what, const std::string& words) {
    SCOPED_TRACE(what);
    const auto folder = copy_project(there_, "fake_device_refuses", 0);
    ::setenv("TEST_REFUSES", what, 1);
    const auto ended = run(folder, training("test", offload));
    ::unsetenv("TEST_REFUSES");
    EXPECT_EQ(ended.code, 1) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("offload: test refuses " + words + " ("));
    EXPECT_THAT(ended.output,
                HasSubstr("hint: model.gradient_checkpointing: true keeps the inputs of blocks there"));
    EXPECT_TRUE(exists(folder + "/runs/run/step-" + std::to_string(kHalf)));
    for_each_file(folder + "/runs", [](const std::string& file) {
      EXPECT_EQ(file.find(".tmp"), file.npos) << file;
      EXPECT_EQ(file.find(".partial"), file.npos) << file;
    });
    expect_ends_well(run(folder, training("test", offload)));
    expect_same_bits(folder, there_);
  };
  // two lanes, of which each sends the input of one block in a step: in the ninth
  refused("out:16", "a copy to the host");
  refused("back:16", "a copy from the host");
  refused("wait:32", "a wait for a copy");
}

// A device that notes nothing is given operations one by one; one that does not launch what it has noted ends the run.
TEST_F(WholeRun, OfADeviceThatRefusesGraphs) {
  const auto with = [&](const char* what, const std::string& folder, const Words& more = {}) {
    ::setenv("TEST_REFUSES", what, 1);
    auto finished = run(folder, training("test", more));
    ::unsetenv("TEST_REFUSES");
    return finished;
  };
  const auto one_by_one = copy_project(there_, "fake_device_notes_nothing", 0);
  const auto finished = with("begin", one_by_one);
  expect_ends_well(finished);
  EXPECT_THAT(finished.output,
              HasSubstr("no graph of a pass, whose operations go to test one by one: the device "
                        "takes no graph now"));
  expect_same_bits(one_by_one, there_);
  const auto lost = copy_project(there_, "fake_device_launches_nothing", 0);
  const auto ended = with("launch", lost);
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("step graph: test does not launch what it has noted\n"
                                      "hint: trainer.cuda_graphs: false gives it operations one by one"));
  expect_ends_well(with("launch", lost, {"--trainer.cuda_graphs=false"}));
  expect_same_bits(lost, there_);
}

TEST_F(WholeRun, SaysThatItGoesOnElsewhere) {
  const auto elsewhere = copy_project(here_, "fake_device_elsewhere", kHalf);
  const auto finished = run(elsewhere, training("test"));
  expect_ends_well(finished);
  EXPECT_THAT(finished.output, HasSubstr("arithmetic"));
  EXPECT_THAT(finished.output, HasSubstr("from here on the last digits differ"));
  expect_close(elsewhere, here_);
}

TEST_F(WholeRun, GeneratesEvaluatesAndExports) {
  const Words prompt{"generate", "runs/run",         "the moon is", "--temperature",
                     "0",        "--max_new_tokens", "12",          "--quiet"};
  const auto with = [&](const std::string& device, Words words) {
    words.insert(words.end(), {"--device", device});
    return run(there_, words);
  };
  const auto want = with("cpu", prompt), got = with("test", prompt);
  expect_ends_well(got);
  EXPECT_EQ(got.output, want.output);
  auto exported = prompt;
  exported[1] = "runs/run/hf";
  EXPECT_EQ(with("test", exported).output, want.output) << "the export holds the same model";
  auto few = prompt;
  few.insert(few.end(), {"--weights", "bf16"});
  EXPECT_THAT(
      with("test", few).output,
      HasSubstr("generate: --weights bf16 beside --device test: weights in fewer bytes are read by the "
                "CPU alone\nhint: leave out one of them"));
  EXPECT_THAT(
      run(there_, {"eval", "config.yaml", "--weights", "int8", "--device", "test"}).output,
      HasSubstr("eval: --weights int8 beside --device test: weights in fewer bytes are read by the CPU "
                "alone\nhint: leave out one of them"));
  const auto loss_on = [&](const std::string& device) {
    const auto evaluated = run(there_, {"eval", "config.yaml", "--json", "--device", device});
    EXPECT_EQ(evaluated.code, 0) << evaluated.output;
    const auto line = evaluated.output.substr(evaluated.output.find("{\"event\":\"evaluation\""));
    return parse_json(line, "eval").at("metrics").at("eval/loss").get<double>();
  };
  const auto loss = loss_on("cpu");
  EXPECT_NEAR(loss_on("test"), loss, kRounding * loss);
}

// Logits, hidden states and gradients of given ids, and an answer to a line.
TEST_F(WholeRun, LooksIntoAModelAndTalksWithIt) {
  expect_ends_well(device_);
  write_atomically(there_ + "/ids.json", "[[5, 17, 40, 2], [9, 9, 1, 3]]");
  write_atomically(there_ + "/lines.txt", "the moon\n");
  write_atomically(there_ + "/runs/run/hf/chat_template.jinja", "{{ messages[-1]['content'] }}");
  std::vector<std::string> said;
  for (const std::string device : {"cpu", "test"}) {
    const auto looked = run(there_, {"forward", "--model", "runs/run/hf", "--ids", "ids.json", "--out",
                                     device + ".safetensors", "--grads", "--hidden", "--device", device});
    expect_ends_well(looked);
    const auto chat = "cd " + there_ +
                      " && " BORA_PROGRAM " chat runs/run/hf --temperature 0 --max_new_tokens 5 --device " +
                      device + " < lines.txt > chat_" + device + ".txt 2>&1";
    EXPECT_EQ(std::system(chat.c_str()), 0);
    said.push_back(read_text(there_ + "/chat_" + device + ".txt"));
  }
  EXPECT_EQ(said[1], said[0]);
  const auto diff = run(there_, {"diff", "cpu.safetensors", "test.safetensors"}).output;
  // gradients among them; on some machines all products round alike
  EXPECT_THAT(diff, AnyOf(HasSubstr("grad.transformer.wte.weight"), HasSubstr("bit-equal: 33 tensors")));
  for (std::size_t at = diff.find("|a-b| "); at != diff.npos; at = diff.find("|a-b| ", at + 1))
    EXPECT_LT(std::strtod(diff.c_str() + at + 6, nullptr), kRounding) << diff;
  const auto refused = run(there_, {"chat", "runs/run/hf", "--device", "test", "--weights", "int8"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("chat: --weights int8 beside --device test: weights in fewer bytes"));
}

TEST_F(WholeRun, IsPlannedWithTheMemoryOfTheDevice) {
  ::setenv("TEST_DEVICE_BYTES", "2000000", 1);
  const auto planned = run(there_, training("test", {"--dry_run"}));
  ::setenv("TEST_DEVICE_BYTES", "400000", 1);
  const auto small = run(there_, training("test", {"--dry_run"}));
  const auto in_fp8 =
      run(there_, training("test", {"--dry_run", "--trainer.mp=p=f32,c=bfloat16", "--trainer.fp8=true"}));
  const auto vast =
      run(there_, training("test", {"--dry_run", "--model.hidden_dim=65536", "--model.num_layers=1000"}));
  ::setenv("TEST_DEVICE_BYTES", "9000000", 1);
  ::setenv("TEST_DEVICE_EXTRAS", "1000000:8700000", 1);
  const auto with_extras = run(there_, training("test", {"--dry_run"}));
  ::unsetenv("TEST_DEVICE_EXTRAS");
  ::unsetenv("TEST_DEVICE_BYTES");
  EXPECT_EQ(with_extras.code, 2) << "300 kB are left: " << with_extras.output;
  EXPECT_THAT(with_extras.output,
              ContainsRegex("memory +about [2-3].[0-9]+ MB on test, which has 9.00 MB, 9.00 MB"));
  EXPECT_THAT(with_extras.output, HasSubstr("kB · workspaces of libraries 2.00 MB\n"));
  EXPECT_THAT(
      with_extras.output,
      HasSubstr(
          "beside them about 8.70 MB for the device's context and the code of kernels, not measured\n"));
  EXPECT_THAT(with_extras.output, HasSubstr("kB alone, and test has 300 kB; take a smaller model"));
  expect_ends_well(planned);
  EXPECT_THAT(planned.output, Not(HasSubstr("workspaces of libraries")));
  EXPECT_THAT(planned.output, ContainsRegex("device +device of the tests \\(test\\)"));
  EXPECT_THAT(planned.output,
              ContainsRegex("memory +about [0-9.]+ [kM]B on test, which has 2.00 MB, 2.00 MB of it free"));
  EXPECT_THAT(planned.output, ContainsRegex("about 120 MB, 120 MB with the copy that checkpoints"));
  EXPECT_EQ(small.code, 2) << small.output;
  EXPECT_THAT(small.output,
              HasSubstr("kB alone, and test has 400 kB; take a smaller model, or more workers, each"));
  const char* const way_out = "with a device of its own, or trainer.device: cpu\n";
  EXPECT_THAT(small.output, HasSubstr(way_out));
  for (const auto& [run, why] : {std::pair(&in_fp8, "the CPU does not multiply in fp8"),
                                 std::pair(&vast, "the machine does not hold it either")}) {
    EXPECT_EQ(run->code, 2) << run->output;
    EXPECT_THAT(run->output, HasSubstr("or more workers, each with a device of its own\n")) << why;
  }
}

// The state fits, a step does not.
TEST_F(WholeRun, SaysWhatDoesNotFitOnTheDevice) {
  const auto folder = copy_project(here_, "fake_device_full", 0);
  const auto with_room_of = [&](const char* bytes) {
    ::setenv("TEST_DEVICE_BYTES", bytes, 1);
    auto finished = run(folder, training("test", {"--trainer.train_batch_size=256"}));
    ::unsetenv("TEST_DEVICE_BYTES");
    return finished;
  };
  const auto refused = with_room_of("10000000");  // the estimate is 18 MB
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output,
              ContainsRegex("train_batch_size  the activations of a lane of 128 sequences take about "
                            "[0-9.]+ MB beside [0-9.]+ kB .*, and test has 10.0 MB; take a smaller"));
  const auto finished = with_room_of("15000000");
  EXPECT_EQ(finished.code, 1) << finished.output;
  EXPECT_THAT(finished.output,
              ContainsRegex("bora: [a-z_ ]+: out of memory on test: [0-9.]+ [kM]B more do not fit beside "
                            "[0-9.]+ MB in use; [0-9.]+ [kM]?B of 15.0 MB are free, with .batch=128"));
  EXPECT_THAT(finished.output, HasSubstr("\nhint: more trainer.lanes or a smaller trainer.train_batch_size"));
}

TEST_F(WholeRun, OfTwoWorkersThatShareEverything) {
  if (!can_run_workers()) GTEST_SKIP() << "no mpirun, or no MPI plug-in";
  const auto folder = copy_project(here_, "fake_device_workers", 0);
  const auto finished = run_workers(folder, 2, training("test"));
  expect_ends_well(finished);
  expect_close(folder, here_);
  expect_same_bits(folder, there_);  // lanes are added up by the same tree
  constexpr const char* kShards =
      "one by one: parameters are in shards (trainer.fsdp_axis: null has them whole)";
  EXPECT_THAT(finished.output, HasSubstr(kShards));
  const auto whole = copy_project(here_, "fake_device_whole_workers", 0);
  const auto by_graphs = run_workers(whole, 2, training("test", {"--trainer.fsdp_axis=null"}));
  expect_ends_well(by_graphs);
  EXPECT_THAT(by_graphs.output, Not(HasSubstr("no graph of a pass")));
  expect_same_bits(whole, there_);
}

// The size ("13.5 MB") that stands behind some words, or before them, in bytes.
double size_of(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  return number * (unit[1] == 'k' ? 1e3 : unit[1] == 'M' ? 1e6 : unit[1] == 'G' ? 1e9 : 1);
}
double size_behind(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  EXPECT_NE(at, text.npos) << words << " is not in " << text;
  return at == text.npos ? 0 : size_of(text.substr(at + words.size()));
}
double size_before(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  EXPECT_NE(at, text.npos) << words << " is not in " << text;
  return at == text.npos ? 0 : size_of(text.substr(text.find_last_not_of("0123456789.", at - 4) + 1));
}

// What --dry_run tells of a device against what a run says at its end: of one worker, and of the shares of two.
TEST_F(WholeRun, TakesWhatIsPlanned) {
  const Words sizes{"--model.hidden_dim=128", "--model.num_layers=4", "--model.seq_len=64",
                    "--trainer.lanes=4", "--model.attn_pdrop=0"};
  const std::string narrow = "--trainer.mp=p=f32,c=bf16", whole = "--trainer.fsdp_axis=null",
                    kept = "--model.gradient_checkpointing=false",
                    sent = "--model.gradient_checkpointing=offload";
  ::setenv("TEST_ATTENTION", "library", 1);
  for (const auto& more : {Words{kept}, Words{kept, narrow}, Words{sent, narrow}, Words{kept, narrow, whole},
                           Words{kept, narrow, "--trainer.fp8=true", "--trainer.cuda_graphs=false"}}) {
    auto words = training("test", sizes);
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("--trainer.num_train_steps=3");
    SCOPED_TRACE(join(more, " "));
    const auto folder = copy_project(here_, "fake_device_planned", 0);
    const auto planned = [&](Words all, const std::string& behind) {
      all.emplace_back("--dry_run");
      return size_behind(run(folder, all).output, behind);
    };
    const auto expect_near = [](const Finished& done, double plan) {
      expect_ends_well(done);
      EXPECT_NEAR(size_before(done.output, " at most on test") / plan, 1, 0.1) << plan;
    };
    expect_near(run(folder, words), planned(words, "memory      about "));
    if (!can_run_workers()) continue;
    const auto share = planned(with(words, {"--world=2"}), "each holds up to ");
    expect_near(run_workers(copy_project(here_, "fake_device_planned", 0), 2, words), share);
  }
  ::unsetenv("TEST_ATTENTION");
}

// As on a GPU in bf16: FlashAttention in blocks that are computed again, copies that AdamW writes and a resume rounds anew.
// In fp32 there is no FlashAttention, and a run says so once.
TEST_F(WholeRun, WithFlashAttentionInBf16) {
  ::setenv("TEST_ATTENTION", "flash", 1);
  const Words bf16{"--trainer.mp=p=f32,c=bf16", "--model.attn_pdrop=0", "--trainer.tracker=[{type: device}]"};
  const auto here = copy_project(here_, "fake_device_flash_cpu", 0),
             there = copy_project(here_, "fake_device_flash", 0);
  const auto cpu = run(here, training("cpu", bf16)), device = run(there, training("test", bf16));
  const auto again = copy_project(there, "fake_device_flash_resumed", kHalf);
  const auto resumed = run(again, training("test", bf16));
  const auto wide =
      run(copy_project(here_, "fake_device_flash_wide", 0), training("test", {"--model.attn_pdrop=0"}));
  const auto dropped = run(copy_project(here_, "fake_device_flash_dropped", 0),
                           training("test", {"--trainer.mp=p=f32,c=bf16", "--trainer.num_train_steps=2"}));
  const auto workers = copy_project(here_, "fake_device_flash_workers", 0);
  std::optional<Finished> two;
  if (can_run_workers()) two = run_workers(workers, 2, training("test", bf16));
  ::unsetenv("TEST_ATTENTION");
  for (const auto* one : {&cpu, &device, &resumed, &wide, &dropped}) expect_ends_well(*one);
  EXPECT_THAT(dropped.output,
              HasSubstr("attention of plain operations on test (dropout of its probabilities): slower, "));
  EXPECT_THAT(device.output, Not(HasSubstr("plain operations")));
  const std::string line = "attention of plain operations on test (neither bf16 nor fp16)";
  const auto first = wide.output.find(line);
  ASSERT_NE(first, std::string::npos) << wide.output;
  EXPECT_EQ(wide.output.find(line, first + 1), std::string::npos);
  expect_one_wait_a_step(there);
  auto got = metrics_of(there)["train/loss"], want = metrics_of(here)["train/loss"];
  ASSERT_EQ(got.size(), std::size_t{kSteps});
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 4e-3 * want[i]) << i;
  expect_same_bits(again, there);
  if (two) {
    expect_ends_well(*two);
    expect_same_bits(workers, there);
  }
}

// A library before FlashAttention, as cuDNN: the same bits after a resume, without graphs and for two workers; a run
// that goes on without it says so.
TEST_F(WholeRun, WithAnAttentionLibraryInBf16) {
  ::setenv("TEST_ATTENTION", "library", 1);
  const Words bf16{"--trainer.mp=p=f32,c=bf16", "--model.attn_pdrop=0", "--trainer.tracker=[{type: device}]"};
  const auto here = copy_project(here_, "fake_device_library_cpu", 0),
             there = copy_project(here_, "fake_device_library", 0);
  const auto cpu = run(here, training("cpu", bf16)), device = run(there, training("test", bf16));
  const auto again = copy_project(there, "fake_device_library_resumed", kHalf);
  const auto resumed = run(again, training("test", bf16));
  const auto without = copy_project(there, "fake_device_library_without_graphs", 0);
  const auto one_by_one = run(without, training("test", {bf16[0], bf16[1], "--trainer.cuda_graphs=false"}));
  const auto workers = copy_project(here_, "fake_device_library_workers", 0);
  std::optional<Finished> two;
  if (can_run_workers()) two = run_workers(workers, 2, training("test", bf16));
  ::setenv("TEST_ATTENTION", "flash", 1);
  const auto other = copy_project(there, "fake_device_library_gone", kHalf);
  const auto gone = run(other, training("test", bf16));
  ::unsetenv("TEST_ATTENTION");
  for (const auto* one : {&cpu, &device, &resumed, &one_by_one, &gone}) expect_ends_well(*one);
  EXPECT_THAT(device.output, Not(HasSubstr("attention ")));
  EXPECT_THAT(device.output, Not(HasSubstr("no graph of a pass")));
  expect_one_wait_a_step(there);
  auto got = metrics_of(there)["train/loss"], want = metrics_of(here)["train/loss"];
  ASSERT_EQ(got.size(), std::size_t{kSteps});
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 4e-3 * want[i]) << i;
  EXPECT_THAT(resumed.output, Not(HasSubstr("last digits")));
  EXPECT_THAT(gone.output,
              HasSubstr(", attention by library of the tests 1.0) before: from here on the last digits"));
  expect_same_bits(again, there);
  expect_same_bits(without, there);
  if (two) {
    expect_ends_well(*two);
    expect_same_bits(workers, there);
  }
}

// Chance rounds the moments: the same on the device, after a resume and for two workers; a run may change its mind.
TEST_F(WholeRun, WithBf16Moments) {
  const Words narrow{"--optimizer.state_dtype=bf16"};
  const auto here = copy_project(here_, "fake_device_moments_cpu", 0),
             there = copy_project(here_, "fake_device_moments", 0);
  expect_ends_well(run(here, training("cpu", narrow)));
  expect_ends_well(run(there, training("test", narrow)));
  auto got = metrics_of(there)["train/loss"], want = metrics_of(here)["train/loss"];
  ASSERT_EQ(got.size(), std::size_t{kSteps});
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]) << i;
  const auto again = copy_project(there, "fake_device_moments_resumed", kHalf);
  const auto resumed = run(again, training("test", narrow));
  expect_ends_well(resumed);
  expect_same_bits(again, there);
  const auto widened = run(copy_project(there, "fake_device_moments_widened", kHalf), training("test"));
  expect_ends_well(widened);
  EXPECT_THAT(widened.output, HasSubstr("optimizer.state_dtype: bf16 -> f32"));
  if (!can_run_workers()) return;
  const auto workers = copy_project(here_, "fake_device_moments_workers", 0);
  expect_ends_well(run_workers(workers, 2, training("test", narrow)));
  expect_same_bits(workers, there);
}

// Linear maps in fp8: a loss as that of bf16, the same bits after a resume and for two workers; refused on the CPU.
TEST_F(WholeRun, InFp8) {
  const Words bf16{"--trainer.mp=p=f32,c=bf16"}, fp8{"--trainer.mp=p=f32,c=bf16", "--trainer.fp8=true"};
  const auto wide = copy_project(here_, "fake_device_fp8_bf16", 0),
             there = copy_project(here_, "fake_device_fp8", 0);
  expect_ends_well(run(wide, training("test", bf16)));
  const auto first = run(there, training("test", fp8));
  expect_ends_well(first);
  EXPECT_THAT(first.output, ContainsRegex("fp8 +linear maps in E4M3, gradients of their results in E5M2"));
  EXPECT_THAT(first.output, Not(HasSubstr("stays in bf16")));
  auto got = metrics_of(there)["train/loss"], want = metrics_of(wide)["train/loss"];
  ASSERT_EQ(got.size(), std::size_t{kSteps});
  EXPECT_NE(got, want);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.02 * want[i]) << i;
  const auto again = copy_project(there, "fake_device_fp8_resumed", kHalf);
  expect_ends_well(run(again, training("test", fp8)));
  expect_same_bits(again, there);
  const auto refused = run(copy_project(here_, "fake_device_fp8_cpu", 0), training("cpu", fp8));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, ContainsRegex("trainer.fp8 +needs a GPU of compute capability 8.9"));
  if (!can_run_workers()) return;
  const auto workers = copy_project(here_, "fake_device_fp8_workers", 0);
  expect_ends_well(run_workers(workers, 2, training("test", fp8)));
  expect_same_bits(workers, there);
}

TEST(WholeRunOfABenchmark, TellsItsDevice) {
  const auto folder = small_project("fake_device_bench");
  const auto done = run(folder, {"bench", "train", "--model", "quickstart", "--batch", "2", "--lanes", "2",
                                 "--seq", "16", "--steps", "1", "--device", "test"});
  expect_ends_well(done);
  const auto line = parse_json(done.output, "bench");
  EXPECT_EQ(line.at("device"), "device of the tests");
  EXPECT_GT(line.at("peak_device_mb").get<double>(), 10);
  EXPECT_FALSE(line.contains("mfu")) << "products of a device are not seen one by one";
}

// Features of sound go there, and what is heard is the same.
TEST(WholeRunOfSpeech, IsHeardAsOnTheCpu) {
  const auto folder = small_project("fake_device_speech");
  const auto make =
      std::string(BORA_SOURCE_DIR "/scripts/made_up_speech.sh ") + folder + "/made_up_speech 24 4";
  ASSERT_EQ(std::system(make.c_str()), 0);
  std::vector<std::string> heard;
  for (const std::string device : {"cpu", "test"}) {
    expect_ends_well(run(
        folder, {"train", BORA_SOURCE_DIR "/recipes/whisper_nano.yaml", "--trainer.id=" + device,
                 "--trainer.device=" + device, "--trainer.num_train_steps=4", "--trainer.train_batch_size=4",
                 "--trainer.threads=1", "--hf_export=false", "--data.train_tokenizer.vocab_size=270",
                 "--model.d_model=16", "--model.encoder_ffn_dim=32", "--model.decoder_ffn_dim=32"}));
    for (const char* beams : {"1", "2"}) {
      const auto told = run(folder, {"transcribe", "runs/cpu", "made_up_speech/sounds/validation0000.wav",
                                     "--json", "--quiet", "--beams", beams, "--device", device});
      expect_ends_well(told);
      heard.push_back(told.output);
    }
  }
  EXPECT_EQ(heard[2], heard[0]);
  EXPECT_EQ(heard[3], heard[1]);
  const auto loss = [&](const std::string& id) {
    const auto lines = split(read_text(folder + "/runs/" + id + "/metrics.jsonl"), '\n');
    return parse_json(lines.front(), "metrics").at("train/loss").get<double>();
  };
  EXPECT_NEAR(loss("test"), loss("cpu"), kRounding * loss("cpu"));
}

// Norms by the device's own kernel, grouped heads, rotary embeddings, whose base depends on the sequence's length.
TEST(WholeRunOfLlama, IsThatOfTheCpuWithinRounding) {
  const auto here = small_project("fake_device_llama_cpu");
  auto config = read_text(here + "/config.yaml");
  const auto begin = config.find("model:\n"), end = config.find("trainer:\n");
  config.replace(begin, end - begin,
                 "model: {type: llama, seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 2, "
                 "num_heads: 4, num_kv_heads: 2,\n"
                 "  rope: {type: dynamic, factor: 2, original_max_position_embeddings: 16}}\n");
  write_atomically(here + "/config.yaml", config);
  const auto there = copy_project(here, "fake_device_llama", 0);
  const auto cpu = run(here, training("cpu"));
  expect_ends_well(cpu);
  const auto device = run(there, training("test", {"--trainer.tracker=[{type: device}]"}));
  expect_ends_well(device);
  expect_close(there, here);
  expect_one_wait_a_step(there);
}

// One product for all experts of a layer: a lane is a graph, and the host does not wait for numbers of rows.
TEST(WholeRunOfMixtral, InBf16KeepsItsBitsAndWaitsOnceAStep) {
  const auto folder = small_project("fake_device_mixtral");
  auto config = read_text(folder + "/config.yaml");
  const auto begin = config.find("model:\n"), end = config.find("trainer:\n");
  config.replace(begin, end - begin,
                 "model: {type: mixtral, seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 2, "
                 "num_heads: 4, num_kv_heads: 2, n_routed_experts: 4}\n");
  write_atomically(folder + "/config.yaml", config);
  const Words flags{"--trainer.mp=p=f32,c=bf16", "--trainer.tracker=[{type: device}]"};
  const auto done = run(folder, training("test", flags));
  expect_ends_well(done);
  EXPECT_THAT(done.output, Not(AnyOf(HasSubstr("no graph of a pass"), HasSubstr("by a product for each"))));
  expect_one_wait_a_step(folder);
  const auto resumed = copy_project(folder, "fake_device_mixtral_resumed", kHalf);
  expect_ends_well(run(resumed, training("test", flags)));
  expect_same_bits(resumed, folder);
  const auto without = copy_project(folder, "fake_device_mixtral_without_graphs", 0);
  auto more = flags;
  more.emplace_back("--trainer.cuda_graphs=false");
  expect_ends_well(run(without, training("test", more)));
  expect_same_bits(without, folder);
  expect_one_wait_a_step(without);
}

}  // namespace
}  // namespace bora::golden

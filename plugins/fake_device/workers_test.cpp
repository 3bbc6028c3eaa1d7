// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whole runs of several workers on the device of the tests: messages that lie in its memory against those that go
// through the host's.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "launched.h"
#include "program.h"

namespace bora::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Flags = std::vector<std::string>;

constexpr int kWorkerSteps = 6;
constexpr const char* kDirect = "messages go from device to device by the device of the tests";

Flags on_workers(const Flags& more) {
  return with({"train", "config.yaml", "--trainer.device=test", "--trainer.lanes=4", "--trainer.threads=1",
               "--trainer.num_train_steps=" + std::to_string(kWorkerSteps),
               "--model.gradient_checkpointing=true", "--optimizer.max_grad_norm=0.5",
               "--trainer.checkpointer.keep=[{every: 100}]", "--trainer.tracker=[{type: device}]"},
              more);
}

std::string project_of(const std::string& name, const std::string& type_and_more) {
  const auto folder = small_project(name);
  auto text = read_text(folder + "/config.yaml");
  const auto from = text.find("model:"), to = text.find("trainer:");
  text.replace(from, to - from,
               "model: {seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 2, num_heads: 4, "
               "num_kv_heads: 2, type: " +
                   type_and_more + "}\n");
  write_atomically(folder + "/config.yaml", text);
  return folder;
}
std::string experts_project(const std::string& name) {
  return project_of(name, "mixtral, n_routed_experts: 4");
}

/// The most of a step on worker 0; the first counts what came before it, the last the end.
struct OfAStep {
  std::int64_t waits = 0, host_bytes = 0, carried_bytes = 0;
};
OfAStep most_of_a_step(const std::string& folder) {
  OfAStep most;
  std::int64_t before = -1;
  for (const auto& text : split(read_text(folder + "/runs/run/device.jsonl"), '\n')) {
    if (text.empty()) continue;
    const auto line = parse_json(text, "device.jsonl");
    const auto step = line.at("step").get<std::int64_t>();
    const bool is_evaluation = step == std::exchange(before, step);
    if (step == 0 || step >= kWorkerSteps - 1 || is_evaluation) continue;
    most.waits = std::max(most.waits, line.at("waits").get<std::int64_t>());
    most.host_bytes = std::max(most.host_bytes, line.at("host_bytes").get<std::int64_t>());
    most.carried_bytes = std::max(most.carried_bytes, line.at("carried_bytes").get<std::int64_t>());
  }
  return most;
}

std::string diff_of(const std::string& a, const std::string& b) {
  const auto step = "/runs/run/step-" + std::to_string(kWorkerSteps);
  return run(a, {"diff", a + step, b + step}).output;
}

Finished run_through_host(const std::string& folder, int workers, const Flags& flags) {
  ::setenv("TEST_TRANSPORT", "host", 1);
  auto done = run_workers(folder, workers, flags);
  ::unsetenv("TEST_TRANSPORT");
  return done;
}

class WorkersOnADevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "no mpirun, or no MPI plug-in";
  }
  // Both ways have the same bits; `waits`: the most that the host waits in a step where nothing passes through it.
  static void expect_same_both_ways(const std::string& project, int workers, const Flags& more,
                                    std::int64_t waits) {
    const auto direct = copy_project(project, "device_workers_direct", 0),
               through = copy_project(project, "device_workers_host", 0);
    const auto flags = on_workers(more);
    const auto done = run_workers(direct, workers, flags), host = run_through_host(through, workers, flags);
    ASSERT_EQ(done.code, 0) << done.output;
    ASSERT_EQ(host.code, 0) << host.output;
    EXPECT_THAT(done.output, HasSubstr(kDirect));
    EXPECT_THAT(host.output,
                HasSubstr("messages go through the memory of the host: worker 0: TEST_TRANSPORT"));
    EXPECT_THAT(diff_of(direct, through), HasSubstr("bit-equal"));
    const auto a = most_of_a_step(direct), b = most_of_a_step(through);
    EXPECT_EQ(a.waits, waits) << "through the host " << b.waits;
    EXPECT_LT(4 * a.waits, b.waits);
    EXPECT_GT(a.carried_bytes, 0);
    EXPECT_LT(a.host_bytes, b.host_bytes / 4);
    EXPECT_EQ(b.carried_bytes, 0);
  }
};

TEST_F(WorkersOnADevice, WithWholeParameters) {
  expect_same_both_ways(small_project("device_workers"), 2, {"--trainer.fsdp_axis=null"}, 1);
}

TEST_F(WorkersOnADevice, WithShardedParameters) {
  expect_same_both_ways(small_project("device_workers"), 2, {}, 3);
}

TEST_F(WorkersOnADevice, WithTensorParallelism) {
  expect_same_both_ways(small_project("device_workers"), 2, {"--trainer.model_axis_size=2"}, 3);
}

TEST_F(WorkersOnADevice, WithContextParallelism) {
  expect_same_both_ways(small_project("device_workers"), 2, {"--trainer.context_axis_size=2"}, 1);
}

// In bf16, and without dropout of probabilities, keys and values go round a ring.
class RingsOnADevice : public WorkersOnADevice {
 protected:
  void TearDown() override { ::unsetenv("TEST_ATTENTION"); }
  // Short documents in every sequence, or none apart.
  void begin(std::string project, const char* attention, bool documents, const Flags& more) {
    project_ = std::move(project);
    ::setenv("TEST_ATTENTION", attention, 1);
    flags_ = with(on_workers({"--trainer.mp=p=f32,c=bf16"}), more);
    if (!documents) {
      flags_.push_back("--data.block_cross_document_attention=false");
      return;
    }
    const auto all = read_text(project_ + "/one.txt");
    std::string records;
    for (std::size_t i = 0; i < all.size(); i += 60)
      records +=
          Json({{"text", all.substr(i, 60)}}).dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
    write_atomically(project_ + "/one.jsonl", records);
    flags_.push_back("--data.configs.one.train_urls=[one.jsonl]");
  }
  std::string trained(const std::string& name, int context) {
    const auto folder = copy_project(project_, "device_ring_" + name, 0);
    const auto done = go_on(folder, context, {});
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, Not(HasSubstr("attention of plain operations")));
    return folder;
  }
  Finished go_on(const std::string& folder, int context, const Flags& more) {
    auto flags = with(flags_, more);
    if (context == 1) return run(folder, flags);
    flags.push_back(fmt::format("--trainer.context_axis_size={}", context));
    return run_workers(folder, context, flags);
  }
  static void expect_near(const std::string& one, const std::string& more) {
    const auto want = losses(one), got = losses(more);
    ASSERT_EQ(got.size(), std::size_t{kWorkerSteps});
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-3 * want[i]) << "step " << i;
  }
  // Near one worker for two and four; of two the same bits with messages through the host, and after a resume.
  void expect_all() {
    const auto one = trained("one", 1), two = trained("two", 2);
    expect_near(one, two);
    expect_near(one, trained("four", 4));
    EXPECT_EQ(most_of_a_step(two).waits, 1);
    const auto parts = copy_project(project_, "device_ring_parts", 0);
    EXPECT_THAT(go_on(parts, 2, {"--trainer.stop_at_step=3"}).output, HasSubstr("checkpoint step-3 written"));
    EXPECT_EQ(go_on(parts, 2, {}).code, 0);
    EXPECT_THAT(diff_of(two, parts), HasSubstr("bit-equal"));
    ::setenv("TEST_TRANSPORT", "host", 1);
    const auto host = trained("host", 2);
    ::unsetenv("TEST_TRANSPORT");
    EXPECT_THAT(diff_of(two, host), HasSubstr("bit-equal"));
  }

 private:
  std::string project_;
  Flags flags_;
};

TEST_F(RingsOnADevice, OfGpt2WithDocumentsByFlashAttention) {
  begin(small_project("device_ring"), "flash", true, {"--model.attn_pdrop=0"});
  expect_all();
}

TEST_F(RingsOnADevice, OfLlamaByTheLibrary) {
  begin(project_of("device_ring", "llama"), "library", false, {});
  expect_all();
}

TEST_F(RingsOnADevice, OfGpt2ByTheLibrary) {
  begin(small_project("device_ring"), "library", false, {"--model.attn_pdrop=0"});
  expect_near(trained("one", 1), trained("two", 2));
}

TEST_F(RingsOnADevice, OfLlamaWithDocumentsByFlashAttention) {
  begin(project_of("device_ring", "llama"), "flash", true, {});
  expect_near(trained("one", 1), trained("two", 2));
}

TEST_F(WorkersOnADevice, WithExperts) {
  expect_same_both_ways(experts_project("device_workers"), 2, {"--trainer.mesh.axes={expert: 2}"}, 19);
}

// Each has all experts, or its part of all, by one product.
TEST_F(WorkersOnADevice, WithExpertsThatNobodyShares) {
  const auto project = experts_project("device_workers");
  expect_same_both_ways(project, 2, {"--trainer.mp=p=f32,c=bf16"}, 3);
  expect_same_both_ways(project, 2, {"--trainer.mp=p=f32,c=bf16", "--trainer.fsdp_axis=null"}, 1);
  expect_same_both_ways(project, 2, {"--trainer.mp=p=f32,c=bf16", "--trainer.model_axis_size=2"}, 3);
}

// All shards are scaled as the whole array: with fixed parts of sums the bits are those of one worker, else the losses are near.
TEST_F(WorkersOnADevice, InFp8AsOne) {
  const auto flags = on_workers({"--trainer.mp=p=f32,c=bf16", "--trainer.fp8=true"});
  const auto trained = [&](const std::string& project, const std::string& name, int workers,
                           const Flags& more) {
    const auto folder = copy_project(project, name, 0);
    const auto done =
        workers == 1 ? run(folder, with(flags, more)) : run_workers(folder, workers, with(flags, more));
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, Not(HasSubstr("stays in bf16")));
    return folder;
  };
  const auto project = small_project("device_workers"), experts = experts_project("device_workers_experts");
  const std::string lanes = "--trainer.tensor_lanes=2", model = "--trainer.model_axis_size=2";
  const auto in_lanes = trained(project, "device_fp8_lanes", 1, {lanes});
  EXPECT_THAT(diff_of(in_lanes, trained(project, "device_fp8_lanes_2", 2, {lanes, model})),
              HasSubstr("bit-equal"));
  const auto expect_like = [](const std::string& one, const std::string& two) {
    const auto want = losses(one), got = losses(two);
    ASSERT_EQ(got.size(), std::size_t{kWorkerSteps});
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-3 * want[i]) << two << ", step " << i;
  };
  expect_like(trained(project, "device_fp8_one", 1, {}),
              trained(project, "device_fp8_context", 2, {"--trainer.context_axis_size=2"}));
  expect_like(trained(experts, "device_fp8_experts", 1, {}),
              trained(experts, "device_fp8_experts_2", 2, {"--trainer.mesh.axes={expert: 2}"}));
}

TEST_F(WorkersOnADevice, FourOfThemInTwoReplicas) {
  expect_same_both_ways(small_project("device_workers"), 4, {"--trainer.mesh.axes={replica: 2, data: 2}"}, 3);
}

TEST_F(WorkersOnADevice, GoOnFromACheckpointWithTheSameBits) {
  const auto project = small_project("device_workers"),
             whole = copy_project(project, "device_workers_direct", 0),
             parts = copy_project(project, "device_workers_parts", 0);
  const auto flags = on_workers({});
  ASSERT_EQ(run_workers(whole, 2, flags).code, 0);
  const auto first = run_workers(parts, 2, with(flags, {"--trainer.stop_at_step=3"}));
  EXPECT_THAT(first.output, HasSubstr("checkpoint step-3 written"));
  const auto second = run_workers(parts, 2, flags);
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr(kDirect));
  EXPECT_THAT(diff_of(whole, parts), HasSubstr("bit-equal"));
}

// With inputs of blocks on the host meanwhile, whenever the device copies them.
TEST_F(WorkersOnADevice, HaveTheSameBitsWithInputsOfBlocksOnTheHost) {
  const auto project = small_project("device_workers"),
             kept = copy_project(project, "device_workers_direct", 0);
  ASSERT_EQ(run_workers(kept, 2, on_workers({})).code, 0);
  for (const char* when : {"late", "early"}) {
    const auto sent = copy_project(project, "device_workers_offload", 0);
    ::setenv("TEST_COPIES", when, 1);
    const auto done = run_workers(sent, 2, on_workers({"--model.gradient_checkpointing=offload"}));
    ::unsetenv("TEST_COPIES");
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(diff_of(kept, sent), HasSubstr("bit-equal")) << when;
    EXPECT_THAT(read_text(sent + "/runs/run/device.jsonl"), HasSubstr("\"copied_out\":16384,")) << when;
  }
}

TEST_F(WorkersOnADevice, ThatShareOneSayItOnceAndGoThroughTheHost) {
  const auto folder = copy_project(small_project("device_workers"), "device_workers_shared", 0);
  ::setenv("TEST_GPU", "0000:17:00.0", 1);
  const auto done = run_workers(folder, 2, on_workers({}));
  ::unsetenv("TEST_GPU");
  EXPECT_EQ(done.code, 0) << done.output;
  const std::string words =
      "messages go through the memory of the host: workers 0 and 1 share GPU 0000:17:00.0";
  const auto first = done.output.find(words);
  ASSERT_NE(first, std::string::npos) << done.output;
  EXPECT_EQ(done.output.find(words, first + 1), std::string::npos);
}

// One dies in training; the other says who, and goes on from the checkpoint when it is started again.
TEST_F(WorkersOnADevice, AreToldOfOneThatDied) {
  const auto folder = copy_project(small_project("device_workers"), "device_workers_killed", 0);
  Launched launched(folder, 2, {},
                    with(on_workers({}), {"--trainer.num_train_steps=4000", "--trainer.worker_timeout=3",
                                          "--trainer.checkpointer.keep=[{every: 5}]"}));
  ASSERT_TRUE(launched.wait_for_step(5)) << launched.wait().output;
  ::kill(launched.worker(1), SIGKILL);
  const auto done = launched.wait();
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr(kDirect));
  EXPECT_THAT(done.output, HasSubstr("no answer from worker 1 (host "));
  EXPECT_THAT(done.output, HasSubstr(" has died"));
}

}  // namespace
}  // namespace bora::golden

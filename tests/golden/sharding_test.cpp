// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What workers would hold, told before any is started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finished plan(const std::string& folder, const std::string& world, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"train", "config.yaml", "--dry_run", "--world", world};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(folder, arguments);
}

TEST(World, EachWorkerHoldsItsShare) {
  auto folder = small_project("world");
  auto done = plan(folder, "2");
  ASSERT_EQ(done.code, 0) << done.output;
  // 36,096 parameters, of which 448 biases along qkv and mlp are whole: 4 · (448 + 35,648 / 2) bytes.
  EXPECT_THAT(done.output, HasSubstr("workers     2 · 24 of 28 parameters cut over them"));
  EXPECT_THAT(done.output, HasSubstr("parameters 73.1 kB · gradients 73.1 kB · optimizer 146 kB"));
  EXPECT_THAT(done.output, HasSubstr("a worker receives "));
  EXPECT_FALSE(exists(folder + "/runs"));
  auto whole = plan(folder, "2", {"--trainer.fsdp_axis=null"});
  EXPECT_THAT(whole.output, HasSubstr("0 of 28 parameters cut over them"));
  EXPECT_THAT(whole.output,
              HasSubstr("parameters 144 kB · gradients 144 kB · optimizer 289 kB · gathered 0 B"));
}

TEST(World, AMeshOfSeveralAxes) {
  auto folder = small_project("world_mesh");
  auto done = plan(folder, "8", {"--trainer.model_axis_size=2", "--trainer.context_axis_size=2"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("  data 2 × context 2 × model 2\n"));
  EXPECT_THAT(done.output, HasSubstr("over model "));
  auto uneven = plan(folder, "3", {"--trainer.model_axis_size=3"});
  EXPECT_EQ(uneven.code, 2) << uneven.output;
  EXPECT_THAT(uneven.output,
              HasSubstr("h.0.attn.c_attn.weight: axis heads of size 4 cannot be cut into 3 equal "
                        "shards for the mesh axis model"));
  EXPECT_THAT(uneven.output, HasSubstr("; another trainer.model_axis_size"));
  auto experts = plan(folder, "2", {"--trainer.mesh.axes={expert: 2}"});
  EXPECT_EQ(experts.code, 2) << experts.output;
  EXPECT_THAT(experts.output,
              HasSubstr("mesh: expert is 2, but no parameter of a model of type gpt2 has an axis "
                        "on it (expert)"));
  auto text = read_text(folder + "/config.yaml");
  text.replace(text.find("  lanes: 2"), 10, "  lanes: 2\n  model_axis_size: 2");
  write_atomically(folder + "/mesh.yaml", text);
  auto drawn = run(folder, {"inspect", "--sharding", "mesh.yaml", "--world", "4", "--svg", "mesh.svg"});
  EXPECT_THAT(drawn.output, HasSubstr("mlp ▏0▏1▕ 64 each over model · embed ▏0▏1▕ 16 each"));
  EXPECT_THAT(read_text(folder + "/mesh.svg"), HasSubstr("cut along mlp and along embed"));
}

// Of a lane of 4 sequences of 32 positions, 32 values each: the input of one block of two.
TEST(World, PinnedMemoryIsTakenByEachWorker) {
  const auto folder = small_project("world_pinned");
  const std::vector<std::string> offload = {"--model.gradient_checkpointing=offload"},
                                 on_gpus = {offload[0], "--trainer.device=cuda"};
  const auto done = plan(folder, "2", on_gpus);
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output,
              HasSubstr("  inputs of blocks in pinned memory of the host 16.4 kB, and 32.8 kB where all "
                        "workers are on one host\n"));
  const auto halves = plan(folder, "2", with(on_gpus, {"--trainer.context_axis_size=2"}));
  EXPECT_THAT(halves.output,
              HasSubstr("of the host 8.19 kB, and 16.4 kB where all workers are on one host\n"));
  EXPECT_THAT(plan(folder, "2", offload).output, Not(HasSubstr("pinned"))) << "on CPUs nothing is sent";
}

TEST(World, AxesThatTheModelHasNotAreTold) {
  const auto folder = small_project("world_axes");
  const std::string none = "is no axis of a model of type gpt2, so that nothing is cut along it",
                    all = "embed, head_dim, heads, mlp, position, qkv, vocab";
  const auto nope = plan(folder, "2", {"--trainer.fsdp_axis=nope"});
  EXPECT_EQ(nope.code, 2) << nope.output;
  EXPECT_THAT(nope.output, HasSubstr("trainer.fsdp_axis  nope " + none + "; its axes: " + all));
  const auto one = plan(folder, "2", {"--trainer.tensor_parallel_axes=[mlp,hedas]"});
  EXPECT_EQ(one.code, 0) << one.output;
  EXPECT_THAT(one.output, HasSubstr("warning     trainer.tensor_parallel_axes: hedas " + none +
                                    "; did you mean `heads`?; its axes: batch, "));
  // Levanter's files name what other models have.
  const auto usual = plan(folder, "2", {"--trainer.fsdp_axis=kv_head"});
  EXPECT_EQ(usual.code, 0) << usual.output;
  EXPECT_THAT(usual.output, HasSubstr("warning     trainer.fsdp_axis: kv_head " + none));
  const auto fine = plan(folder, "2",
                         {"--trainer.tensor_parallel_axes=[mlp,heads,position]", "--trainer.fsdp_axis=[mlp]",
                          "--trainer.axis_resources={token: data}"});
  EXPECT_THAT(fine.output, Not(HasSubstr("warning"))) << fine.output;
  const auto start = run(folder, {"train", "config.yaml", "--trainer.mesh.param_mapping={embd: data}"});
  EXPECT_EQ(start.code, 2) << start.output;
  EXPECT_THAT(start.output, HasSubstr("trainer.mesh.param_mapping  embd " + none +
                                      "; did you mean `embed`?; its axes: " + all));
}

TEST(World, MoreWorkersThanLanesAreRefused) {
  auto done = plan(small_project("world_too_many"), "3");
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("3 workers, but the batch of 8 sequences is cut into 2 lanes"),
                                 HasSubstr("; at most 2 workers")));
}

TEST(World, GoesWithADryRunAlone) {
  auto done = run(small_project("world_alone"), {"train", "config.yaml", "--world", "2"});
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.output, HasSubstr("--world 2 goes with --dry_run alone"));
}

TEST(Sharding, IsDrawn) {
  auto folder = small_project("sharding");
  auto done = run(folder, {"inspect", "--sharding", "config.yaml", "--world", "2", "--svg", "picture.svg"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("wte.weight"));
  EXPECT_THAT(done.output, HasSubstr("h.0-1.mlp.up_proj.weight    [mlp=128, embed=32]"));
  EXPECT_THAT(done.output, HasSubstr("embed ▏0▏1▕ 16 each"));
  EXPECT_THAT(done.output, HasSubstr("whole on every worker"));
  EXPECT_THAT(done.output, Not(HasSubstr("h.1.")));
  auto svg = read_text(folder + "/picture.svg");
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg "), HasSubstr("Parameters on 2 workers"),
                         HasSubstr("cut along embed"), HasSubstr("</svg>")));
  auto none = run(folder, {"inspect", "--sharding", "config.yaml", "--world", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("inspect: --world is 0; it must be from 1 to 1000000"));
}

}  // namespace
}  // namespace bora::golden

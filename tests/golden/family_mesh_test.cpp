// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Families of models on two workers: the same losses with parameters sharded, bit for bit, and with heads or
// positions in shards, but for the order of sums.
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

constexpr int kFamilySteps = 6;

struct Family {
  std::string type, more;
  std::string axes = "[heads, mlp, vocab]";  // of tensor parallelism
};

class FamilyMesh : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
  static std::vector<double> losses_of(const std::string& name, int workers,
                                       const std::vector<std::string>& more) {
    const auto& family = GetParam();
    const auto folder = small_project("mesh_" + family.type + name);
    auto text = read_text(folder + "/config.yaml");
    const auto from = text.find("model:"), to = text.find("trainer:");
    text.replace(from, to - from,
                 "model: {type: " + family.type +
                     ", seq_len: 32, hidden_dim: 32, num_layers: 2, num_heads: 4" + family.more + "}\n");
    write_atomically(folder + "/config.yaml", text);
    std::vector<std::string> line = {"train",
                                     "config.yaml",
                                     "--trainer.lanes=2",
                                     "--trainer.num_train_steps=6",
                                     "--trainer.threads=1",
                                     "--trainer.tensor_parallel_axes=" + family.axes};
    line.insert(line.end(), more.begin(), more.end());
    const auto done = run_workers(folder, workers, line);
    EXPECT_EQ(done.code, 0) << done.output;
    return losses(folder);
  }
};

TEST_P(FamilyMesh, TrainsAsAlone) {
  const auto want = losses_of("", 1, {});
  ASSERT_EQ(want.size(), static_cast<std::size_t>(kFamilySteps));
  EXPECT_EQ(losses_of("_data", 2, {}), want) << "parameters sharded over them";
  for (const std::string axis : {"model", "context"}) {
    const auto got = losses_of("_" + axis, 2, {"--trainer." + axis + "_axis_size=2"});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-6 * want[i]) << axis << ", step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, FamilyMesh,
    testing::Values(Family{"backpack", ", num_senses: 4"},
                    Family{"gemma", ", intermediate_dim: 64, num_kv_heads: 1, head_dim: 8",
                           "[q_heads_per_group, mlp, vocab]"},
                    Family{"gemma3",
                           ", intermediate_dim: 64, num_kv_heads: 2, head_dim: 8, "
                           "sliding_window: 5, sliding_window_pattern: 2"},
                    Family{"gpt_neox", ", intermediate_dim: 64, rotary_pct: 0.5"},
                    Family{"gptj", ", intermediate_dim: 64, rotary_dim: 4"},
                    Family{"gpt_oss",
                           ", intermediate_dim: 48, num_kv_heads: 2, head_dim: 8, "
                           "sliding_window: 5, n_routed_experts: 4, num_experts_per_tok: 2"},
                    Family{"mpt", ""},
                    Family{"olmo3",
                           ", intermediate_dim: 64, num_kv_heads: 2, sliding_window: 5, "
                           "layer_types: [sliding_attention, full_attention]"}),
    [](const auto& test) { return test.param.type; });

}  // namespace
}  // namespace bora::golden

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Several workers share the lanes of a run: heads, MLP and vocabulary over `model`, positions over `context`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTrainMesh = {"train", "config.yaml", "--trainer.lanes=2",
                                             "--trainer.num_train_steps=6", "--trainer.threads=1"};
constexpr int kMeshSteps = 6;

class WorkerMesh : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
  static const std::string& alone() {
    static const std::string kFolder = [] {
      auto folder = small_project("mesh_alone");
      auto done = run(folder, kTrainMesh);
      EXPECT_EQ(done.code, 0) << done.output;
      return folder;
    }();
    return kFolder;
  }
  // Another split of the sums gives other last bits.
  static void expect_like_alone(const std::string& folder) {
    const auto want = losses(alone()), got = losses(folder);
    ASSERT_EQ(want.size(), static_cast<std::size_t>(kMeshSteps));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-6 * want[i]) << "step " << i;
  }
  static std::string trained(const std::string& name, int workers, const std::vector<std::string>& more,
                             const std::string& words) {
    auto folder = small_project(name);
    auto done = run_workers(folder, workers, with(kTrainMesh, more));
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr(words));
    return folder;
  }
  static void expect_bit_equal(const std::string& a, const std::string& b) {
    auto diff = run(a, {"diff", a + "/runs/run/step-6", b + "/runs/run/step-6"});
    EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
  }
};

// With one mesh inside the lanes, the bits do not depend on the workers that compute different lanes.
TEST_F(WorkerMesh, TensorParallel) {
  const std::string model = "--trainer.model_axis_size=2";
  const auto two = trained("mesh_model", 2, {model}, "2 workers (model 2)");
  expect_like_alone(two);
  const auto four =
      trained("mesh_model_data", 4, {model}, "4 workers (data 2 × model 2), parameters sharded over data");
  expect_bit_equal(two, four);
  expect_bit_equal(two, trained("mesh_model_whole", 4, {model, "--trainer.fsdp_axis=null"},
                                "4 workers (data 2 × model 2)"));
}

// Moments in bf16 of shards of shards: rounded as those of the whole array, and whole in checkpoints.
TEST_F(WorkerMesh, Bf16MomentsOfTensorLanes) {
  const std::vector<std::string> narrow = {"--trainer.tensor_lanes=2", "--optimizer.state_dtype=bf16"};
  const auto one = trained("mesh_moments", 1, narrow, "step  6/6");
  auto two = narrow;
  two.push_back("--trainer.model_axis_size=2");
  expect_bit_equal(one, trained("mesh_moments_model", 2, two, "2 workers (model 2)"));
  expect_bit_equal(one, trained("mesh_moments_data", 4, two, "4 workers (data 2 × model 2)"));
}

// With fixed lanes on the axis model, they do not depend on its size either.
TEST_F(WorkerMesh, TensorLanes) {
  const std::string lanes = "--trainer.tensor_lanes=4", two = "--trainer.model_axis_size=2";
  const std::string with_export = "--hf_export=true", exported = "/runs/run/hf/model.safetensors";
  const auto one = trained("mesh_lanes", 1, {lanes, with_export}, "step  6/6");
  expect_like_alone(one);
  expect_bit_equal(one, trained("mesh_lanes_model_2", 2, {lanes, two}, "2 workers (model 2)"));
  expect_bit_equal(
      one, trained("mesh_lanes_model_4", 4, {lanes, "--trainer.model_axis_size=4"}, "4 workers (model 4)"));
  const auto four = trained("mesh_lanes_data", 4, {lanes, two, with_export}, "4 workers (data 2 × model 2)");
  expect_bit_equal(one, four);
  EXPECT_EQ(read_text(one + exported), read_text(four + exported));
  const std::vector<std::string> narrow = {lanes, "--trainer.mp=bf16", "--model.gradient_checkpointing=true"};
  const auto narrow_one = trained("mesh_lanes_bf16", 1, narrow, "step  6/6");
  auto narrow_two = narrow;
  narrow_two.push_back(two);
  expect_bit_equal(narrow_one, trained("mesh_lanes_bf16_2", 2, narrow_two, "2 workers (model 2)"));
}

TEST_F(WorkerMesh, ContextParallelRecomputedInSixteenBits) {
  const std::string context = "--trainer.context_axis_size=2";
  expect_like_alone(trained("mesh_context", 2, {context}, "2 workers (context 2)"));
  const std::vector<std::string> narrow = {context, "--trainer.mp=bf16",
                                           "--model.gradient_checkpointing=true"};
  const auto two = trained("mesh_context_bf16", 2, narrow, "(context 2)");
  expect_bit_equal(two, trained("mesh_context_data", 4, narrow, "(data 2 × context 2)"));
}

// Without dropout of its probabilities, attention passes keys and values round a ring.
TEST_F(WorkerMesh, RingAttention) {
  const std::string plain = "--model.attn_pdrop=0", context = "--trainer.context_axis_size=2";
  const auto want = losses(trained("mesh_ring_one", 1, {plain}, "step  6/6"));
  ASSERT_EQ(want.size(), static_cast<std::size_t>(kMeshSteps));
  const auto two = trained("mesh_ring", 2, {plain, context}, "2 workers (context 2)");
  const auto four = trained("mesh_ring_4", 4, {plain, "--trainer.context_axis_size=4"}, "(context 4)");
  for (const auto& folder : {two, four}) {
    const auto got = losses(folder);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-6 * want[i]) << "step " << i;
  }
  expect_bit_equal(two, trained("mesh_ring_data", 4, {plain, context},
                                "4 workers (data 2 × context 2), parameters sharded over data"));
  const std::vector<std::string> narrow = {plain, context, "--trainer.mp=bf16",
                                           "--model.gradient_checkpointing=true"};
  expect_bit_equal(trained("mesh_ring_bf16", 2, narrow, "(context 2)"),
                   trained("mesh_ring_bf16_data", 4, narrow, "(data 2 × context 2)"));
}

std::string project_of(const std::string& name, const std::string& type, const std::string& own) {
  const auto folder = small_project(name);
  auto text = read_text(folder + "/config.yaml");
  const auto from = text.find("model:"), to = text.find("trainer:");
  text.replace(from, to - from,
               "model: {type: " + type +
                   ", seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 4, "
                   "num_heads: 4, num_kv_heads: 2, " +
                   own + "}\n");
  write_atomically(folder + "/config.yaml", text);
  return folder;
}

// Tokens of all workers go to those that have the experts: the bits are those of one worker.
TEST_F(WorkerMesh, Experts) {
  const auto trained_on = [](const std::string& name, int workers, const std::vector<std::string>& more) {
    const auto folder = project_of("mesh_experts_" + name, "mixtral", "n_routed_experts: 4");
    const auto done = run_workers(folder, workers, with(with(kTrainMesh, {"--trainer.lanes=4"}), more));
    EXPECT_EQ(done.code, 0) << done.output;
    return folder;
  };
  const std::string two = "--trainer.mesh.axes={expert: 2}",
                    both = "--trainer.mesh.axes={data: 2, expert: 2}";
  const std::string with_export = "--hf_export=true", exported = "/runs/run/hf/model.safetensors";
  const auto one = trained_on("one", 1, {with_export});
  ASSERT_EQ(losses(one).size(), static_cast<std::size_t>(kMeshSteps));
  const auto cut = trained_on("two", 2, {two, with_export});
  expect_bit_equal(one, cut);
  EXPECT_EQ(losses(one), losses(cut));
  EXPECT_EQ(read_text(one + exported), read_text(cut + exported));
  expect_bit_equal(one, trained_on("both", 4, {both}));

  const std::vector<std::string> narrow = {"--trainer.mp=bf16", "--model.gradient_checkpointing=true",
                                           "--trainer.fsdp_axis=null"};
  expect_bit_equal(trained_on("bf16", 1, narrow), trained_on("bf16_two", 2, with({two}, narrow)));
}

TEST_F(WorkerMesh, ExpertsResumeOnAnotherMesh) {
  const auto folder = project_of("mesh_experts_resume", "mixtral", "n_routed_experts: 4"),
             one = project_of("mesh_experts_alone", "mixtral", "n_routed_experts: 4");
  const auto train = with(kTrainMesh, {"--trainer.lanes=4"});
  EXPECT_EQ(run(one, train).code, 0);
  const auto first =
      run_workers(folder, 2, with(train, {"--trainer.mesh.axes={expert: 2}", "--trainer.stop_at_step=3"}));
  EXPECT_THAT(first.output, HasSubstr("checkpoint step-3 written"));
  const auto second = run(folder, with(train, {"--trainer.stop_at_step=4"}));
  EXPECT_THAT(second.output, HasSubstr("at step 3 of 6 (checkpoint verified)"));
  const auto third = run_workers(
      folder, 4, with(train, {"--trainer.mesh.axes={expert: 2}", "--trainer.check_replicas_every=1"}));
  EXPECT_EQ(third.code, 0) << third.output;
  expect_bit_equal(one, folder);
}

TEST_F(WorkerMesh, ErrorsOfExperts) {
  const auto folder = project_of("mesh_experts_errors", "mixtral", "n_routed_experts: 6");
  const auto odd = run_workers(folder, 3, with(kTrainMesh, {"--trainer.mesh.axes={expert: 3}"}));
  EXPECT_THAT(
      odd.output,
      HasSubstr("mesh: expert is 3, but must be a power of two: the lanes of its workers are added in pairs; "
                "trainer.mesh.axes.expert of 2"));
  const auto uneven =
      run_workers(folder, 4, with(kTrainMesh, {"--trainer.lanes=4", "--trainer.mesh.axes={expert: 4}"}));
  EXPECT_THAT(uneven.output, HasSubstr("axis expert of size 6 cannot be cut into 4 equal shards"));
  const auto lanes =
      run_workers(folder, 2, with(kTrainMesh, {"--trainer.lanes=1", "--trainer.mesh.axes={expert: 2}"}));
  EXPECT_THAT(lanes.output, HasSubstr("1 lane (trainer.lanes)"));
  const auto fast = run_workers(
      folder, 2, with(kTrainMesh, {"--trainer.reduction=fast", "--trainer.mesh.axes={expert: 2}"}));
  EXPECT_THAT(fast.output,
              HasSubstr("trainer.reduction  fast adds up whole gradients, but the experts lie on 2 workers"));
}

// A family alone, with parameters sharded, with its heads and with its positions on two workers.
void expect_same_losses_on_any_mesh(const std::string& type, const std::string& own) {
  const auto losses_of = [&](const std::string& name, int workers, const std::vector<std::string>& more) {
    const auto folder = project_of("mesh_" + type + name, type, "head_dim: 8, " + own);
    const auto done = run_workers(folder, workers, with(kTrainMesh, more));
    EXPECT_EQ(done.code, 0) << done.output;
    return losses(folder);
  };
  const auto want = losses_of("", 1, {});
  ASSERT_EQ(want.size(), static_cast<std::size_t>(kMeshSteps));
  EXPECT_EQ(losses_of("_data", 2, {}), want) << type << ", parameters sharded over them";
  for (const std::string axis : {"model", "context"}) {
    const auto got = losses_of("_" + axis, 2, {"--trainer." + axis + "_axis_size=2"});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 2e-6 * want[i]) << type << ", " << axis << ", step " << i;
  }
}

// Gemma 2: windows in every second layer, which the ring of `context` leaves out beyond them, soft caps,
// norms with an offset.
TEST_F(WorkerMesh, WindowsAndSoftCaps) { expect_same_losses_on_any_mesh("gemma2", "sliding_window: 5"); }

// What is special of a family near Llama, on a mesh.
TEST_F(WorkerMesh, FamiliesNearLlama) {
  expect_same_losses_on_any_mesh("mistral", "sliding_window: 5");
  expect_same_losses_on_any_mesh("qwen2",
                                 "use_sliding_window: true, sliding_window: 5, max_window_layers: 2");
  expect_same_losses_on_any_mesh("qwen3", "tie_word_embeddings: true");
  expect_same_losses_on_any_mesh("olmo2", "tie_word_embeddings: false");
  expect_same_losses_on_any_mesh("smollm3", "no_rope_layer_interval: 2");
  expect_same_losses_on_any_mesh("granite",
                                 "embedding_multiplier: 3, attention_multiplier: 0.3, "
                                 "residual_multiplier: 0.5, logits_scaling: 2");
  expect_same_losses_on_any_mesh("phi3",
                                 "rope: {type: longrope, short_factor: [1, 1, 1, 1], "
                                 "long_factor: [1, 1.5, 2, 2], original_max_position_embeddings: 16}");
}

// Of the probabilities of attention: which of them are dropped depends on no worker, with sinks and without.
TEST_F(WorkerMesh, DropoutOfAttention) {
  expect_same_losses_on_any_mesh("olmo3", "attention_dropout: 0.2, sliding_window: 5");
  expect_same_losses_on_any_mesh("gpt_oss", "attention_dropout: 0.2, sliding_window: 5, n_routed_experts: 4");
}

// Stopped on one mesh, continued on another; the model is exported from blocks.
TEST_F(WorkerMesh, ResumesOnAnotherMesh) {
  auto folder = small_project("mesh_resume");
  auto first = run_workers(
      folder, 4,
      with(kTrainMesh, {"--trainer.mesh.axes={model: 2, context: 2}", "--trainer.stop_at_step=3"}));
  EXPECT_NE(first.code, 0);
  EXPECT_THAT(first.output, HasSubstr("checkpoint step-3 written"));
  auto second = run_workers(folder, 2, with(kTrainMesh, {"--trainer.model_axis_size=2", "--hf_export=true"}));
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("at step 3 of 6 (checkpoint verified)"));
  expect_like_alone(folder);
}

// The weights come one parameter after the other, to the workers that keep them.
TEST_F(WorkerMesh, StartsFromHuggingFaceWeights) {
  const auto first = trained("mesh_hf", 1, {"--hf_export=true"}, "step  6/6");
  const std::string start = "--initialize_from_hf=" + first + "/runs/run/hf";
  const auto one = trained("mesh_hf_one", 1, {start}, "step  6/6");
  EXPECT_LT(losses(one)[0], losses(first)[0]);
  expect_bit_equal(one, trained("mesh_hf_sharded", 2, {start}, "2 workers, parameters sharded over them"));
  const auto four = trained("mesh_hf_model", 4, {start, "--trainer.model_axis_size=2"},
                            "4 workers (data 2 × model 2), parameters sharded over data");
  for (std::size_t i = 0; i < losses(one).size(); ++i)
    EXPECT_NEAR(losses(four)[i], losses(one)[i], 2e-6 * losses(one)[i]) << "step " << i;
}

TEST_F(WorkerMesh, Errors) {
  auto folder = small_project("mesh_errors");
  auto three = run_workers(folder, 3, with(kTrainMesh, {"--trainer.model_axis_size=2"}));
  EXPECT_NE(three.code, 0);
  EXPECT_THAT(three.output, HasSubstr("mesh: model 2 does not divide the 3 workers that were "
                                      "started; start a multiple of 2 workers"));
  EXPECT_EQ(three.output.find("has 1 problem"), three.output.rfind("has 1 problem")) << three.output;
  auto lanes = run(folder, with(kTrainMesh, {"--trainer.tensor_lanes=6"}));
  EXPECT_EQ(lanes.code, 2);
  EXPECT_THAT(lanes.output, HasSubstr("trainer.tensor_lanes = 6  it must be a power of two"));
  auto fewer = run(folder, with(kTrainMesh, {"--trainer.tensor_lanes=2", "--trainer.mesh.axes={model: 4}"}));
  EXPECT_EQ(fewer.code, 2);
  EXPECT_THAT(fewer.output,
              HasSubstr("trainer.tensor_lanes = 2  it must be a multiple of model_axis_size, which is 4"));
  auto uneven = run_workers(folder, 3, with(kTrainMesh, {"--trainer.model_axis_size=3"}));
  EXPECT_THAT(uneven.output,
              HasSubstr("axis heads of size 4 cannot be cut into 3 equal shards for the mesh axis "
                        "model; another trainer.model_axis_size"));
  auto twice = run_workers(folder, 2, with(kTrainMesh, {"--trainer.axis_resources={mlp: modle}"}));
  const auto said = twice.output.find("modle");
  EXPECT_NE(said, std::string::npos) << twice.output;
  EXPECT_EQ(twice.output.find("modle", said + 1), std::string::npos) << "one of the workers says it";
  auto unknown = run(folder, with(kTrainMesh, {"--trainer.axis_resources={mlp: modle}"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("\"modle\" is no axis of the mesh (did you mean model?)"));
  auto experts = run_workers(folder, 2, with(kTrainMesh, {"--trainer.mesh.axes={expert: 2}"}));
  EXPECT_NE(experts.code, 0);
  EXPECT_THAT(
      experts.output,
      HasSubstr("mesh: expert is 2, but no parameter of a model of type gpt2 has an axis on it (expert)"));
}

}  // namespace
}  // namespace bora::golden

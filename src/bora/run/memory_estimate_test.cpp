// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/models/gemma2.h"
#include "bora/models/llama_config.h"
#include "bora/run/shape_model.h"

namespace bora::run {
namespace {

std::string problem_of(const llama::Config& config, std::int64_t workers) {
  const auto sizes =
      estimate_sizes(models::ModelConfigOf<llama::Config>("llama", config), {.vocab = 1, .batch = 1});
  return memory_problem(sizes, workers).value_or(MemoryProblem{}).sentence;
}

TEST(MemoryProblem, ParametersThatNoMachineHolds) {
  llama::Config config{.hidden_dim = 64, .intermediate_dim = 128, .num_layers = 2, .num_heads = 4};
  config.num_kv_heads = 4;
  EXPECT_EQ(problem_of(config, 1), "");
  config.num_layers = 2'147'483'647;
  EXPECT_THAT(problem_of(config, 1),
              testing::MatchesRegex(
                  "[0-9.]+ T parameters, their gradients and the optimizer's state take "
                  "[0-9.]+ [TP]B alone, and this machine has [0-9.]+ .B; take a smaller model, .*"));
  EXPECT_THAT(problem_of(config, 2), testing::HasSubstr("B of each worker, and this machine has "));
  EXPECT_EQ(problem_of(config, 1'000'000'000), "");
}

TEST(MemoryProblem, ParametersThatADeviceDoesNotHold) {
  SizeEstimate sizes{.parameters = {1'000'000'000, 1'000'000'000}};
  sizes.parameter_bytes = 4e9;
  sizes.optimizer_bytes = 8e9;
  EXPECT_FALSE(memory_problem(sizes, 1, {"cuda:0", 16e9, true}));
  EXPECT_EQ(
      memory_problem(sizes, 1, {"cuda:0", 12e9, true}).value().sentence,
      "1.00 B parameters, their gradients and the optimizer's state take 16.0 GB alone, and cuda:0 has 12.0 GB; "
      "take a smaller model, or more workers, each with a device of its own");
  const MemoryPlace taken{"cuda:0", 12e9, true, "trainer.device: cpu (auto took cuda:0, as it is there)"};
  EXPECT_THAT(memory_problem(sizes, 1, taken).value().sentence,
              testing::EndsWith("; take a smaller model, or more workers, each with a device of its own, or "
                                "trainer.device: cpu (auto took cuda:0, as it is there)"));
  sizes.activation_bytes = 20e9;
  EXPECT_THAT(memory_problem(sizes, 1, {"cuda:0", 20e9, true, taken.way_out}).value().sentence,
              testing::EndsWith(
                  "and cuda:0 has 20.0 GB; take a smaller batch, more trainer.lanes, shorter sequences, or "
                  "model.gradient_checkpointing, or trainer.device: cpu (auto took cuda:0, as it is there)"));
}

// As the optimizer itself says.
TEST(MemoryEstimate, StateOfTheOptimizer) {
  const auto estimate = [](const std::string& optimizer) {
    const auto path = testing::TempDir() + "bora_state.yaml";
    write_atomically(
        path,
        "data: {train_urls: [a.txt], vocab_size: 300}\n"
        "model: {type: llama, hidden_dim: 64, intermediate_dim: 128, num_layers: 2, num_heads: 4}\n"
        "optimizer: " +
            optimizer + "\n");
    const auto config = load_config({path}, {}).config;
    return estimate_sizes(*config.model.config,
                          {.vocab = 300, .batch = 4, .state_bytes = bytes_of_state(config, 300)});
  };
  const auto wide = estimate("{type: adam}"), narrow = estimate("{type: adam, state_dtype: bf16}");
  const auto count = static_cast<double>(wide.parameters.all);
  EXPECT_EQ(wide.optimizer_bytes, 8 * count);
  EXPECT_EQ(narrow.optimizer_bytes, 4 * count);
  EXPECT_EQ(wide.checkpoint_bytes - narrow.checkpoint_bytes, 4 * count);
  EXPECT_EQ(estimate("{type: sgd}").optimizer_bytes, 4 * count) << "a momentum alone";
}

// A slip of the hand costs no memory.
TEST(MemoryEstimate, MoreLayersThanCanBeMadeAreNotCounted) {
  LmConfig config;
  config.model.config = std::make_shared<models::ModelConfigOf<llama::Config>>(
      "llama", llama::Config{.hidden_dim = 8, .intermediate_dim = 8, .num_layers = 2'147'483'647});
  config.trainer.freeze = {"layers.0"};
  EXPECT_EQ(bytes_of_state(config, 300), std::nullopt);
  EXPECT_EQ(count_parameters(config, 300).trained, count_parameters(config, 300).all);
}

TEST(MemoryEstimate, InputsOfBlocksThatRestOnTheHost) {
  llama::Config config{
      .seq_len = 32, .hidden_dim = 64, .intermediate_dim = 128, .num_layers = 12, .num_heads = 4};
  config.num_kv_heads = 4;
  const auto estimate = [&](const char* policy, bool on_device) {
    config.gradient_checkpointing = nn::RematPolicy::parse(policy);
    return estimate_sizes(models::ModelConfigOf<llama::Config>("llama", config),
                          {.vocab = 300, .batch = 64, .on_device = on_device, .graphs = on_device});
  };
  const auto here = estimate("recompute", true), sent = estimate("offload", true);
  const double input = 4.0 * 64 * 32 * 64;
  EXPECT_EQ(here.activation_bytes - sent.activation_bytes, 10 * input);
  EXPECT_EQ(sent.pinned_bytes, 11 * input);
  EXPECT_EQ(here.pinned_bytes, 0);
  const auto on_cpu = estimate("offload", false);
  EXPECT_EQ(on_cpu.activation_bytes, estimate("recompute", false).activation_bytes);
  EXPECT_EQ(on_cpu.pinned_bytes, 0);
}

TEST(MemoryEstimate, HasTheScoresOfPositionsThatAreComputedTogether) {
  const llama::Config config{
      .seq_len = 4096, .hidden_dim = 64, .intermediate_dim = 128, .num_layers = 2, .num_heads = 4};
  const auto activations = [&](bool on_device, std::optional<std::int64_t> chunk) {
    return estimate_sizes(models::ModelConfigOf<llama::Config>("llama", config),
                          {.vocab = 50000, .batch = 4, .on_device = on_device, .chunk = chunk})
        .activation_bytes;
  };
  for (const bool on_device : {false, true}) {
    const double rows = on_device ? 50048 : 50000;  // of the head
    EXPECT_EQ(activations(on_device, 4096) - activations(on_device, 2048), 4 * rows * 2048) << on_device;
    EXPECT_EQ(activations(on_device, 1 << 20), activations(on_device, 4 * 4096)) << "no more than there are";
  }
  EXPECT_EQ(activations(false, {}), activations(false, 1024));
  EXPECT_EQ(activations(true, {}), activations(true, 5120));
}

// Workspaces are arrays of the device's allocator, for graphs' stream too; its context is none.
TEST(MemoryEstimate, HasWhatTheLibrariesOfADeviceTake) {
  const llama::Config config{.hidden_dim = 64, .intermediate_dim = 128, .num_layers = 2, .num_heads = 4};
  const models::ModelConfigOf<llama::Config> model("llama", config);
  EstimateOptions options{.vocab = 300, .batch = 4, .on_device = true};
  const auto bare = estimate_sizes(model, options);
  EXPECT_EQ(bare.workspace_bytes, 0);
  EXPECT_EQ(bare.beside_bytes, 0);
  options.extras = {.of_each_stream = 1000, .beside = 7000};
  const auto with = estimate_sizes(model, options);
  EXPECT_EQ(with.arrays(), bare.arrays() + 1000);
  EXPECT_EQ(with.beside_bytes, 7000);
  options.graphs = true;
  EXPECT_EQ(estimate_sizes(model, options).workspace_bytes, 2000);
  options.attention_room = 1e9;
  EXPECT_NEAR(estimate_sizes(model, options).arrays() - with.arrays(), 1e9, 1e8);
  options.on_device = false;
  EXPECT_EQ(estimate_sizes(model, options).workspace_bytes, 0);
}

// By plain operations, whatever the type: soft caps, and heads that no library takes.
TEST(MemoryEstimate, HasTheScoresThatADeviceKeeps) {
  const auto activations = [](const auto& model) {
    return estimate_sizes(
               model, {.vocab = 300, .batch = 4, .lanes = 4, .compute = core::DType::bf16, .on_device = true})
        .activation_bytes;
  };
  gemma2::Config capped;
  const auto of_capped = activations(models::ModelConfigOf<gemma2::Config>("gemma2", capped));
  capped.attn_logit_softcapping.reset();
  EXPECT_GT(of_capped, 2 * activations(models::ModelConfigOf<gemma2::Config>("gemma2", capped)));
  llama::Config config{
      .seq_len = 512, .hidden_dim = 64, .intermediate_dim = 128, .num_layers = 3, .num_heads = 4};
  const auto of_16 = activations(models::ModelConfigOf<llama::Config>("llama", config));
  config.head_dim = 20;
  EXPECT_GT(activations(models::ModelConfigOf<llama::Config>("llama", config)) - of_16,
            3 * 2 * 4.0 * 512 * 512 * 4);
}

TEST(MemoryProblem, ABatchThatNoMachineHolds) {
  const llama::Config config{.hidden_dim = 64, .intermediate_dim = 128, .num_layers = 2, .num_heads = 4};
  const auto sizes = estimate_sizes(models::ModelConfigOf<llama::Config>("llama", config),
                                    {.vocab = 300, .batch = 100'000'000, .lanes = 4});
  const auto problem = memory_problem(sizes, 1, {"this machine", 25e9});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->key, "trainer.train_batch_size");
  EXPECT_THAT(problem->sentence,
              testing::MatchesRegex(
                  "the activations of a lane of 25,000,000 sequences take about [0-9.]+ .B beside "
                  "[0-9.]+ .B for the parameters and what they are trained with, and this machine has "
                  "25.0 GB; take a smaller batch, more trainer.lanes, shorter sequences, or "
                  "model.gradient_checkpointing"));
  EXPECT_FALSE(memory_problem(sizes, 1, {"this machine", sizes.activation_bytes}));
}

}  // namespace
}  // namespace bora::run

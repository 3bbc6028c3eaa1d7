// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Weights stream in and out: beside the model in memory stand one tensor, and the program with its libraries.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "program.h"

namespace bora::golden {
namespace {

constexpr std::int64_t kWidth = 1024, kMlp = 4096, kVocab = 12000, kLayers = 4, kPositions = 64;
constexpr double kMore = 200e6;  // of which libtorch takes the larger part

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
};

// In bfloat16, all zero: a file with a hole takes no time to write, and as long as any to read.
void write_model(const std::string& folder, const Json& config, const std::vector<Tensor>& tensors) {
  files().make_directories(folder);
  write_atomically(folder + "/config.json", config.dump());
  Json header = Json::object();
  std::int64_t end = 0;
  for (const auto& t : tensors) {
    header[t.name] = {{"dtype", "BF16"}, {"shape", t.shape}, {"data_offsets", {end, end + 2 * t.elements()}}};
    end += 2 * t.elements();
  }
  auto text = header.dump();
  const std::uint64_t size = text.size();
  std::string begin(8, '\0');
  std::memcpy(begin.data(), &size, 8);
  write_atomically(folder + "/model.safetensors", begin + text);
  std::filesystem::resize_file(folder + "/model.safetensors", 8 + size + static_cast<std::uint64_t>(end));
}

void expect_streams(const std::string& name, const Json& config, const std::vector<Tensor>& tensors) {
  const auto folder = small_project("streaming_" + name);
  write_model(folder + "/model", config, tensors);
  double all = 0, largest = 0;
  for (const auto& t : tensors) {
    all += 4 * static_cast<double>(t.elements());
    largest = std::max(largest, 4 * static_cast<double>(t.elements()));
  }
  ASSERT_GT(all, largest + kMore) << "a second copy of the model would not show";
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"import", "model", "run"}, {"export", "run", "out", "--dtype", "bf16"}}) {
    const auto done = run(folder, line);
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_LT(done.peak, all + largest + kMore) << line.front();
    EXPECT_GT(done.peak, all) << "the model was in memory";
  }
  EXPECT_GT(files().info(folder + "/out/model.safetensors")->size, static_cast<std::uint64_t>(all / 2));
  remove_all(folder);
}

// Transposed tensors, queries, keys and values in one.
TEST(Streaming, OfGpt2) {
  std::vector<Tensor> tensors = {{"transformer.wte.weight", {kVocab, kWidth}},
                                 {"transformer.wpe.weight", {kPositions, kWidth}},
                                 {"transformer.ln_f.weight", {kWidth}},
                                 {"transformer.ln_f.bias", {kWidth}}};
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const auto at = "transformer.h." + std::to_string(i) + ".";
    for (const char* norm : {"ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"})
      tensors.push_back({at + norm, {kWidth}});
    const std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> maps = {
        {"attn.c_attn", {kWidth, 3 * kWidth}},
        {"attn.c_proj", {kWidth, kWidth}},
        {"mlp.c_fc", {kWidth, kMlp}},
        {"mlp.c_proj", {kMlp, kWidth}}};
    for (const auto& [name, shape] : maps) {
      tensors.push_back({at + name + ".weight", {shape.first, shape.second}});
      tensors.push_back({at + name + ".bias", {shape.second}});
    }
  }
  expect_streams("gpt2",
                 {{"model_type", "gpt2"},
                  {"vocab_size", kVocab},
                  {"n_positions", kPositions},
                  {"n_embd", kWidth},
                  {"n_layer", kLayers},
                  {"n_head", 16}},
                 tensors);
}

// Tensors that several parameters share.
TEST(Streaming, OfPhi3) {
  std::vector<Tensor> tensors = {{"model.embed_tokens.weight", {kVocab, kWidth}},
                                 {"lm_head.weight", {kVocab, kWidth}},
                                 {"model.norm.weight", {kWidth}}};
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const auto at = "model.layers." + std::to_string(i) + ".";
    tensors.push_back({at + "input_layernorm.weight", {kWidth}});
    tensors.push_back({at + "post_attention_layernorm.weight", {kWidth}});
    tensors.push_back({at + "self_attn.qkv_proj.weight", {3 * kWidth, kWidth}});
    tensors.push_back({at + "self_attn.o_proj.weight", {kWidth, kWidth}});
    tensors.push_back({at + "mlp.gate_up_proj.weight", {2 * kMlp, kWidth}});
    tensors.push_back({at + "mlp.down_proj.weight", {kWidth, kMlp}});
  }
  expect_streams("phi3",
                 {{"model_type", "phi3"},
                  {"vocab_size", kVocab},
                  {"hidden_size", kWidth},
                  {"intermediate_size", kMlp},
                  {"num_hidden_layers", kLayers},
                  {"num_attention_heads", 16},
                  {"num_key_value_heads", 16},
                  {"max_position_embeddings", kPositions},
                  {"original_max_position_embeddings", kPositions},
                  {"rms_norm_eps", 1e-5}},
                 tensors);
}

}  // namespace
}  // namespace bora::golden

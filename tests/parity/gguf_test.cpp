// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models as GGUF files: what llama.cpp reads of them. That it computes the same was seen with llama.cpp itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/models/add_model.h"
#include "bora/run/gguf_export.h"
#include "bora/run/models.h"

namespace bora::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Byte-level BPE of three pieces, split as `rule` says.
Tokenizer small(const std::string& rule = R"({"type":"ByteLevel","add_prefix_space":false})",
                const std::string& normalizer = "null") {
  return Tokenizer::from_json(
      R"({"version":"1.0","added_tokens":[{"id":3,"content":"<end>","single_word":false,"lstrip":false,)"
      R"("rstrip":false,"normalized":false,"special":true}],"normalizer":)" +
      normalizer + R"(,"pre_tokenizer":)" + rule +
      R"(,"post_processor":null,"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,)"
      R"("ab":2},"merges":[["a","b"]]}})");
}

std::string folder(const std::string& name) { return BORA_SOURCE_DIR "/tests/parity/models/" + name; }

std::string written(nn::LanguageModel& model, const Tokenizer& tokenizer = small()) {
  const auto path = testing::TempDir() + "bora_gguf_test.gguf";
  export_gguf(model, tokenizer, Json::object(), path, checkpoint::GgufType::f32);
  return read_text(path);
}

std::string error_of(nn::LanguageModel& model, const Tokenizer& tokenizer = small()) {
  try {
    written(model, tokenizer);
    return "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    return e.what();
  }
}

template <class T>
T number(const std::string& bytes, std::size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

std::size_t after(const std::string& bytes, const std::string& name) {
  const auto length = static_cast<std::uint64_t>(name.size());
  const auto text = std::string(reinterpret_cast<const char*>(&length), sizeof length) + name;
  const auto at = bytes.find(text);
  EXPECT_NE(at, bytes.npos) << name;
  return at == bytes.npos ? 0 : at + text.size();
}

// What stands behind a tensor's name: sizes, the innermost first, and where its numbers begin.
struct Info {
  Info(const std::string& bytes, const std::string& name) {
    auto at = after(bytes, name);
    const auto dims = number<std::uint32_t>(bytes, at);
    at += 4;
    for (std::uint32_t i = 0; i < dims; ++i, at += 8) sizes.push_back(number<std::uint64_t>(bytes, at));
    offset = number<std::uint64_t>(bytes, at + 4);
    end = at + 12;
  }
  std::vector<std::uint64_t> sizes;
  std::uint64_t offset = 0;
  std::size_t end = 0;
};

// The numbers of the tensor `name`; the tensors begin at byte `data`.
std::vector<float> tensor(const std::string& bytes, const std::string& name, std::size_t data) {
  const Info info(bytes, name);
  std::size_t elements = 1;
  for (const auto size : info.sizes) elements *= size;
  std::vector<float> out(elements);
  std::memcpy(out.data(), bytes.data() + data + info.offset, out.size() * sizeof(float));
  return out;
}

// Where the tensors begin, of a file whose last one is `last`.
std::size_t data_of(const std::string& bytes, const std::string& last) {
  return (Info(bytes, last).end + 31) / 32 * 32;
}

core::Parameter parameter(nn::LanguageModel& model, std::string_view path) {
  for (auto& p : model.parameters())
    if (p.path == path) return p;
  ADD_FAILURE() << path;
  return {};
}

// Rows of queries and keys: the halves of a head take turns. All else as it is.
TEST(Gguf, Llama) {
  const auto model = load_model(folder("tiny-llama-gqa-rope3"));
  const auto bytes = written(*model);
  const auto shape = model->shape();
  const auto data = data_of(bytes, "output.weight");
  const auto q = tensor(bytes, "blk.1.attn_q.weight", data);
  const auto ours = parameter(*model, "layers.1.attn.q_proj.weight").array->to_vector<float>();
  ASSERT_EQ(q.size(), ours.size());
  const auto width = static_cast<std::size_t>(shape.hidden), head = static_cast<std::size_t>(shape.head_dim);
  for (std::size_t row = 0; row < q.size() / width; ++row) {
    const auto in_head = row % head, from = row - in_head + in_head / 2 + (in_head % 2) * head / 2;
    for (std::size_t j = 0; j < width; ++j) ASSERT_EQ(q[row * width + j], ours[from * width + j]) << row;
  }
  EXPECT_EQ(tensor(bytes, "blk.1.attn_v.weight", data),
            parameter(*model, "layers.1.attn.v_proj.weight").array->to_vector<float>());
  EXPECT_EQ(number<std::uint32_t>(bytes, after(bytes, "llama.attention.head_count_kv") + 4), shape.kv_heads);
  after(bytes, "rope_freqs.weight");
  after(bytes, "gpt-2");
  after(bytes, "[PAD4]");  // rows that no id names
  EXPECT_EQ(number<std::uint32_t>(bytes, after(bytes, "tokenizer.ggml.token_type") + 16 + 12), 3U)
      << "control";
}

// Matrices are (out, in), which GPT-2's own files turn.
TEST(Gguf, Gpt2) {
  const auto model = load_model(folder("tiny-gpt2"));
  const auto bytes = written(*model);
  const auto data = data_of(bytes, "output_norm.bias");
  EXPECT_EQ(tensor(bytes, "blk.0.ffn_up.weight", data),
            parameter(*model, "h.0.mlp.up_proj.weight").array->to_vector<float>());
  EXPECT_EQ(number<std::uint64_t>(bytes, after(bytes, "blk.0.ffn_up.weight") + 4), model->shape().hidden);
  EXPECT_EQ(bytes.find(std::string("\15\0\0\0\0\0\0\0output.weight", 21)), bytes.npos) << "tied";
}

// One tensor for all experts, in their order; routers stay f32.
TEST(Gguf, Experts) {
  const auto model = load_model(folder("tiny-mixtral"));
  const auto bytes = written(*model);
  const auto data = data_of(bytes, "output.weight");
  const auto shape = model->shape();
  for (const auto& [name, path] :
       {std::pair("blk.1.ffn_gate_exps.weight", "layers.1.mlp.experts.gate_proj.weight"),
        std::pair("blk.1.ffn_down_exps.weight", "layers.1.mlp.experts.down_proj.weight"),
        std::pair("blk.0.ffn_gate_inp.weight", "layers.0.mlp.gate.weight")})
    EXPECT_EQ(tensor(bytes, name, data), parameter(*model, path).array->to_vector<float>()) << name;
  const auto sizes = Info(bytes, "blk.1.ffn_gate_exps.weight").sizes;
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0], static_cast<std::uint64_t>(shape.hidden));
  EXPECT_EQ(sizes[2], 4U);
  EXPECT_EQ(number<std::uint32_t>(bytes, after(bytes, "llama.expert_count") + 4), 4U);
  EXPECT_EQ(number<std::uint32_t>(bytes, after(bytes, "llama.expert_used_count") + 4), 2U);
}

// Gates and ups, which Hugging Face's files have in turns, are tensors of their own; biases of experts stay f32, too.
TEST(Gguf, GptOss) {
  const auto model = load_model(folder("tiny-gpt-oss"));
  const auto path = testing::TempDir() + "bora_gguf_test.gguf";
  EXPECT_THAT(
      export_gguf(*model, small(), Json::object(), path, checkpoint::GgufType::f32),
      ElementsAre("llama.cpp rounds the bounds of yarn outwards, which this model leaves as they are"));
  const auto bytes = read_text(path);
  const auto data = data_of(bytes, "output.weight");
  for (const auto& [name, parameter_name] :
       {std::pair("blk.1.ffn_gate_exps.weight", "mlp.experts.gate_proj.weight"),
        std::pair("blk.1.ffn_up_exps.weight", "mlp.experts.up_proj.weight"),
        std::pair("blk.1.ffn_down_exps.bias", "mlp.experts.down_proj.bias"),
        std::pair("blk.1.ffn_up_exps.bias", "mlp.experts.up_proj.bias"),
        std::pair("blk.1.ffn_gate_inp.bias", "mlp.gate.bias"),
        std::pair("blk.1.post_attention_norm.weight", "post_attention_layernorm.weight"),
        std::pair("blk.1.attn_sinks.weight", "self_attn.sinks.scores")})
    EXPECT_EQ(tensor(bytes, name, data),
              parameter(*model, "layers.1." + std::string(parameter_name)).array->to_vector<float>())
        << name;
  EXPECT_EQ(Info(bytes, "blk.0.ffn_gate_exps.weight").sizes, (std::vector<std::uint64_t>{12, 8, 4}));
  EXPECT_EQ(Info(bytes, "blk.0.ffn_gate_exps.bias").sizes, (std::vector<std::uint64_t>{8, 4}));
  for (const auto& [key, value] :
       {std::pair("gpt-oss.attention.sliding_window", 5U),
        std::pair("gpt-oss.expert_feed_forward_length", 8U), std::pair("gpt-oss.expert_count", 4U),
        std::pair("gpt-oss.rope.scaling.original_context_length", 10U)})
    EXPECT_EQ(number<std::uint32_t>(bytes, after(bytes, key) + 4), value) << key;
}

// llama.cpp wants all queries, then all keys, then all values.
TEST(Gguf, PartsOfHeads) {
  const auto model = load_model(folder("tiny-gpt-neox"));
  const auto bytes = written(*model);
  const auto shape = model->shape();
  const auto heads = static_cast<std::size_t>(shape.heads), head = static_cast<std::size_t>(shape.head_dim);
  const auto ours = parameter(*model, "layers.1.attention.query_key_value.bias").array->to_vector<float>();
  const auto theirs = tensor(bytes, "blk.1.attn_qkv.bias", data_of(bytes, "output.weight"));
  ASSERT_EQ(ours.size(), 3 * heads * head);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto of_head = i / (3 * head), part = i / head % 3, at = i % head;
    EXPECT_EQ(theirs[(part * heads + of_head) * head + at], ours[i]) << i;
  }
}

// Gemma multiplies by 1 + weight, which is what stands in the file.
TEST(Gguf, NormsWithOneAdded) {
  const auto model = load_model(folder("tiny-gemma"));
  const auto bytes = written(*model);
  auto ours = parameter(*model, "layers.1.input_layernorm.weight").array->to_vector<float>();
  for (auto& w : ours) w += 1;
  EXPECT_EQ(tensor(bytes, "blk.1.attn_norm.weight", data_of(bytes, "output_norm.weight")), ours);
}

TEST(Gguf, OtherFamilies) {
  for (const auto* name : {"tiny-granite", "tiny-olmo2", "tiny-qwen3"}) {
    const auto model = load_model(folder(name));
    const auto bytes = written(*model);
    after(bytes, "blk.1.attn_q.weight");
    EXPECT_EQ(bytes.find("model.layers"), bytes.npos) << name;
    EXPECT_EQ(bytes.find("_layernorm"), bytes.npos) << name;
  }
}

// What llama.cpp would compute otherwise.
TEST(Gguf, RefusesWhatIsComputedOtherwise) {
  for (const auto& [name, words] :
       {std::pair("tiny-gemma2", "query_pre_attn_scalar is 9, but llama.cpp computes 6 alone"),
        std::pair("tiny-gemma3", "query_pre_attn_scalar is 9, but llama.cpp computes 6 alone"),
        std::pair("tiny-qwen2-moe", "mlp_only_layers is [0], but llama.cpp computes [] alone"),
        std::pair("tiny-qwen3-moe", "mlp_only_layers is [1], but llama.cpp computes [] alone"),
        std::pair("tiny-olmoe", "clip_qkv is 1.2, but llama.cpp computes null alone"),
        std::pair("tiny-smollm3", "use_sliding_window is true, but llama.cpp computes false alone"),
        std::pair("tiny-qwen2", "use_sliding_window is true, but llama.cpp computes false alone"),
        std::pair("tiny-olmo3",
                  R"(layer_types is ["sliding_attention","full_attention"], but llama.cpp computes )"
                  R"(["sliding_attention","sliding_attention"] alone)"),
        std::pair("tiny-mistral", "but llama.cpp has no windows in models of type mistral"),
        std::pair("tiny-mpt", "softmax_scale is 0.6, but llama.cpp computes 0.5 alone"),
        std::pair("tiny-phi3", "but llama.cpp has no windows in models of type phi3"),
        std::pair("tiny-gptj", "models of type gptj are not written")}) {
    auto model = load_model(folder(name));
    EXPECT_THAT(error_of(*model), HasSubstr(words)) << name;
  }
}

TEST(Gguf, RefusesBiasesThatItWouldNotReadBack) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    auto json = parse_json(read_text(folder("tiny-granite") + "/config.json"), "config.json");
    json[key] = true;
    const auto config = models::model_config_from_hf(json, "config.json");
    const auto model = models::make_model(*config, models::vocab_size_from_hf(json, "config.json"), Key{});
    EXPECT_THAT(error_of(*model),
                HasSubstr(std::string(key) + " is true, but llama.cpp computes false alone"));
  }
}

TEST(Gguf, RefusesScalingsThatAreComputedOtherwise) {
  const auto with = [](const Json& scaling) {
    auto json = parse_json(read_text(folder("tiny-llama-tied") + "/config.json"), "config.json");
    json["rope_scaling"] = scaling;
    const auto config = models::model_config_from_hf(json, "config.json");
    const auto model = models::make_model(*config, models::vocab_size_from_hf(json, "config.json"), Key{});
    return error_of(*model);
  };
  Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}};
  EXPECT_EQ(with(yarn), "no error");
  yarn["attention_factor"] = 0.1 * std::log(4.0) + 1;
  EXPECT_EQ(with(yarn), "no error");
  yarn["attention_factor"] = 1.25;
  EXPECT_THAT(with(yarn),
              HasSubstr("attention_factor is 1.25, but llama.cpp computes 0.1 ln(factor) + 1 = "));
  yarn.erase("attention_factor");
  yarn["truncate"] = false;
  EXPECT_THAT(with(yarn), HasSubstr("truncate is false, but llama.cpp computes true alone"));
  EXPECT_THAT(
      with({{"rope_type", "dynamic"}, {"factor", 2.0}, {"original_max_position_embeddings", 40}}),
      HasSubstr("rope_scaling of type dynamic is not written here; linear is, yarn in models of type "));
}

TEST(Gguf, RefusesByName) {
  auto model = load_model(folder("tiny-llama-tied"));
  EXPECT_THAT(
      error_of(*model, small(R"({"type":"Whitespace"})")),
      HasSubstr(R"(the tokenizer's pre_tokenizer is {"type":"Whitespace"}, which llama.cpp does not)"));
  EXPECT_THAT(error_of(*model, small(R"({"type":"ByteLevel","add_prefix_space":true})")),
              HasSubstr("pre_tokenizer adds a space in front (add_prefix_space)"));
  EXPECT_THAT(
      error_of(*model, small(R"({"type":"ByteLevel","add_prefix_space":false})", R"({"type":"Lowercase"})")),
      HasSubstr(R"(the tokenizer's normalizer is {"type":"Lowercase"})"));
}

}  // namespace
}  // namespace bora::run

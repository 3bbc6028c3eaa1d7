// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/run/adapters.h"
#include "bora/run/models.h"
#include "bora/run/no_export.h"

namespace bora::run {
namespace {

using checkpoint::GgufContent;
using checkpoint::GgufTensor;
using checkpoint::GgufType;
using checkpoint::GgufValue;

// Hugging Face's components of a name, and llama.cpp's.
using Names = std::vector<std::pair<std::string_view, std::string_view>>;

const Names kLlamaNames = {{"model.embed_tokens.", "token_embd."},
                           {"model.norm.", "output_norm."},
                           {"lm_head.", "output."},
                           {"model.layers.", "blk."},
                           {".input_layernorm.", ".attn_norm."},
                           {".post_attention_layernorm.", ".ffn_norm."},
                           {".self_attn.q_proj.", ".attn_q."},
                           {".self_attn.k_proj.", ".attn_k."},
                           {".self_attn.v_proj.", ".attn_v."},
                           {".self_attn.o_proj.", ".attn_output."},
                           {".self_attn.q_norm.", ".attn_q_norm."},
                           {".self_attn.k_norm.", ".attn_k_norm."},
                           {".mlp.gate_proj.", ".ffn_gate."},
                           {".mlp.up_proj.", ".ffn_up."},
                           {".mlp.down_proj.", ".ffn_down."}};
const Names kGpt2Names = {{"transformer.wte.", "token_embd."},
                          {"transformer.wpe.", "position_embd."},
                          {"transformer.ln_f.", "output_norm."},
                          {"transformer.h.", "blk."},
                          {".ln_1.", ".attn_norm."},
                          {".ln_2.", ".ffn_norm."},
                          {".attn.c_attn.", ".attn_qkv."},
                          {".attn.c_proj.", ".attn_output."},
                          {".mlp.c_fc.", ".ffn_up."},
                          {".mlp.c_proj.", ".ffn_down."}};

std::string gguf_name(const Names& names, std::string name) {
  for (const auto& [from, to] : names)
    if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  return name;
}

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorKind::Unsupported,
       "GGUF: {}\nhint: bora export without --format gguf writes the Hugging Face layout", what);
}

void require(const Json& config, const char* key, const Json& value) {
  if (config.contains(key) && !config[key].is_null() && config[key] != value)
    refuse(fmt::format("{} is {}, but llama.cpp computes {} alone", key, config[key].dump(), value.dump()));
}

std::uint32_t whole(const Json& config, const char* key) { return config.at(key).get<std::uint32_t>(); }
float real(const Json& config, const char* key) { return static_cast<float>(config.at(key).get<double>()); }

// Llama 3's scaling, as divisors of each frequency: short waves keep theirs, long ones are stretched by
// `factor`, with a straight line between them.
std::vector<float> llama3_divisors(const Json& scaling, double theta, std::int64_t head) {
  const double factor = scaling.at("factor").get<double>(), low = scaling.at("low_freq_factor").get<double>(),
               high = scaling.at("high_freq_factor").get<double>(),
               original = scaling.at("original_max_position_embeddings").get<double>();
  std::vector<float> out;
  for (std::int64_t i = 0; i < head; i += 2) {
    const auto exponent = static_cast<double>(i) / static_cast<double>(head);
    const double wave = 2 * std::numbers::pi * std::pow(theta, exponent);
    const double smooth = (original / wave - low) / (high - low);
    const bool is_short = wave<original / high, is_long = wave> original / low;
    out.push_back(static_cast<float>(is_short ? 1 : is_long ? factor : 1 / ((1 - smooth) / factor + smooth)));
  }
  return out;
}

class Export {
 public:
  Export(nn::LanguageModel& model, GgufType type)
      : config_(model.hf_config()),
        kind_(config_.value("model_type", "")),
        type_(type),
        parameters_(hf_parameters(model)),
        values_(merged_values(model)) {}

  GgufContent content(const Tokenizer& tokenizer, const Json& generation) {
    if (const auto why = why_no_export(config_); !why.empty()) fail(ErrorKind::Unsupported, "GGUF: {}", why);
    if (kind_ == "gpt2")
      describe_gpt2();
    else if (kind_ == "llama" || kind_ == "qwen2" || kind_ == "qwen3")
      describe_llama();
    else
      refuse(fmt::format("models of type {} are not written; llama, qwen2, qwen3 and gpt2 are", kind_));
    for (auto& pair : gguf_tokenizer(tokenizer, generation, whole(config_, "vocab_size")))
      out_.metadata.push_back(std::move(pair));
    add_tensors();
    return std::move(out_);
  }

 private:
  void put(const std::string& key, GgufValue value) { out_.metadata.emplace_back(key, std::move(value)); }
  void put_own(const std::string& key, GgufValue value) { put(kind_ + "." + key, std::move(value)); }

  void begin(const char* layers, const char* width, const char* heads, const char* length) {
    put("general.architecture", kind_);
    put("general.name", kind_);
    put("general.file_type", type_ == GgufType::f32 ? 0U : type_ == GgufType::q8_0 ? 7U : 32U);
    if (type_ == GgufType::q8_0) put("general.quantization_version", 2U);
    put_own("block_count", whole(config_, layers));
    put_own("context_length", whole(config_, length));
    put_own("embedding_length", whole(config_, width));
    put_own("attention.head_count", whole(config_, heads));
    put_own("vocab_size", whole(config_, "vocab_size"));
  }

  void describe_gpt2() {
    require(config_, "activation_function", "gelu_new");
    require(config_, "scale_attn_by_inverse_layer_idx", false);
    require(config_, "scale_attn_weights", true);
    begin("n_layer", "n_embd", "n_head", "n_positions");
    put_own("feed_forward_length", whole(config_, "n_inner"));
    put_own("attention.layer_norm_epsilon", real(config_, "layer_norm_epsilon"));
    names_ = &kGpt2Names;
  }

  void describe_llama() {
    require(config_, "hidden_act", "silu");
    require(config_, "use_sliding_window", false);
    if (kind_ == "qwen3") require(config_, "attention_bias", false);
    begin("num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings");
    put_own("feed_forward_length", whole(config_, "intermediate_size"));
    put_own("attention.head_count_kv", whole(config_, "num_key_value_heads"));
    put_own("attention.layer_norm_rms_epsilon", real(config_, "rms_norm_eps"));
    head_ = config_.contains("head_dim") ? config_["head_dim"].get<std::int64_t>()
                                         : config_.at("hidden_size").get<std::int64_t>() /
                                               config_.at("num_attention_heads").get<std::int64_t>();
    put_own("attention.key_length", static_cast<std::uint32_t>(head_));
    put_own("attention.value_length", static_cast<std::uint32_t>(head_));
    put_own("rope.dimension_count", static_cast<std::uint32_t>(head_));
    describe_rope();
    names_ = &kLlamaNames;
  }

  void describe_rope() {
    put_own("rope.freq_base", real(config_, "rope_theta"));
    const Json scaling = config_.contains("rope_scaling") ? config_["rope_scaling"] : Json();
    if (scaling.is_null()) return;
    const auto type = scaling.value("rope_type", "default");
    if (type == "default") return;
    if (type == "linear") {
      put_own("rope.scaling.type", std::string("linear"));
      put_own("rope.scaling.factor", real(scaling, "factor"));
    } else if (type == "llama3") {
      const auto divisors = llama3_divisors(scaling, config_.at("rope_theta").get<double>(), head_);
      out_.tensors.push_back({"rope_freqs.weight", GgufType::f32, {std::ssize(divisors)}, [divisors] {
                                return std::vector<float>(divisors);
                              }});
    } else {
      refuse("rope_scaling of type " + type + " is not written; linear and llama3 are");
    }
  }

  // llama.cpp turns neighbours where Hugging Face turns the halves of a head, in Llama alone.
  bool interleaved(const std::string& name) const {
    return kind_ == "llama" && (name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos);
  }

  std::vector<float> rows_interleaved(std::vector<float> from, std::int64_t rows) const {
    std::vector<float> to(from.size());
    const auto width = static_cast<std::int64_t>(from.size()) / rows, half = head_ / 2;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto first = row / head_ * head_, at = row % head_;
      const auto target = first + (at < half ? 2 * at : 2 * (at - half) + 1);
      std::copy_n(from.begin() + row * width, width, to.begin() + target * width);
    }
    return to;
  }

  // Parameters are stored (out, in) in memory, whatever Hugging Face's files do.
  std::vector<float> values_of(const checkpoint::HfParameter& p) const {
    const core::Array all = values_ ? values_(p) : *p.parameter.array;
    const auto elements = all.to_vector<float>();
    const auto part = checkpoint::hf_part(p, elements);
    return {part.begin(), part.end()};
  }

  void add_tensors() {
    for (const auto& p : parameters_) {
      auto shape = checkpoint::hf_shape(p);
      if (p.transposed) std::reverse(shape.begin(), shape.end());
      const auto name = gguf_name(*names_, p.name);
      const bool vector = shape.size() == 1 || name == "position_embd.weight";
      const bool turned = interleaved(p.name);
      const auto rows = shape.front();
      out_.tensors.push_back({name, vector ? GgufType::f32 : type_, shape, [this, &p, turned, rows] {
                                auto values = values_of(p);
                                return turned ? rows_interleaved(std::move(values), rows) : values;
                              }});
    }
  }

  Json config_;
  std::string kind_;
  GgufType type_;
  std::vector<checkpoint::HfParameter> parameters_;
  std::function<core::Array(const checkpoint::HfParameter&)> values_;
  const Names* names_ = nullptr;
  std::int64_t head_ = 0;
  GgufContent out_;
};

}  // namespace

void export_gguf(nn::LanguageModel& model, const Tokenizer& tokenizer, const Json& generation,
                 const std::string& path, GgufType type) {
  Export out(model, type);
  checkpoint::write_gguf(path, out.content(tokenizer, generation));
}

}  // namespace bora::run

// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_families.h"

#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/nn/rope_config.h"

namespace bora::run {

using Names = decltype(GgufFamily::names);

[[noreturn]] void refuse_gguf(const std::string& what) {
  fail(ErrorKind::Unsupported,
       "GGUF: {}\nhint: bora export without --format gguf writes the Hugging Face layout", what);
}

std::int64_t gguf_head_dim(const Json& config) {
  if (config.contains("head_dim") && !config["head_dim"].is_null())
    return config["head_dim"].get<std::int64_t>();
  return config.at("hidden_size").get<std::int64_t>() / config.at("num_attention_heads").get<std::int64_t>();
}

std::int64_t gguf_heads(const Json& config) { return config.at("num_attention_heads").get<std::int64_t>(); }

std::int64_t gguf_rotary_dim(const Json& config) {
  const char* key = config.contains("rotary_pct") ? "rotary_pct" : "partial_rotary_factor";
  return static_cast<std::int64_t>(static_cast<double>(gguf_head_dim(config)) * config.value(key, 1.0));
}

double gguf_longrope_scale(const Json& config) {
  const auto given = config["rope_scaling"].value("attention_factor", Json());
  if (!given.is_null()) return given.get<double>();
  const auto original = config.at("original_max_position_embeddings").get<std::int64_t>();
  return nn::longrope_scale(
      config.at("max_position_embeddings").get<double>() / static_cast<double>(original), original);
}

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

bool gguf_has_yarn(std::string_view architecture) {
  for (const std::string_view begin : {"llama", "qwen", "olmo", "smollm3", "granite", "gpt-oss"})
    if (architecture.starts_with(begin)) return true;
  return false;
}

namespace {

bool has(const Json& config, const char* key) { return config.contains(key) && !config[key].is_null(); }
std::uint32_t whole(const Json& config, const char* key) { return config.at(key).get<std::uint32_t>(); }
float real(const Json& config, const char* key) { return static_cast<float>(config.at(key).get<double>()); }

void require(const Json& config, const char* key, const Json& value) {
  if (has(config, key) && config[key] != value)
    refuse_gguf(
        fmt::format("{} is {}, but llama.cpp computes {} alone", key, config[key].dump(), value.dump()));
}

// Windows that llama.cpp leaves out; those that are as long as the model's texts do nothing.
void require_no_window(const Json& config) {
  if (!has(config, "sliding_window") || config.value("use_sliding_window", true) == false) return;
  const auto window = config["sliding_window"].get<std::int64_t>();
  const auto longest = config.at("max_position_embeddings").get<std::int64_t>();
  if (window < longest)
    refuse_gguf(fmt::format("sliding_window is {}, but llama.cpp has no windows in models of type {}", window,
                            config.value("model_type", "")));
}

// ---- names

const Names kDecoder = {{"model.embed_tokens.", "token_embd."},
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
const Names kGpt2 = {{"transformer.wte.", "token_embd."},
                     {"lm_head.", "output."},
                     {"transformer.wpe.", "position_embd."},
                     {"transformer.ln_f.", "output_norm."},
                     {"transformer.h.", "blk."},
                     {".ln_1.", ".attn_norm."},
                     {".ln_2.", ".ffn_norm."},
                     {".attn.c_attn.", ".attn_qkv."},
                     {".attn.c_proj.", ".attn_output."},
                     {".mlp.c_fc.", ".ffn_up."},
                     {".mlp.c_proj.", ".ffn_down."}};

const Names kGptNeoX = {{"gpt_neox.embed_in.", "token_embd."},
                        {"gpt_neox.final_layer_norm.", "output_norm."},
                        {"embed_out.", "output."},
                        {"gpt_neox.layers.", "blk."},
                        {".input_layernorm.", ".attn_norm."},
                        {".post_attention_layernorm.", ".ffn_norm."},
                        {".attention.query_key_value.", ".attn_qkv."},
                        {".attention.dense.", ".attn_output."},
                        {".mlp.dense_h_to_4h.", ".ffn_up."},
                        {".mlp.dense_4h_to_h.", ".ffn_down."}};
const Names kMpt = {{"transformer.wte.", "token_embd."},  {"transformer.norm_f.", "output_norm."},
                    {"transformer.blocks.", "blk."},      {".norm_1.", ".attn_norm."},
                    {".norm_2.", ".ffn_norm."},           {".attn.Wqkv.", ".attn_qkv."},
                    {".attn.out_proj.", ".attn_output."}, {".ffn.up_proj.", ".ffn_up."},
                    {".ffn.down_proj.", ".ffn_down."}};

// Those of a family first, then what it shares.
Names with(Names own) {
  own.insert(own.end(), kDecoder.begin(), kDecoder.end());
  return own;
}

const Names kNormsAfter = with({{".post_attention_layernorm.", ".post_attention_norm."},
                                {".pre_feedforward_layernorm.", ".ffn_norm."},
                                {".post_feedforward_layernorm.", ".post_ffw_norm."}});
const Names kPhi3 = with({{".self_attn.qkv_proj.", ".attn_qkv."}, {".mlp.gate_up_proj.", ".ffn_up."}});
const Names kMixtral = with({{".block_sparse_moe.gate.", ".ffn_gate_inp."},
                             {".block_sparse_moe.experts.w1.", ".ffn_gate_exps."},
                             {".block_sparse_moe.experts.w3.", ".ffn_up_exps."},
                             {".block_sparse_moe.experts.w2.", ".ffn_down_exps."}});
const Names kExperts = with({{".mlp.gate.", ".ffn_gate_inp."},
                             {".mlp.experts.gate_proj.", ".ffn_gate_exps."},
                             {".mlp.experts.up_proj.", ".ffn_up_exps."},
                             {".mlp.experts.down_proj.", ".ffn_down_exps."},
                             {".mlp.shared_expert_gate.", ".ffn_gate_inp_shexp."},
                             {".mlp.shared_expert.gate_proj.", ".ffn_gate_shexp."},
                             {".mlp.shared_expert.up_proj.", ".ffn_up_shexp."},
                             {".mlp.shared_expert.down_proj.", ".ffn_down_shexp."}});

const Names kGptOss = with({{".post_attention_layernorm.", ".post_attention_norm."},
                            {".self_attn.sinks", ".attn_sinks.weight"},
                            {".mlp.router.", ".ffn_gate_inp."},
                            {".mlp.experts.gate_up_proj[0::2]", ".ffn_gate_exps.weight"},
                            {".mlp.experts.gate_up_proj_bias[0::2]", ".ffn_gate_exps.bias"},
                            {".mlp.experts.gate_up_proj[1::2]", ".ffn_up_exps.weight"},
                            {".mlp.experts.gate_up_proj_bias[1::2]", ".ffn_up_exps.bias"},
                            {".mlp.experts.down_proj[0::1]", ".ffn_down_exps.weight"},
                            {".mlp.experts.down_proj_bias[0::1]", ".ffn_down_exps.bias"}});

// ---- what models are like

void describe_size(const Json& config, GgufDraft& out, const char* layers, const char* width,
                   const char* heads, const char* length) {
  out.put_own("block_count", whole(config, layers));
  out.put_own("context_length", whole(config, length));
  out.put_own("embedding_length", whole(config, width));
  out.put_own("attention.head_count", whole(config, heads));
  out.put_own("vocab_size", whole(config, "vocab_size"));
}

void describe_gpt2(const Json& config, GgufDraft& out) {
  require(config, "activation_function", "gelu_new");
  require(config, "scale_attn_by_inverse_layer_idx", false);
  require(config, "scale_attn_weights", true);
  describe_size(config, out, "n_layer", "n_embd", "n_head", "n_positions");
  out.put_own("feed_forward_length", whole(config, "n_inner"));
  out.put_own("attention.layer_norm_epsilon", real(config, "layer_norm_epsilon"));
}

// llama.cpp has one GELU, that by tanh, and takes it for the exact one too.
void describe_gelu(const Json& config, const char* key, GgufDraft& out) {
  const auto given = config.at(key).get<std::string>();
  if (given == "gelu_new")
    out.put(std::string(kGgufActivation), given);
  else
    require(config, key, "gelu");
}

void put_factors(GgufDraft& out, const std::string& name, const std::vector<float>& factors) {
  const auto size = std::ssize(factors);
  out.content.tensors.push_back(
      {name, checkpoint::GgufType::f32, {size}, [factors] { return std::vector<float>(factors); }});
}

// llama.cpp rounds the bounds outwards, and scales queries and keys by 0.1 ln(factor) + 1.
void describe_yarn(const Json& scaling, GgufDraft& out) {
  const auto factor = scaling.at("factor").get<double>();
  for (const char* key : {"mscale", "mscale_all_dim"}) require(scaling, key, Json());
  if (out.architecture != "gpt-oss")
    require(scaling, "truncate", true);
  else if (scaling.value("truncate", true))
    out.put(std::string(kGgufTruncates), true);
  else
    out.notes.emplace_back(
        "llama.cpp rounds the bounds of yarn outwards, which this model leaves as they are");
  if (has(scaling, "attention_factor")) {
    const auto given = scaling["attention_factor"].get<double>();
    if (static_cast<float>(given) != static_cast<float>(0.1 * std::log(factor) + 1))
      refuse_gguf(fmt::format("attention_factor is {}, but llama.cpp computes 0.1 ln(factor) + 1 = {} alone",
                              given, 0.1 * std::log(factor) + 1));
  }
  out.put_own("rope.scaling.type", std::string("yarn"));
  out.put_own("rope.scaling.factor", static_cast<float>(factor));
  out.put_own("rope.scaling.original_context_length", whole(scaling, "original_max_position_embeddings"));
  out.put_own("rope.scaling.yarn_beta_fast", real(scaling, "beta_fast"));
  out.put_own("rope.scaling.yarn_beta_slow", real(scaling, "beta_slow"));
}

// `head`: elements of a head that turn.
void describe_rope(const Json& config, GgufDraft& out, std::int64_t head) {
  out.put_own("rope.dimension_count", static_cast<std::uint32_t>(head));
  out.put_own("rope.freq_base", real(config, "rope_theta"));
  const Json scaling = config.contains("rope_scaling") ? config["rope_scaling"] : Json();
  if (scaling.is_null()) return;
  const auto type = scaling.value("rope_type", scaling.value("type", "default"));
  if (type == "default") return;
  if (type == "linear") {
    out.put_own("rope.scaling.type", std::string("linear"));
    out.put_own("rope.scaling.factor", real(scaling, "factor"));
  } else if (type == "yarn" && gguf_has_yarn(out.architecture)) {
    describe_yarn(scaling, out);
  } else if (type == "llama3" && out.architecture == "llama") {
    put_factors(out, "rope_freqs.weight",
                llama3_divisors(scaling, config.at("rope_theta").get<double>(), head));
  } else if (type == "longrope" && out.architecture == "phi3") {
    out.put_own("rope.scaling.original_context_length", whole(config, "original_max_position_embeddings"));
    out.put_own("rope.scaling.attn_factor", static_cast<float>(gguf_longrope_scale(config)));
    put_factors(out, "rope_factors_long.weight", scaling.at("long_factor").get<std::vector<float>>());
    put_factors(out, "rope_factors_short.weight", scaling.at("short_factor").get<std::vector<float>>());
  } else {
    refuse_gguf(
        "rope_scaling of type " + type +
        " is not written here; linear is, yarn in models of type llama, mistral, mixtral, qwen, olmo, smollm3, "
        "granite and gpt_oss, llama3 in those of type llama, and longrope in those of type phi3");
  }
}

// All that has RMS norms, rotary positions and a gated MLP.
void describe_decoder(const Json& config, GgufDraft& out, const char* activation = "silu") {
  for (const char* key : {"hidden_act", "hidden_activation"}) require(config, key, activation);
  const auto type = config.value("model_type", "");
  if (type != "llama") {
    require(config, "attention_bias", type == "gpt_oss");
    require(config, "mlp_bias", false);
  }
  describe_size(config, out, "num_hidden_layers", "hidden_size", "num_attention_heads",
                "max_position_embeddings");
  out.put_own("feed_forward_length", whole(config, "intermediate_size"));
  out.put_own("attention.head_count_kv", whole(config, "num_key_value_heads"));
  out.put_own("attention.layer_norm_rms_epsilon", real(config, "rms_norm_eps"));
  const auto head = gguf_head_dim(config);
  out.put_own("attention.key_length", static_cast<std::uint32_t>(head));
  out.put_own("attention.value_length", static_cast<std::uint32_t>(head));
  describe_rope(config, out, gguf_rotary_dim(config));
}

void describe_gpt_neox(const Json& config, GgufDraft& out) {
  describe_gelu(config, "hidden_act", out);
  require(config, "attention_bias", true);
  require(config, "tie_word_embeddings", false);
  describe_size(config, out, "num_hidden_layers", "hidden_size", "num_attention_heads",
                "max_position_embeddings");
  out.put_own("feed_forward_length", whole(config, "intermediate_size"));
  out.put_own("attention.layer_norm_epsilon", real(config, "layer_norm_eps"));
  out.put_own("use_parallel_residual", config.at("use_parallel_residual").get<bool>());
  describe_rope(config, out, gguf_rotary_dim(config));
}

void describe_mpt(const Json& config, GgufDraft& out) {
  const Json& attention = config.at("attn_config");
  const auto width = whole(config, "d_model");
  const auto head = static_cast<double>(width) / static_cast<double>(whole(config, "n_heads"));
  require(attention, "softmax_scale", 1 / std::sqrt(head));
  describe_size(config, out, "n_layers", "d_model", "n_heads", "max_seq_len");
  out.put_own("feed_forward_length", whole(config, "expansion_ratio") * width);
  out.put_own("attention.layer_norm_epsilon", real(config, "layer_norm_epsilon"));
  out.put_own("attention.max_alibi_bias", real(attention, "alibi_bias_max"));
  if (has(attention, "clip_qkv")) out.put_own("attention.clamp_kqv", real(attention, "clip_qkv"));
}

void describe_plain(const Json& config, GgufDraft& out) {
  require_no_window(config);
  describe_decoder(config, out);
}

void describe_qwen(const Json& config, GgufDraft& out) {
  require(config, "use_sliding_window", false);
  describe_decoder(config, out);
}

void describe_granite(const Json& config, GgufDraft& out) {
  describe_decoder(config, out);
  out.put_own("attention.scale", real(config, "attention_multiplier"));
  out.put_own("embedding_scale", real(config, "embedding_multiplier"));
  out.put_own("residual_scale", real(config, "residual_multiplier"));
  out.put_own("logit_scale", real(config, "logits_scaling"));
}

// One layer of four has no positions, as in the published models.
void describe_smollm3(const Json& config, GgufDraft& out) {
  require(config, "use_sliding_window", false);
  Json every_fourth = Json::array();
  for (std::uint32_t i = 1; i <= whole(config, "num_hidden_layers"); ++i) every_fourth.push_back(i % 4 != 0);
  for (auto& layer : every_fourth) layer = layer.get<bool>() ? 1 : 0;
  require(config, "no_rope_layers", every_fourth);
  describe_decoder(config, out);
}

// Every n-th layer sees all, the others a window.
void require_every(const Json& config, std::uint32_t n) {
  Json types = Json::array();
  for (std::uint32_t i = 1; i <= whole(config, "num_hidden_layers"); ++i)
    types.push_back(i % n == 0 ? "full_attention" : "sliding_attention");
  require(config, "layer_types", types);
  if (!has(config, "sliding_window"))
    refuse_gguf("sliding_window is null, but llama.cpp has one in such models");
}

// Windows and frequency scaling as in the published models.
void describe_olmo3(const Json& config, GgufDraft& out) {
  require_every(config, 4);
  describe_decoder(config, out);
  out.put_own("attention.sliding_window", whole(config, "sliding_window"));
}

// ---- Gemma

constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

void describe_gemma(const Json& config, GgufDraft& out) { describe_decoder(config, out, kTanhGelu); }

// llama.cpp divides scores by the root of a head's width, in the largest model by that of the width by heads.
void require_scale(const Json& config, std::uint32_t largest) {
  const bool is_largest = whole(config, "num_hidden_layers") == largest;
  require(config, "query_pre_attn_scalar",
          is_largest
              ? config["hidden_size"].get<std::int64_t>() / config["num_attention_heads"].get<std::int64_t>()
              : gguf_head_dim(config));
}

void describe_gemma2(const Json& config, GgufDraft& out) {
  constexpr std::uint32_t kLayersOf27B = 46;
  require_scale(config, kLayersOf27B);
  require_every(config, 2);
  describe_decoder(config, out, kTanhGelu);
  out.put_own("attention.sliding_window", whole(config, "sliding_window"));
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (!has(config, cap)) refuse_gguf(std::string(cap) + " is null, but llama.cpp has one in such models");
    out.put_own(cap, real(config, cap));
  }
}

void describe_gemma3(const Json& config, GgufDraft& out) {
  constexpr std::uint32_t kLayersOf27B = 62;
  constexpr double kLocalBase = 10000;
  require_scale(config, kLayersOf27B);
  require_every(config, 6);
  require(config, "rope_local_base_freq", kLocalBase);
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) require(config, cap, Json());
  describe_decoder(config, out, kTanhGelu);
  out.put_own("attention.sliding_window", whole(config, "sliding_window"));
}

// ---- experts

void describe_experts(const Json& config, GgufDraft& out, const char* count) {
  require(config, "decoder_sparse_step", 1);
  require(config, "mlp_only_layers", Json::array());
  out.put_own("expert_count", whole(config, count));
  out.put_own("expert_used_count", whole(config, "num_experts_per_tok"));
}

void describe_mixtral(const Json& config, GgufDraft& out) {
  describe_plain(config, out);
  describe_experts(config, out, "num_local_experts");
}

void describe_olmoe(const Json& config, GgufDraft& out) {
  require(config, "clip_qkv", Json());
  require(config, "num_key_value_heads", config.at("num_attention_heads"));
  require(config, "norm_topk_prob", false);
  describe_decoder(config, out);
  describe_experts(config, out, "num_experts");
}

void describe_qwen2_moe(const Json& config, GgufDraft& out) {
  require(config, "norm_topk_prob", false);
  describe_qwen(config, out);
  describe_experts(config, out, "num_experts");
  out.put_own("expert_feed_forward_length", whole(config, "moe_intermediate_size"));
  out.put_own("expert_shared_feed_forward_length", whole(config, "shared_expert_intermediate_size"));
}

void describe_qwen3_moe(const Json& config, GgufDraft& out) {
  require(config, "norm_topk_prob", true);
  describe_qwen(config, out);
  describe_experts(config, out, "num_experts");
  out.put_own("expert_feed_forward_length", whole(config, "moe_intermediate_size"));
}

// Windows as in the published models.
void describe_gpt_oss(const Json& config, GgufDraft& out) {
  require(config, "tie_word_embeddings", false);
  require_every(config, 2);
  describe_decoder(config, out);
  out.put_own("attention.sliding_window", whole(config, "sliding_window"));
  out.put_own("expert_count", whole(config, "num_local_experts"));
  out.put_own("expert_used_count", whole(config, "num_experts_per_tok"));
  out.put_own("expert_feed_forward_length", whole(config, "intermediate_size"));
}

const std::vector<GgufFamily>& families() {
  using enum GgufRows;
  static const std::vector<GgufFamily> all = {
      {"gpt2", "gpt2", kGpt2, same, false, describe_gpt2},
      {"gpt_neox", "gptneox", kGptNeoX, by_part, false, describe_gpt_neox},
      {"mpt", "mpt", kMpt, same, false, describe_mpt},
      {"llama", "llama", kDecoder, in_turns, false, describe_plain},
      {"mistral", "llama", kDecoder, in_turns, false, describe_plain},
      {"mixtral", "llama", kMixtral, in_turns, false, describe_mixtral},
      {"phi3", "phi3", kPhi3, same, false, describe_plain},
      {"qwen2", "qwen2", kDecoder, same, false, describe_qwen},
      {"qwen3", "qwen3", kDecoder, same, false, describe_qwen},
      {"qwen2_moe", "qwen2moe", kExperts, same, false, describe_qwen2_moe},
      {"qwen3_moe", "qwen3moe", kExperts, same, false, describe_qwen3_moe},
      {"olmo2", "olmo2", kNormsAfter, same, false, describe_plain},
      {"olmo3", "olmo2", kNormsAfter, same, false, describe_olmo3},
      {"olmoe", "olmoe", kExperts, same, false, describe_olmoe},
      {"gpt_oss", "gpt-oss", kGptOss, same, false, describe_gpt_oss},
      {"granite", "granite", kDecoder, in_turns, false, describe_granite},
      {"smollm3", "smollm3", kDecoder, in_turns, false, describe_smollm3},
      {"gemma", "gemma", kDecoder, same, true, describe_gemma},
      {"gemma2", "gemma2", kNormsAfter, same, true, describe_gemma2},
      {"gemma3_text", "gemma3", kNormsAfter, same, true, describe_gemma3},
  };
  return all;
}

}  // namespace

const GgufFamily* gguf_family_of(std::string_view architecture) {
  for (const auto& family : families())
    if (family.architecture == architecture) return &family;
  return nullptr;
}

const GgufFamily* gguf_family(std::string_view type) {
  for (const auto& family : families())
    if (family.type == type) return &family;
  return nullptr;
}

std::string gguf_family_names() {
  std::vector<std::string> out;
  for (const auto& family : families()) out.emplace_back(family.type);
  return join(out, ", ");
}

std::string gguf_architecture_names() {
  std::vector<std::string> out;
  for (const auto& family : families())
    if (gguf_family_of(family.architecture) == &family) out.emplace_back(family.architecture);
  return join(out, ", ");
}

}  // namespace bora::run

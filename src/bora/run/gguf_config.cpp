// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bora/base/error.h"
#include "bora/run/gguf_families.h"
#include "bora/run/gguf_import.h"

namespace bora::run {
namespace {

std::string shown(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
}

class Description {
 public:
  explicit Description(const checkpoint::GgufFile& file) : file_(file) {
    const auto* name = file.value("general.architecture");
    if (name == nullptr || !name->is_string())
      fail(ErrorKind::Corruption, "{}: GGUF: general.architecture is {}, but must name the model",
           file.path(), name == nullptr ? "missing" : shown(*name));
    architecture_ = name->get<std::string>();
    if (gguf_family_of(architecture_) == nullptr)
      refuse(fmt::format("general.architecture is {}; {} are read", shown(*name), gguf_architecture_names()));
  }

  Json config() {
    Json out = {{"model_type", type()}};
    const auto* embedding = "token_embd.weight";
    const auto found = file_.find(embedding);
    if (!found || found->shape.size() != 2)
      fail(ErrorKind::Corruption, "{}: GGUF: tensor {} {}", file_.path(), embedding,
           found ? fmt::format("has {} axes instead of 2", found->shape.size()) : "is missing");
    out["vocab_size"] = found->shape.front();
    if (own("vocab_size") != nullptr)
      require_size("vocab_size", found->shape.front(), "rows of token_embd.weight");
    require_size("embedding_length", found->shape.back(), "columns of token_embd.weight");
    if (whole("block_count") > std::ssize(file_.header().tensors))
      fail(ErrorKind::Corruption, "{}: GGUF: {}.block_count is {}, but the file has {} tensors in all",
           file_.path(), architecture_, whole("block_count"), file_.header().tensors.size());
    if (architecture_ == "gpt2")
      gpt2(out);
    else if (architecture_ == "gptneox")
      gpt_neox(out);
    else if (architecture_ == "mpt")
      mpt(out);
    else
      decoder(out);
    refuse_unread();
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::Unsupported,
         "{}: GGUF: {}\nhint: import the Hugging Face directory of the model, where Bora has its type",
         file_.path(), what);
  }

  std::string type() {
    const auto* name = file_.value("general.name");
    if (architecture_ == "olmo2" && whole("attention.sliding_window", 0) > 0) return "olmo3";
    if (architecture_ != "llama") return std::string(gguf_family_of(architecture_)->type);
    if (const auto* experts = own("expert_count"); experts != nullptr && *experts != 0) return "mixtral";
    return name != nullptr && *name == "mistral" ? "mistral" : "llama";
  }

  const Json* own(const std::string& key) {
    read_.insert(architecture_ + "." + key);
    return file_.value(architecture_ + "." + key);
  }
  std::int64_t whole(const std::string& key, std::optional<std::int64_t> otherwise = {}) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const auto* value = own(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || !value->is_number_integer() || *value < 0 || *value >= kMost)
      fail(ErrorKind::Corruption, "{}: GGUF: {}.{} is {}, but must be a whole number", file_.path(),
           architecture_, key, value == nullptr ? "missing" : shown(*value));
    return value->get<std::int64_t>();
  }
  double real(const std::string& key, std::optional<double> otherwise = {}) {
    const auto* value = own(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || !value->is_number() || !std::isfinite(value->get<double>()))
      fail(ErrorKind::Corruption, "{}: GGUF: {}.{} is {}, but must be a number", file_.path(), architecture_,
           key, value == nullptr ? "missing" : shown(*value));
    return value->get<double>();
  }

  void require_size(const std::string& key, std::int64_t size, std::string_view of) {
    if (whole(key) != size)
      fail(ErrorKind::Corruption, "{}: GGUF: {}.{} is {}, but there are {} {}", file_.path(), architecture_,
           key, whole(key), size, of);
  }

  void gpt2(Json& out) {
    out["n_layer"] = whole("block_count");
    out["n_positions"] = whole("context_length");
    out["n_embd"] = whole("embedding_length");
    out["n_head"] = whole("attention.head_count");
    out["n_inner"] = whole("feed_forward_length", 4 * out["n_embd"].get<std::int64_t>());
    out["layer_norm_epsilon"] = real("attention.layer_norm_epsilon");
    out["activation_function"] = "gelu_new";
    out["tie_word_embeddings"] = !file_.contains("output.weight");
  }

  void gpt_neox(Json& out) {
    out["num_hidden_layers"] = whole("block_count");
    out["max_position_embeddings"] = whole("context_length");
    out["hidden_size"] = whole("embedding_length");
    out["num_attention_heads"] = heads();
    out["intermediate_size"] = whole("feed_forward_length");
    out["layer_norm_eps"] = real("attention.layer_norm_epsilon");
    const auto* activation = file_.value(kGgufActivation);
    if (activation != nullptr && *activation != "gelu_new")
      refuse(fmt::format("{} is {}, but can only be gelu_new", kGgufActivation, shown(*activation)));
    out["hidden_act"] = activation == nullptr ? "gelu" : "gelu_new";
    out["attention_bias"] = true;
    out["tie_word_embeddings"] = false;
    const auto* parallel = own("use_parallel_residual");
    if (parallel != nullptr && !parallel->is_boolean())
      fail(ErrorKind::Corruption, "{}: GGUF: {}.use_parallel_residual is {}, but must be true or false",
           file_.path(), architecture_, shown(*parallel));
    out["use_parallel_residual"] = parallel == nullptr || parallel->get<bool>();
    const auto head = whole("embedding_length") / heads();
    const auto turning = whole("rope.dimension_count", head);
    out["rotary_pct"] = part_of(turning, head);
    rope(out, turning);
    out["rotary_emb_base"] = out["rope_theta"];
  }

  void mpt(Json& out) {
    constexpr double kBiasMax = 8;
    out["n_layers"] = whole("block_count");
    out["max_seq_len"] = whole("context_length");
    out["d_model"] = whole("embedding_length");
    out["n_heads"] = heads();
    out["layer_norm_epsilon"] = real("attention.layer_norm_epsilon");
    require("feed_forward_length", 4 * whole("embedding_length"));
    if (real("attention.max_alibi_bias", 0) != kBiasMax)
      refuse(fmt::format("{}.attention.max_alibi_bias is {}, but Bora computes {} alone", architecture_,
                         real("attention.max_alibi_bias", 0), kBiasMax));
    if (own("attention.clamp_kqv") != nullptr && real("attention.clamp_kqv") > 0)
      out["attn_config"] = {{"clip_qkv", real("attention.clamp_kqv")}};
  }

  std::int64_t heads() {
    const auto heads = whole("attention.head_count");
    if (heads == 0) refuse(architecture_ + ".attention.head_count is 0");
    return heads;
  }

  // The factor by which a model turns so many elements of a head.
  double part_of(std::int64_t turning, std::int64_t head) const {
    const auto part = static_cast<double>(turning) / static_cast<double>(head);
    const bool enough = static_cast<std::int64_t>(static_cast<double>(head) * part) == turning;
    return enough ? part : std::nextafter(part, 1.0);
  }

  void decoder(Json& out) {
    const auto layers = whole("block_count"), width = whole("embedding_length"), heads = this->heads();
    const auto head = whole("attention.key_length", width / heads);
    out["num_hidden_layers"] = layers;
    out["hidden_size"] = width;
    out["num_attention_heads"] = heads;
    out["num_key_value_heads"] = whole("attention.head_count_kv", heads);
    out["head_dim"] = head;
    require("attention.value_length", head);
    const auto turning = whole("rope.dimension_count", head);
    if (architecture_ != "phi3") require("rope.dimension_count", head);
    out["max_position_embeddings"] = whole("context_length");
    out["intermediate_size"] = whole("feed_forward_length");
    out["rms_norm_eps"] = real("attention.layer_norm_rms_epsilon");
    out["tie_word_embeddings"] = !file_.contains("output.weight");
    if (architecture_ == "phi3") {
      out["partial_rotary_factor"] = part_of(turning, head);
      no_window(out);
    }
    rope(out, turning);
    family(out, layers, width / heads, head);
  }

  // What llama.cpp could be told, and what Bora computes alone.
  void require(const std::string& key, const Json& only) {
    if (const auto* value = own(key); value != nullptr && *value != only)
      refuse(fmt::format("{}.{} is {}, but Bora computes {} alone", architecture_, key, shown(*value),
                         shown(only)));
  }

  // llama.cpp leaves it out, and the model was trained with it.
  void no_window(Json& out) {
    const auto window = whole("attention.sliding_window", 0);
    if (window > 0 && window < whole("context_length"))
      refuse(fmt::format(
          "{}.attention.sliding_window is {} in texts of {}, which such files are not computed with",
          architecture_, window, whole("context_length")));
    out["sliding_window"] = nullptr;
  }

  // Of phi3.
  void longrope(Json& out, std::int64_t turning) {
    const std::string names[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
    Json factors[2];
    for (int i = 0; i < 2; ++i) {
      const auto found = file_.find(names[i]);
      if (!found || found->shape != std::vector<std::int64_t>{turning / 2})
        fail(ErrorKind::Corruption, "{}: GGUF: tensor {} {}, but {} elements of a head turn in pairs",
             file_.path(), names[i],
             found ? fmt::format("has {} values", found->shape.front()) : std::string("is missing"), turning);
      factors[i] = file_.floats(names[i]);
    }
    out["rope_scaling"] = {{"type", "longrope"}, {"short_factor", factors[0]}, {"long_factor", factors[1]}};
    out["original_max_position_embeddings"] = whole("rope.scaling.original_context_length");
    const auto usual = static_cast<float>(gguf_longrope_scale(out));
    const auto scale = real("rope.scaling.attn_factor", 1.0);
    if (static_cast<float>(scale) != usual) out["rope_scaling"]["attention_factor"] = scale;
  }

  // `head`: elements of a head that turn.
  void rope(Json& out, std::int64_t head) {
    constexpr double kBase = 10000;
    out["rope_theta"] = real("rope.freq_base", kBase);
    if (architecture_ == "phi3" && file_.contains("rope_factors_long.weight")) return longrope(out, head);
    const auto* type = own("rope.scaling.type");
    own("rope.scaling.original_context_length");  // of yarn alone
    own("rope.scaling.finetuned");
    require("rope.scaling.attn_factor", 1.0);
    if (type != nullptr && *type == "yarn" && gguf_has_yarn(architecture_))
      out["rope_scaling"] = yarn(out);
    else if (type != nullptr && *type == "linear")
      out["rope_scaling"] = {{"rope_type", "linear"}, {"factor", real("rope.scaling.factor")}};
    else if (type != nullptr && *type != "none")
      refuse(fmt::format("{}.rope.scaling.type is {}; none and linear are read, and yarn where it is written",
                         architecture_, shown(*type)));
    if (!file_.contains("rope_freqs.weight")) return;
    if (out.contains("rope_scaling")) refuse("both rope.scaling.type and tensor rope_freqs.weight are there");
    out["rope_scaling"] = llama3(out["rope_theta"].get<double>(), head);
  }

  Json yarn(const Json& out) {
    constexpr double kFast = 32, kSlow = 1;
    return {{"rope_type", "yarn"},
            {"factor", real("rope.scaling.factor")},
            {"beta_fast", real("rope.scaling.yarn_beta_fast", kFast)},
            {"beta_slow", real("rope.scaling.yarn_beta_slow", kSlow)},
            {"original_max_position_embeddings", whole("rope.scaling.original_context_length",
                                                       out["max_position_embeddings"].get<std::int64_t>())}};
  }

  // Windows on every second layer, experts with biases. Its yarn is not rounded, unless Bora wrote so.
  void gpt_oss(Json& out, std::int64_t layers) {
    experts(out, "num_local_experts");
    out["intermediate_size"] = whole("expert_feed_forward_length");
    out["attention_bias"] = true;
    out["sliding_window"] = whole("attention.sliding_window");
    require("attention.sliding_window_pattern", 2);
    for (std::int64_t i = 1; i <= layers; ++i)
      out["layer_types"].push_back(i % 2 == 0 ? "full_attention" : "sliding_attention");
    if (!out.contains("rope_scaling"))
      out["rope_parameters"] = {{"rope_type", "default"}};  // else that of the published models
    else if (out["rope_scaling"]["rope_type"] == "yarn")
      out["rope_scaling"]["truncate"] = file_.value(kGgufTruncates) != nullptr;
  }

  // Divisors of frequencies are what the file has of the scaling of Llama 3. Equal scalings differ by a common
  // factor of their last three numbers: the low one is 1.
  Json llama3(double theta, std::int64_t head) const {
    constexpr double kNear = 1e-5;
    constexpr std::int64_t kLongest = std::int64_t{1} << 24;
    const auto shape = file_.find("rope_freqs.weight")->shape;
    if (shape != std::vector<std::int64_t>{head / 2})
      refuse(fmt::format("tensor rope_freqs.weight has {} values, but heads of {} have {}", shape.front(),
                         head, head / 2));
    const auto given = file_.floats("rope_freqs.weight");
    const auto most = static_cast<double>(*std::max_element(given.begin(), given.end()));
    for (const double factor : {most, 8.0, 32.0, 2.0, 4.0, 16.0})
      for (const double high : {4.0, 2.0, 3.0, 8.0, 16.0, 32.0})
        for (std::int64_t original = 4; original <= kLongest; original *= 2) {
          Json out = {{"rope_type", "llama3"},
                      {"factor", factor},
                      {"low_freq_factor", 1.0},
                      {"high_freq_factor", high},
                      {"original_max_position_embeddings", original}};
          if (factor <= 1) continue;
          const auto divisors = llama3_divisors(out, theta, head);
          const auto near = [&](float a, float b) {
            return std::abs(double(a) - double(b)) <= kNear * double(b);
          };
          if (std::equal(given.begin(), given.end(), divisors.begin(), near)) return out;
        }
    refuse(
        "tensor rope_freqs.weight has divisors that no scaling of Llama 3 with low_freq_factor 1, "
        "high_freq_factor 2 to 32 and a power of two as original_max_position_embeddings gives");
  }

  void family(Json& out, std::int64_t layers, std::int64_t plain_head, std::int64_t head) {
    if (architecture_ == "llama") {
      out["attention_bias"] = file_.contains("blk.0.attn_q.bias");
      out["mlp_bias"] = file_.contains("blk.0.ffn_up.bias");
      if (out["model_type"] != "llama") {
        out.erase("attention_bias");
        out.erase("mlp_bias");
        out["sliding_window"] = nullptr;
      }
      if (out["model_type"] == "mixtral") return experts(out, "num_local_experts");
      require("expert_used_count", 0);
    } else if (architecture_ == "qwen2moe" || architecture_ == "qwen3moe") {
      experts(out, "num_experts");
      out["norm_topk_prob"] = architecture_ == "qwen3moe";
      out["decoder_sparse_step"] = 1;
      out["mlp_only_layers"] = Json::array();
      out["moe_intermediate_size"] = whole("expert_feed_forward_length");
      if (architecture_ == "qwen2moe") {
        out["shared_expert_intermediate_size"] = whole("expert_shared_feed_forward_length");
        out["qkv_bias"] = file_.contains("blk.0.attn_q.bias");
      }
    } else if (architecture_ == "gpt-oss") {
      gpt_oss(out, layers);
    } else if (architecture_ == "olmoe") {
      experts(out, "num_experts");
      out["norm_topk_prob"] = false;
      out["clip_qkv"] = nullptr;
    } else if (architecture_ == "granite") {
      out["attention_multiplier"] = real("attention.scale");
      out["embedding_multiplier"] = real("embedding_scale");
      out["residual_multiplier"] = real("residual_scale");
      out["logits_scaling"] = real("logit_scale");
    } else if (out["model_type"] == "olmo3") {
      out["sliding_window"] = whole("attention.sliding_window");
      for (std::int64_t i = 1; i <= layers; ++i)
        out["layer_types"].push_back(i % 4 == 0 ? "full_attention" : "sliding_attention");
    } else if (architecture_ == "smollm3") {
      for (std::int64_t i = 1; i <= layers; ++i) out["no_rope_layers"].push_back(i % 4 != 0 ? 1 : 0);
    } else if (architecture_ == "gemma2" || architecture_ == "gemma3") {
      const bool second = architecture_ == "gemma2";
      out["query_pre_attn_scalar"] = layers == (second ? 46 : 62) ? plain_head : head;
      out["sliding_window"] = whole("attention.sliding_window");
      for (std::int64_t i = 1; i <= layers; ++i)
        out["layer_types"].push_back(i % (second ? 2 : 6) == 0 ? "full_attention" : "sliding_attention");
      if (second)
        for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) out[cap] = real(cap);
      else
        out["rope_local_base_freq"] = real("rope.freq_base_swa", 10000.0);
    }
    if (architecture_.starts_with("gemma")) out.erase("tie_word_embeddings");
    if (architecture_ == "qwen2" || architecture_ == "qwen3" || architecture_ == "qwen2moe" ||
        architecture_ == "qwen3moe" || architecture_ == "smollm3")
      out["use_sliding_window"] = false;
  }

  void experts(Json& out, const char* count) {
    out[count] = whole("expert_count");
    out["num_experts_per_tok"] = whole("expert_used_count");
  }

  // A value that nobody has read might mean another computation.
  void refuse_unread() const {
    static const std::set<std::string> harmless = {"tensor_data_layout"};
    const auto prefix = architecture_ + ".";
    for (const auto& [key, value] : file_.header().metadata)
      if (key.starts_with(prefix) && !read_.contains(key) && !harmless.contains(key.substr(prefix.size())))
        refuse(fmt::format("{} is {}, and Bora does not know what that means for the model", shown(Json(key)),
                           shown(value)));
  }

  const checkpoint::GgufFile& file_;
  std::string architecture_;
  std::set<std::string> read_;
};

}  // namespace

Json gguf_config(const checkpoint::GgufFile& file) { return Description(file).config(); }

}  // namespace bora::run

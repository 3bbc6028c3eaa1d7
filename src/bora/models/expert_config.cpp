// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/expert_config.h"

#include <fmt/format.h>

#include <utility>

namespace bora::models {

void ExpertConfig::bind_experts(Binder& b) {
  bind_decoder(b, {"head_dim"});
  bind_plain_llama(b);
  bind_mixture(b);
}

void ExpertConfig::bind_mixture(Binder& b) {
  b.field("n_routed_experts", n_routed_experts, kSize, "experts of a layer");
  b.field("num_experts_per_tok", num_experts_per_tok, kSize, "experts that each token passes");
  b.field("lbl_coef", lbl_coef, kNonNegative, "weight of each layer's load-balance loss, or null for none");
  b.field("rzl_coef", rzl_coef, kNonNegative,
          "weight of each layer's mean logsumexp² of the router's logits, or null for none");
  b.field("output_router_logits", output_router_logits,
          "whether Hugging Face's load-balance loss, over all layers together, is added");
  b.field("router_aux_loss_coef", router_aux_loss_coef, kNonNegative, "weight of that loss");
  b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
  bind_fixed(b, "n_shared_experts", "0");
  if (!b.reading() || !b.sound({"n_routed_experts", "num_experts_per_tok"})) return;
  if (num_experts_per_tok <= n_routed_experts) return;
  b.problem("num_experts_per_tok",
            fmt::format("must be at most {} = {}", b.path("n_routed_experts"), n_routed_experts));
}

KeyNames ExpertConfig::expert_hf_names(std::string_view experts) {
  KeyNames names = decoder_hf_names();
  names.emplace_back("n_routed_experts", experts);
  return names;
}

Json ExpertConfig::with_count(Json json, std::string_view experts, std::string_view name) {
  const auto* other = experts == "num_experts" ? "num_local_experts" : "num_experts";
  return under_first_names(std::move(json), {{experts, other}}, name);
}

}  // namespace bora::models

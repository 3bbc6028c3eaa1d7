// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A bigram model with a hidden layer: each token predicts the next one from itself alone.
#pragma once
#include <cstdint>
#include <string_view>

#include "bora/base/config.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "soft_sign.h"

namespace bigram {

using namespace bora;

/// What `model:` says in a configuration of type bigram.
struct Config {
  std::int64_t seq_len = 64, hidden_dim = 64, intermediate_dim = 256;

  void bind(Binder& b) {
    b.field("seq_len", seq_len, from_to(2, 1 << 20), "tokens of a sequence");
    b.field("hidden_dim", hidden_dim, kSize, "width");
    b.field("intermediate_dim", intermediate_dim, kSize, "width of the MLP");
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    return {.type = "bigram",
            .layers = 1,
            .hidden = hidden_dim,
            .heads = 0,
            .kv_heads = 0,
            .head_dim = 0,
            .mlp = intermediate_dim,
            .vocab = vocab,
            .seq_len = seq_len,
            .gated_mlp = false,
            .tied_head = false};
  }
  std::int64_t parameter_count(std::int64_t vocab) const {
    return 2 * vocab * hidden_dim + 2 * hidden_dim * intermediate_dim + intermediate_dim + 2 * hidden_dim;
  }
  // As config.json of an export and state.json of a checkpoint have it.
  Json to_hf(std::int64_t vocab) const {
    return {{"model_type", "bigram"},
            {"vocab_size", vocab},
            {"seq_len", seq_len},
            {"hidden_dim", hidden_dim},
            {"intermediate_dim", intermediate_dim}};
  }
  static Config from_hf(const Json& json, std::string_view file) {
    return {json_get<std::int64_t>(json, "seq_len", file), json_get<std::int64_t>(json, "hidden_dim", file),
            json_get<std::int64_t>(json, "intermediate_dim", file)};
  }
};

// [model]
struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

struct Bigram {
  static constexpr std::string_view kind = "Bigram";
  using Config = bigram::Config;
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed;
  nn::PlainMlp<Embed, Mlp> mlp;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;
  using fields = Fields<&Bigram::config, &Bigram::embed, &Bigram::mlp, &Bigram::norm, &Bigram::lm_head>;

  /// Hidden states; the head is applied by whoever needs logits or a loss.
  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const nn::Context&) const {
    auto x = embed(ids);
    return norm(x + soft_sign(mlp(x)));
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  // [model]

  static Bigram init(const Config& config, Dim<Vocab> vocab, Key key) {
    auto [a, b, c, d] = key.split<4>();
    const Dim<Embed> width{config.hidden_dim};
    const Dim<Mlp> inner{config.intermediate_dim};
    return {config,
            nn::Embedding<Vocab, Embed>::init(vocab, width, a, 0.1),
            {nn::Linear<Embed, Mlp>::init(width, inner, b, 0.1),
             nn::Linear<Mlp, Embed>::init(inner, width, c, 0.1)},
            nn::RmsNorm<Embed>::init(width, 1e-5),
            nn::Linear<Embed, Vocab>::init(width, vocab, d, 0.1, false)};
  }

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bigram

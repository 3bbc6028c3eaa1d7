// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A bigram model with a hidden layer: each token predicts the next one from itself alone.
#pragma once
#include <string>
#include <string_view>

#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"

namespace bigram {

using namespace bora;

// [model]
struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

struct Bigram {
  static constexpr std::string_view kind = "Bigram";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  nn::Embedding<Vocab, Embed> embed;
  nn::PlainMlp<Embed, Mlp> mlp;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;
  using fields = Fields<&Bigram::embed, &Bigram::mlp, &Bigram::norm, &Bigram::lm_head>;

  /// Hidden states; the head is applied by whoever needs logits or a loss.
  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const nn::Context&) const {
    auto x = embed(ids);
    return norm(x + mlp(x));
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  // [model]

  static Bigram init(Dim<Vocab> vocab, Dim<Embed> width, Dim<Mlp> inner, Key key) {
    auto [a, b, c, d] = key.split<4>();
    return {nn::Embedding<Vocab, Embed>::init(vocab, width, a, 0.1),
            {nn::Linear<Embed, Mlp>::init(width, inner, b, 0.1),
             nn::Linear<Mlp, Embed>::init(inner, width, c, 0.1)},
            nn::RmsNorm<Embed>::init(width, 1e-5),
            nn::Linear<Embed, Vocab>::init(width, vocab, d, 0.1, false)};
  }

  nn::ModelShape shape() const {
    return {.type = "bigram",
            .layers = 1,
            .hidden = norm.weight.size<Embed>(),
            .heads = 0,
            .kv_heads = 0,
            .head_dim = 0,
            .mlp = mlp.up_proj.weight.size<Mlp>(),
            .vocab = head().size<Vocab>(),
            .seq_len = 0,
            .gated_mlp = false,
            .tied_head = false};
  }
  // The Hugging Face format has no such model: its own names serve.
  nn::HfName hf_name(std::string_view path) const { return {std::string(path)}; }
  Json hf_config() const { return {{"model_type", "bigram"}, {"vocab_size", head().size<Vocab>()}}; }
};

}  // namespace bigram

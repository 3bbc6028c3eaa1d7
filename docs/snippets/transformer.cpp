// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A transformer of two layers and its training, from nothing: it learns to copy what it read eight tokens
// ago.
#include <cstdio>

#include "bora/core/runtime.h"
#include "bora/named/grad.h"
#include "bora/named/map.h"
#include "bora/nn/attention.h"
#include "bora/nn/default_init.h"
#include "bora/nn/embedding.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

using namespace bora;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};
using Hidden = Named<Batch, Pos, Embed>;
using Ids = Indices<Batch, Pos>;

struct Attention {
  nn::Linear<Embed, Axes<Head, HeadDim>> q, k, v;
  nn::Linear<Axes<Head, HeadDim>, Embed> out;
  using fields = Fields<&Attention::q, &Attention::k, &Attention::v, &Attention::out>;
  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto keys = rename<Pos, KeyPos>(k(x)), values = rename<Pos, KeyPos>(v(x));
    return out(nn::attention<Pos, KeyPos, HeadDim>(q(x), keys, values, context));
  }
};
struct Block {
  nn::LayerNorm<Embed> attn_norm, mlp_norm;
  Attention attn;
  nn::PlainMlp<Embed, Mlp> mlp;
  using fields = Fields<&Block::attn_norm, &Block::mlp_norm, &Block::attn, &Block::mlp>;
  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + attn(attn_norm(x), context);
    return h + mlp(mlp_norm(h));
  }
};
struct Transformer {
  nn::Embedding<Vocab, Embed> tokens;
  nn::Embedding<Pos, Embed> places;
  nn::Stacked<Block> layers;
  nn::LayerNorm<Embed> norm;
  nn::Linear<Embed, Vocab> head;
  using fields = Fields<&Transformer::tokens, &Transformer::places, &Transformer::layers, &Transformer::norm,
                        &Transformer::head>;
  Named<Batch, Pos, Vocab> operator()(const Ids& ids) const {
    return head(norm(layers(Hidden(tokens(ids) + places.weight), nn::Context{})));
  }
};

/// Eight random tokens, twice, and what follows each.
std::pair<Ids, Ids> batch_of(Key key) {
  std::vector<std::int64_t> ids;
  for (std::uint64_t i = 0; i < 16 * 17; ++i)
    ids.push_back(static_cast<std::int64_t>(key.fold(i / 17).below(32, i % 17 % 8)));
  const auto all = indices_from_vector(ids, Dim<Batch>{16}, Dim<Pos>{17});
  return {slice<Pos>(all, 0, 16), slice<Pos>(all, 1, 16)};
}

int main() {
  core::initialize(1);
  const auto key = Key::from_seed(0);
  auto model = nn::init<Transformer>(key, Dim<Vocab>{32}, Dim<Pos>{16}, Dim<Embed>{32}, Dim<Head>{2},
                                     Dim<HeadDim>{16}, Dim<Mlp>{64}, nn::Count<Block>{2});
  auto momentum = map_parameters(model, [](const auto& p) { return p * 0; });
  double accuracy = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const auto batch = batch_of(key.fold(step));
    auto [loss, gradients] = value_and_grad(model, [&](const Transformer& m) {
      const auto logits = slice<Pos>(m(batch.first), 8, 8);
      const auto targets = slice<Pos>(batch.second, 8, 8);
      accuracy = mean_all(equal(argmax<Vocab>(logits), targets)).item();
      return mean_all(cross_entropy<Vocab>(logits, targets));
    });
    momentum = map_parameters(momentum, gradients, [](auto& m, auto& g) { return 0.9 * m + g; });
    model = map_parameters(model, momentum, [](auto& p, auto& m) { return p - 0.02 * m; });
    if (step % 50 == 49) std::printf("loss %.4f, %.0f %% right\n", loss.item(), 100 * accuracy);
  }
  return accuracy > 0.99 ? 0 : 1;
}

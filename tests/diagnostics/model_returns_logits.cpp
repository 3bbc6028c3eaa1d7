// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A model that returns logits
// WHY: [batch, position, vocab] is what the loss avoids: it applies head() to some positions at a time.
// FIX: return the hidden states after the last norm; head() returns the matrix.
// EXPECT-GCC: Returned = (bora::)?Named<Batch, Pos, Vocab>\].*operator\(\) must return hidden states
// EXPECT-CLANG: , bora::Named<Batch, Pos, Vocab>>'.*operator\(\) must return hidden states
#include "axes.h"
#include "models.h"
struct Model {
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  using fields = Fields<&Model::embed>;
  Named<Batch, Pos, Vocab> operator()(const Ids& ids, const nn::Context&) const {
    return dot<Embed>(embed(ids), embed.weight);
  }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};
auto wrong = nn::erase_type(Model());  // USER
